"""One kind with every way in which fields merge, and strategies for its objects."""

from typing import Any

from hypothesis import strategies as st

from clientgo.meta.apply.mergerules import ENTRIES, FieldPath, MergeRule

_RULES = {
    ("items",): MergeRule(list_type="map", map_keys=("n",)),
    ("items", "tags"): MergeRule(list_type="set"),
    ("leaves",): MergeRule(list_type="map", map_keys=("n",), atomic_items=True),
    ("set",): MergeRule(list_type="set"),
    ("whole",): MergeRule(list_type="atomic"),
    ("map",): ENTRIES,
    ("labels",): ENTRIES,
}


def rules(path: FieldPath) -> MergeRule | None:
    """Return the merge rule of a field."""
    return ENTRIES if path[:1] == ("open",) else _RULES.get(path)


_SCALARS = st.sampled_from([1, 2.5, "x", True])
_STRUCTS = st.fixed_dictionaries({}, optional={"a": _SCALARS, "b": _SCALARS})
_SETS = st.lists(st.sampled_from(["x", "y", "z"]), unique=True)
_NAMES = st.sampled_from(["k", "l"])
_ITEMS = st.lists(
    st.fixed_dictionaries({"n": st.sampled_from([1, 2, 3])}, optional={"a": _SCALARS, "tags": _SETS}),
    unique_by=lambda item: item["n"],
    max_size=3,
)
_OPEN = st.recursive(
    _SCALARS | st.none(),
    lambda part: st.lists(part, max_size=2) | st.dictionaries(_NAMES, part, max_size=2),
    max_leaves=6,
)


def _fields(open_ended: Any) -> Any:
    return {
        "one": _SCALARS,
        "items": _ITEMS,
        "leaves": _ITEMS,
        "set": _SETS,
        "list": st.lists(_STRUCTS, max_size=2),
        "whole": _STRUCTS,
        "struct": st.fixed_dictionaries({}, optional={"a": _SCALARS, "inner": _STRUCTS}),
        "map": st.dictionaries(_NAMES, _STRUCTS, max_size=2),
        "labels": st.dictionaries(_NAMES, _SCALARS, max_size=2),
        "open": open_ended,
    }


OBJECTS = st.fixed_dictionaries({}, optional=_fields(st.dictionaries(_NAMES, _OPEN, max_size=2)))
"""Objects as they may be stored or applied."""
PLAIN = st.fixed_dictionaries({}, optional=_fields(st.dictionaries(_NAMES, _SCALARS, max_size=2)))
"""Objects without nulls and values of changing types."""
