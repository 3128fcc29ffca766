"""Manifests are written as PyYAML would write them, only faster."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clientgo.codegen.yamlwriting import slow_yaml, to_yaml

AWKWARD = ["", "~", "null", "yes", "1", "1.0", "0x1", "1e3", "2020-01-01", "- a", "a: b", "#", " a", "a ", "*a", "&a",
           "!a", "%a", "@a", "`a`", "'", '"', "\\", "{}", "[]", "a\nb", "a\n", "\t", "\x00", "\u2028", "é", "x" * 5000,
           "? a", "=", "<<", "|", ">", "on", "12:30", "a b " * 60]  # fmt: skip
TEXTS = st.sampled_from(AWKWARD) | st.text(max_size=8)
SCALARS = TEXTS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_whatever_the_value_it_is_written_as_by_pyyaml(value: dict[str, Any]) -> None:
    assert to_yaml(value) == slow_yaml(value)


def test_numbers_that_are_equal_are_written_each_as_it_is() -> None:
    assert to_yaml({"a": [1, 1.0, True, 0.0, -0.0]}) == "a:\n- 1\n- 1.0\n- true\n- 0.0\n- -0.0\n"
