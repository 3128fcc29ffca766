"""Validation of built-in kinds by the rule files."""

import re
import shlex
import weakref

import pytest

from clientgo_apiserver.api.names import FORMS
from clientgo_apiserver.registry.validation import generic
from clientgo_apiserver.registry.validation.compiler import CompiledRules, rules_of, sections
from clientgo_apiserver.registry.validation.scopes import RULES as REGISTERED
from clientgo_apiserver.registry.validation.scopes import rule


@pytest.mark.parametrize("name", sorted(sections()))
def test_every_type_compiles_and_refers_to_known_types(name: str) -> None:
    assert isinstance(rules_of(name), CompiledRules)
    for line in sections()[name]:
        assert all(other in sections() for other in re.findall(r"^\S+\s+@(\w+)", line))


def test_every_registered_rule_and_form_is_used_in_a_rule_file() -> None:
    lines = [shlex.split(line, comments=True)[1:] for lines in sections().values() for line in lines]
    for name in sections():
        rules_of(name)
    assert REGISTERED.keys() == {name for name, *_ in lines if not name.startswith("@")}
    assert FORMS.keys() == {words[0] for name, *words in lines if name in ("named", "formed")}


def test_second_definition_of_a_rule_is_rejected_and_the_first_stays() -> None:
    def required(*_: object) -> list[object]:
        return []

    with pytest.raises(ValueError, match=r"rule 'required' is defined twice: in clientgo\S+generic and apiserver"):
        rule()(required)  # type: ignore[type-var]
    assert REGISTERED["required"].function is generic.required


def test_unknown_rule_is_rejected_by_name() -> None:
    with pytest.raises(ValueError, match="unknown rule 'requierd'"):
        CompiledRules("Example", ["name requierd"])


RULES = [
    ("name required", {}, ["name: Required value"]),
    ("name required 'must be set'", {"name": ""}, ["name: Required value: must be set"]),
    ("a.b! required", {}, []),
    ("a!.b required", {}, ["a.b: Required value"]),
    (
        'a[].b{} outside 0 3 "must be less than 4"',
        {"a": [{"b": {"x": 3}}, {"b": {"x": 4}}]},
        ["a[1].b[x]: Invalid value: 4: must be less than"],
    ),
    ("a forbidden no when b = x and c", {"a": 1, "b": "x", "c": 1}, ["a: Forbidden: no"]),
    ("a forbidden no when b = x and c", {"a": 1, "b": "x"}, []),
    ("a forbidden no unless b in x,y", {"a": 1, "b": "y"}, []),
    ("a unique name", {"a": [{"name": "x"}, {"name": "x"}]}, ['a[1].name: Duplicate value: "x"']),
]


@pytest.mark.parametrize(("line", "value", "expected"), RULES, ids=[f"{line} {value}" for line, value, _ in RULES])
def test_rule_reports_errors_relative_to_the_value(line: str, value: dict[str, object], expected: list[str]) -> None:
    matches = [item.text for item in CompiledRules("Example", [line]).errors(value, None)]
    assert len(matches) == len(expected)
    assert all(text.startswith(start) for text, start in zip(matches, expected, strict=True))


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ({"spec": {"a": 1}}, None, []),
        ({"spec": {"a": 1}}, {"spec": {"a": 1}}, []),
        ({"spec": {"a": 2}}, {"spec": {"a": 1}}, ["spec.a: Invalid value: 2: field is immutable"]),
        ({}, {"spec": {"a": 1}}, ["spec.a: Invalid value: null: field is immutable"]),
        ({"spec": {"a": {}}}, {}, []),
    ],
)
def test_immutable_field_is_compared_on_update(
    new: dict[str, object], old: dict[str, object] | None, expected: list[str]
) -> None:
    assert [item.text for item in CompiledRules("Example", ["spec.a immutable"]).errors(new, old)] == expected


def test_errors_are_in_the_order_of_the_rules() -> None:
    rules = CompiledRules("Example", ["b outside 0 1 large", "a outside 0 1 large", ". required"])
    assert [item.field for item in rules.errors({"a": 2, "b": 2}, None)] == ["b", "a"]


def test_validation_keeps_no_object_alive() -> None:
    class Value(dict[str, object]):
        """A dict that can be referred to weakly."""

    value = Value(a=1)
    reference = weakref.ref(value)
    assert not CompiledRules("Example", [". required"]).errors(value, None)
    del value
    assert reference() is None, "without the garbage collector"
