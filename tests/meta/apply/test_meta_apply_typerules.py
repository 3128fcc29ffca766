"""Merge rules of custom kinds, from their classes."""

import pytest

from clientgo.meta.apply.typerules import rules_of
from tests.codegen.kinds.bakery import Oven
from tests.codegen.kinds.fleet import Ship


def merged(cls: type, *path: str) -> tuple[str, tuple[str, ...]]:
    rule = rules_of(cls, "")(path)
    return (rule.list_type, rule.map_keys) if rule is not None else ("", ())


@pytest.mark.feature("D-85")
def test_lists_of_custom_kinds_merge_by_their_class() -> None:
    assert merged(Ship, "spec", "engines") == ("map", ("name",))
    assert merged(Ship, "spec", "ports") == ("set", ())
    assert merged(Ship, "spec", "route") == ("atomic", ())
    assert merged(Ship, "spec", "home") == ("atomic", ())
    assert merged(Ship, "spec", "engines", "options") == ("", ())
    assert merged(Ship, "metadata", "finalizers") == ("set", ())
    assert merged(Ship, "spec", "cargo", "coal") == merged(Ship, "spec", "absent") == ("", ())


@pytest.mark.feature("D-85")
def test_lists_of_built_in_types_in_custom_kinds_merge_as_in_a_pod() -> None:
    containers = ("spec", "template", "spec", "containers")
    assert merged(Oven, *containers) == ("map", ("name",))
    assert merged(Oven, *containers, "ports") == ("map", ("containerPort", "protocol"))
    assert merged(Oven, "spec", "ports") == ("", ()), "its class declares no list type"
