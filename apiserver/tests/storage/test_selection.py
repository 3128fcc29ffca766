"""Selection of many objects by long selectors: the same objects, at a cost that depends on the objects alone."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.selectors import FieldTerm, Requirement, Selector
from clientgo_apiserver.storage.selection import SelectionPredicate

KEYS, VALUES = st.sampled_from("abc"), st.sampled_from(["", "1", "2", "x"])
OPERATORS = st.sampled_from(["=", "in", "!=", "notin", "exists", "!", ">", "<"])
LABELS = st.dictionaries(KEYS, VALUES)
PATHS = st.sampled_from([("metadata", "name"), ("spec", "nodeName"), ("spec",)])


@st.composite
def requirements(draw: st.DrawFn) -> Requirement:
    operator = draw(OPERATORS)
    count = {"in": 3, "notin": 3, "exists": 0, "!": 0}.get(operator, 1)
    values = draw(st.lists(VALUES, min_size=min(count, 1), max_size=max(count, 1))) if count else []
    return Requirement(draw(KEYS), operator, tuple(values))


TERMS = st.builds(FieldTerm, PATHS, VALUES, st.booleans())


@given(st.lists(requirements(), max_size=12), st.lists(TERMS, max_size=12), LABELS, st.none() | VALUES)
def test_long_selectors_select_what_their_requirements_do(
    labels: list[Requirement], fields: list[FieldTerm], carried: dict[str, str], node: str | None
) -> None:
    selection = SelectionPredicate(Selector(tuple(labels)), tuple(fields))
    spec = {} if node is None else {"nodeName": node}
    obj: dict[str, Any] = {"metadata": {"name": "x", "labels": carried}, "spec": spec}
    assert selection.test()(obj) is selection.matches(obj)


def test_requirement_that_an_object_does_not_concern_is_not_looked_at() -> None:
    read: list[str] = []

    class Labels(dict[str, str]):
        def __getitem__(self, key: str) -> str:
            read.append(key)
            return super().__getitem__(key)

    absent = Selector(tuple(Requirement(f"a{number}", "!") for number in range(5_000)))
    assert SelectionPredicate(absent).test()({"metadata": {"labels": Labels(b="c")}})
    assert not read
