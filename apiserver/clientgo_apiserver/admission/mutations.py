"""Patches of mutating admission policies: applied configurations and JSON patches made by expressions."""

from datetime import datetime, timedelta
from typing import Any

from clientgo.meta.apply.mergerules import MergeRules, items
from clientgo.meta.patches import PatchError, jsonpatch
from clientgo_apiserver.admission.expressions import PolicyError
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.values import StructValue
from clientgo_apiserver.gotypes.typedvalues import typed_errors
from clientgo_apiserver.registry.mergerules import rules_of


def applied(resource: Resource, live: Object, patch: StructValue) -> Object:
    """Return the object with the fields of an applied configuration.

    Raises:
        PolicyError: the configuration has objects of another place, or changes a part of an atomic field.
    """
    _check_names(patch, "Object")
    plain, rules = _plain(patch), rules_of(resource)
    typed = {"apiVersion": resource.api_version, "kind": resource.kind, **plain}
    if reason := typed_errors(resource, typed, rules):
        raise PolicyError(f"error applying patch: failed to convert patch object to typed object: {reason}")
    atomic = _atomic_paths(plain, rules, ())
    if atomic:
        reason = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise PolicyError(f"error applying patch: invalid ApplyConfiguration: {reason}")
    merged: Object = _merged(live, plain, rules, ())
    return merged


def json_patched(live: Object, operations: list[StructValue]) -> Object:
    """Return the object with a JSON patch applied; a `test` that fails leaves it as it is.

    Raises:
        PolicyError: the patch cannot be applied.
    """
    for operation in operations:
        if isinstance(operation.get("value"), StructValue):
            _check_names(operation["value"], operation["value"].type_name)
    plain = [_plain(operation) for operation in operations]
    try:
        patched: Object = jsonpatch.apply(live, plain)
    except PatchError as error:
        if any(operation.get("op") == "test" for operation in plain) and "test" in str(error):
            return live
        raise PolicyError(f"JSON Patch: {error}") from None
    return patched


def _check_names(value: Any, name: str) -> None:
    """Check that each object is of the type of the field that holds it."""
    if isinstance(value, StructValue):
        if value.type_name != name:
            mismatch = f'unexpected type name "{value.type_name}", expected "{name}"'
            raise PolicyError(f"type mismatch: {mismatch}, which matches field name path from root Object type")
        for field, child in value.items():
            _check_names(child, f"{name}.{field}")
    elif isinstance(value, list):
        for child in value:
            _check_names(child, name)
    elif isinstance(value, dict):
        for child in value.values():
            _check_names(child, name)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_plain(child) for child in value]
    return OPERATORS["string"](value) if isinstance(value, datetime | timedelta) else value


def _atomic_paths(value: Any, rules: MergeRules, path_of_value: tuple[str, ...]) -> list[str]:
    rule = rules(path_of_value) if isinstance(value, dict | list) else None
    paths = []
    if isinstance(value, list):
        path = f".{'.'.join(path_of_value)}"
        if rule is None or rule.list_type not in ("map", "set"):
            paths.append(path)
        elif rule.atomic_items:
            paths += [f"{path}[{index}]" for index in range(len(value))]
        return paths + [path for item in value for path in _atomic_paths(item, rules, path_of_value)]
    if isinstance(value, dict):
        if rule is not None and rule.list_type == "atomic":
            paths.append(f".{'.'.join(path_of_value)}")
        return paths + [
            path for field, item in value.items() for path in _atomic_paths(item, rules, (*path_of_value, field))
        ]
    return paths


def _merged(live: Any, patch: Any, rules: MergeRules, path: tuple[str, ...]) -> Any:
    if isinstance(patch, dict) and isinstance(live, dict):
        return {
            **live,
            **{field: _merged(live.get(field), child, rules, (*path, field)) for field, child in patch.items()},
        }
    rule = rules(path) if isinstance(patch, list) else None
    if rule is None or not isinstance(live, list):
        return patch
    added = dict(items(patch, rule))
    merged = [_merged(item, added.pop(key), rules, path) if key in added else item for key, item in items(live, rule)]
    return [*merged, *added.values()]
