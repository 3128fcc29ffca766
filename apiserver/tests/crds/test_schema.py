from typing import Any

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from clientgo_apiserver.crds.listtypes import list_errors
from clientgo_apiserver.crds.schema import conforms, schema_errors
from clientgo_apiserver.crds.structural import apply_defaults, prune

Object = dict[str, Any]
KEYED: Object = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 3}}},
}
SHORT: Object = {"type": "string", "maxLength": 2}
SCHEMA: Object = {
    "type": "object",
    "required": ["need"],
    "properties": {"a": SHORT, "b": SHORT, "list": {"type": "array", "items": SHORT}, "keyed": KEYED},
}


def errors(schema: Object, value: Any, old: Any = None) -> list[str]:
    return [f"{item.field}: {item.message}" for item in schema_errors(schema, value, old)]


def holder(schema: Object) -> Object:
    return {"type": "object", "properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 1.0, []),
        (
            {"type": "integer", "format": "int64"},
            1e30,
            [
                'a: Invalid value: "float64": a in body must be of type int64: "float64"',
                '<nil>: Invalid value: "": Checked value must be of type integer with format int64 in a',
            ],
        ),
        ({"type": "integer", "maximum": 1}, 2, ["a: Invalid value: 2: a in body should be less than or equal to 1"]),
        ({"type": "number", "multipleOf": 0.1}, 0.25, ["a: Invalid value: 0.25: a in body should be a multiple of"]),
        ({"type": "string", "format": "made-up"}, "x", []),
        ({"type": "string", "maxLength": 1, "pattern": "^b$"}, "aa", ["a: Too long: may not be more than 1 byte"]),
        ({"enum": [1, "x"]}, 2, ['a: Unsupported value: 2: supported values: "1", "x"']),
        ({"not": {"enum": [1]}}, 1, ['<nil>: Invalid value: "": "a" must not validate the schema (not)']),
        (
            {"allOf": [{"maximum": 1}, {"minimum": 0}]},
            2,
            [
                "a: Invalid value: 2: a in body should be less than or equal to 1",
                '<nil>: Invalid value: "": "a" must validate all the schemas (allOf)',
            ],
        ),
        (
            {"allOf": [{"enum": ["x"]}, {"enum": ["x"]}]},
            "y",
            [
                'a: Unsupported value: "y": supported values: "x"',
                '<nil>: Invalid value: "": "a" must validate all the schemas (allOf). None validated',
            ],
        ),
        ({"type": "object", "additionalProperties": False}, {"x": 1}, ['a: Invalid value: "x": a.x in body is a']),
    ],
)  # fmt: skip
def test_invalid_value_is_reported(schema: Object, value: Any, expected: list[str]) -> None:
    result = errors(holder(schema), {"a": value})
    assert len(result) == len(expected)
    assert all(text.startswith(start) for text, start in zip(result, expected, strict=True))


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"new": 1}, ["need"]),
        ({"a": "other"}, ["need", "a"]),
        ({"list": ["long", "x"]}, ["need", "list[0]"]),
        ({"keyed": [{"k": "y", "v": 1}, {"k": "x", "v": 9}]}, ["need"]),
        ({"keyed": [{"k": "x", "v": 8}]}, ["need", "keyed[0].v"]),
    ],
)
def test_update_reports_only_errors_of_changed_parts(change: Object, fields: list[str]) -> None:
    old = {"a": "long", "b": "long", "list": ["long"], "keyed": [{"k": "x", "v": 9}]}
    result = schema_errors(SCHEMA, {**old, **change}, old)
    assert sorted(item.field for item in result) == sorted(fields)


def test_each_duplicate_of_a_list_is_reported_once() -> None:
    schema = {"type": "object", "properties": {"set": {"type": "array", "x-kubernetes-list-type": "set"}, "map": KEYED}}
    value = {"set": [1, 2, 1, 1], "map": [{"k": "x"}, {"k": "x", "v": 1}, {}]}
    matches = [f"{item.field}: {item.message}" for item in list_errors(schema, value)]
    assert matches == ["set[2]: Duplicate value: 1", 'map[1]: Duplicate value: {"k":"x"}']


def test_duplicate_shows_keys_in_the_order_of_their_names() -> None:
    schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b", "a"]}
    [cause] = list_errors(schema, [{"b": 1, "a": 2}] * 2)
    assert cause.message == 'Duplicate value: {"a":2,"b":1}'


NAMES = st.sampled_from("abc")
SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", r"\d"]),
            "format": st.sampled_from(["date", "made-up"]),
            "enum": st.lists(st.sampled_from(["", "a", "ab"]), max_size=2, unique=True),
            "nullable": st.booleans(),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("integer")},
        optional={
            "minimum": st.integers(-1, 2),
            "maximum": st.sampled_from([1, 1.5, 2**70]),
            "exclusiveMinimum": st.booleans(),
            "format": st.sampled_from(["int32", "int64"]),
            "enum": st.just([1, 2]),
        },
    ),
    st.sampled_from([{"type": "boolean"}, {"type": "number"}, {"x-kubernetes-int-or-string": True}]),
)


def containers(below: st.SearchStrategy[Object]) -> st.SearchStrategy[Object]:
    sizes = {"minProperties": st.integers(0, 1), "maxProperties": st.integers(0, 2)}
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, below, max_size=3)},
            optional={"required": st.lists(NAMES, max_size=2), "x-kubernetes-preserve-unknown-fields": st.just(True)},
        ),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": below}, optional=sizes),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": below},
            optional={"minItems": st.integers(0, 1), "maxItems": st.integers(0, 2), "uniqueItems": st.just(True)},
        ),
    )


SCHEMAS = st.dictionaries(NAMES, st.recursive(SCALARS, containers, max_leaves=6)).map(
    lambda properties: {"type": "object", "properties": properties}
)
TEXTS = ["", "a", "ab", "b1", "2026-01-01"]


def plausible(schema: Object) -> st.SearchStrategy[Any]:
    """Return values of the schema's type, which need not have its lengths and bounds."""
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        fields = {name: plausible(item) for name, item in schema["properties"].items()}
        return st.one_of(st.fixed_dictionaries(fields), st.fixed_dictionaries({}, optional=fields))
    if kind == "object":
        return st.dictionaries(NAMES, plausible(schema["additionalProperties"]), max_size=2)
    if kind == "array":
        return st.lists(plausible(schema["items"]), max_size=2)
    return st.sampled_from(TEXTS if kind == "string" else [True, False, 0, 1, 2, 2**31, 2**64, 1.0, 1.5, None])


@given(SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), plausible(schema))))
def test_object_that_conforms_is_valid_and_complete(case: tuple[Object, Object]) -> None:
    schema, obj = case
    if not conforms(schema, obj):
        return
    event(f"conforms with {len(obj)} fields")
    unknown: list[str] = []
    assert errors(schema, obj) == []
    assert prune(schema, obj, unknown) == obj
    assert apply_defaults(schema, obj) == obj
    assert unknown == []


def test_equal_schemas_are_compiled_once() -> None:
    before = len(msgspec.Struct.__subclasses__())
    assert all(conforms(holder({"type": "string", "maxLength": 77}), {"a": "x"}) for _ in range(5))
    assert len(msgspec.Struct.__subclasses__()) <= before + 1


@pytest.mark.parametrize(
    ("schema", "fitting", "other_items"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a"}, ["a", "ab"], ["", "b", "abc", 1, None]),
        ({"type": "string", "enum": ["a", "b"]}, ["a", "b"], ["", "c", None]),
        ({"type": "string", "format": "made-up"}, ["a"], [1]),
        ({"type": "integer", "format": "int32", "minimum": 1}, [1, 2**31 - 1], [0, 2**31, 1.0, True, "1", None]),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, [[], [True]], [[1], [True, True], {}]),
        ({"type": "object", "additionalProperties": SHORT, "minProperties": 1}, [{"x": "y"}], [{}, {"x": "long"}, []]),
        ({"type": "object", "required": ["k"], "properties": {"k": SHORT}}, [{"k": ""}], [{}, {"k": "", "new": 1}]),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, [{}, {"x": [None]}], ["x", None]),
        ({"type": "number"}, [], [1, 1.5]),  # left to the walk, like everything below
        ({"type": "string", "format": "date-time"}, [], ["2026-01-01T00:00:00Z"]),
        ({"type": "integer", "multipleOf": 2}, [], [2]),
        ({"x-kubernetes-int-or-string": True}, [], [1]),
        ({"type": "string", "not": {"enum": ["a"]}}, [], ["b"]),
    ],
)
def test_schema_decides_at_once_what_it_can(schema: Object, fitting: list[Any], other_items: list[Any]) -> None:
    assert [value for value in [*fitting, *other_items] if conforms(holder(schema), {"a": value})] == fitting
    assert conforms(holder(schema), {"apiVersion": "v1", "kind": "A", "metadata": {"name": "a"}})


def test_restricted_metadata_is_left_to_the_walk() -> None:
    restricted = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 1}}}
    schema = {"type": "object", "properties": {"metadata": restricted}}
    assert not conforms(schema, {"metadata": {"name": "a"}})


FLAGS: Object = {"type": "array", "items": {"type": "boolean"}}


@pytest.mark.parametrize("schema", [FLAGS, {"type": "object", "additionalProperties": {"type": "boolean"}}])
def test_number_in_place_of_a_boolean_is_an_error_although_python_finds_both_equal(schema: Object) -> None:
    old: Any = [True] if schema is FLAGS else {"k": True}
    new: Any = [1] if schema is FLAGS else {"k": 1}
    assert "must be of type boolean" in " ".join(errors(holder(schema), {"a": new}, {"a": old}))
    assert not conforms(holder(schema), {"a": new})


def test_items_of_sets_and_enums_are_compared_as_json() -> None:
    as_set = {"type": "array", "x-kubernetes-list-type": "set"}
    assert list(list_errors(as_set, [True, 1, "1", {"a": 1}, {"a": True}])) == []
    assert len(list(list_errors(as_set, [1, 1.0, 1, True]))) == 1
    assert len(errors({"enum": [True, {"a": 0}], "type": "object"}, {"a": False})) == 1
    assert errors({"uniqueItems": True, "type": "array"}, [0, False]) == []
