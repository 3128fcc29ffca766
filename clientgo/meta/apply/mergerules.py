"""Merge rules of the built-in kinds: strategic merge keys and list types.

Kubernetes declares both beside each field of its Go types (`patchStrategy`, `patchMergeKey`, `listType`, `listMapKey`)
and publishes them in OpenAPI as `x-kubernetes-*`. Here they are read from the table of Go types: by the type that has
the field, or by the JSON fields under which an object of that type stands, so that both readers of a type (OpenAPI) and
walkers of a document (patches) find them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import msgspec

from clientgo.meta.jsonvalues import canonical, html_escaped
from clientgo.meta.schema.gotypes import GoField, GoType, builtin_types, item_of, value_of


class MergeRule(msgspec.Struct, frozen=True):
    """The merge rule of a field, for strategic merge patches and server-side apply."""

    patch_key: str = ""
    """Strategic merge: the key of items; empty if items are not objects or the list is replaced."""
    merge: bool = False
    """Strategic merge: merge a list with the existing one, or replace it."""
    replace: bool = False
    """Strategic merge: replace an object, or merge it with the existing one."""
    retain_keys: bool = False
    """Strategic merge: remove fields that the patch's `$retainKeys` does not list (unions such as volumes)."""
    list_type: str = ""
    """Server-side apply: `map`, `set` or `atomic`; an empty type means atomic for a list."""
    map_keys: tuple[str, ...] = ()
    """Server-side apply: the keys that identify the items of a `map` list."""
    atomic_items: bool = False
    """Server-side apply: an item is one field, whose members have no owners of their own."""
    key_defaults: tuple[tuple[str, object], ...] = ()
    """Server-side apply: defaults of keys that items may omit."""
    declared: frozenset[str] | None = None
    """Server-side apply: the fields of a map with further entries; of the items, if it is the rule of a list."""


ENTRIES = MergeRule(declared=frozenset())
"""Rule of a map without declared fields."""

FieldPath = tuple[str, ...]
"""JSON names of the fields that lead to a value; positions in lists are no part of it."""

MergeRules = Callable[[FieldPath], MergeRule | None]
"""Returns the rule of the value at a path of one kind."""


def items(values: list[Any], rule: MergeRule) -> list[tuple[str, Any]]:
    """Return the items of a list that merges, each with its element: `k:{...}` or `v:...`."""
    if rule.list_type == "set":
        return [("v:" + html_escaped(canonical(value)).decode(), value) for value in values]
    names, pairs = rule.map_keys or (rule.patch_key,), []
    for item in values:
        value = item.get(names[0]) if len(names) == 1 and isinstance(item, dict) else None
        if isinstance(value, str) and len(value) <= _SHORT:
            pairs.append((_element_named(names[0], value), item))
        else:
            pairs.append((_element_of(item if isinstance(item, dict) else {}, rule), item))
    return pairs


_SHORT = 128


@lru_cache(maxsize=4096)  # most lists have short keys, and each write compares them
def _element_named(name: str, value: str) -> str:
    return "k:" + html_escaped(canonical({name: value})).decode()


def _element_of(members: Mapping[str, Any], rule: MergeRule) -> str:
    defaults = dict(rule.key_defaults)
    key = {name: members.get(name) for name in rule.map_keys or (rule.patch_key,)}
    key = {name: defaults.get(name) if value is None else value for name, value in key.items()}
    key = {name: value for name, value in key.items() if value is not None}
    return "k:" + html_escaped(canonical(key)).decode()


def rule_of(field: GoField, item: GoType | None) -> MergeRule | None:
    """Return the rule of a field of a Go type; `item` is the struct that the field or its items have, if it is one."""
    options = field.options
    list_type, _, keys = options.get("list", "").partition(":")
    strategies, _, patch_key = options.get("patch", "").partition(":")
    strategy_names = strategies.split(",")
    has_atomic_type = item is not None and "atomic" in item.marks and "map" not in options
    is_one_field = has_atomic_type or options.get("map") == "atomic"
    if not (list_type or strategies or is_one_field):
        return None
    map_keys = tuple(keys.split(",")) if keys else ()
    return MergeRule(
        patch_key=patch_key,
        merge="merge" in strategy_names,
        replace="replace" in strategy_names,
        retain_keys="retainKeys" in strategy_names,
        list_type=list_type or ("atomic" if is_one_field else ""),
        map_keys=map_keys,
        atomic_items=has_atomic_type and bool(list_type or strategies),
        key_defaults=tuple(_key_defaults(item, map_keys)),
    )


def _key_defaults(item: GoType | None, map_keys: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    for field in () if item is None else item.fields:
        if field.name in map_keys and "default" in field.options:
            yield field.name, value_of(field.options["default"])


@cache
def field_rule(owner: str, field: str, target: str) -> MergeRule | None:
    """Return the rule of a field of the Go type `owner`, whose type or type of items is the Go type `target`."""
    return rule_of(_field(owner, field) or GoField(None, field, False, target), builtin_types().get(target))


def _field(owner: str, name: str) -> GoField | None:
    entry = builtin_types().get(owner)
    return None if entry is None else next((field for field in entry.fields if field.name == name), None)


def _rule(owner: str, name: str) -> MergeRule | None:
    field = _field(owner, name)
    return None if field is None else field_rule(owner, name, item_of(field.type))


_LOCATIONS: Mapping[str, tuple[str, ...]] = {
    "ObjectMeta": ("metadata",),
    "Container": ("containers", "initContainers"),
    "EphemeralContainer": ("ephemeralContainers",),
    "ContainerStatus": ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"),
    "ResourceRequirements": ("resources",),
    "LabelSelector": ("selector", "labelSelector", "namespaceSelector", "objectSelector", "podSelector"),
    "LabelSelectorRequirement": ("matchExpressions",),
    "MutatingWebhook": ("webhooks",),
    "ValidatingWebhook": ("webhooks",),
    "PodSpec": ("template.spec",),
}
_ROOTS = {"ServiceAccount", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
_TYPE_AT = {location: name for name, locations in _LOCATIONS.items() for location in locations}


def merge_rule(kind: str, path: Sequence[str]) -> MergeRule | None:
    """Find how the field at a path of JSON names merges in a built-in kind; None where Kubernetes says nothing of it.

    List positions are no part of the path: the ports of a Deployment's containers are
    `merge_rule("Deployment", ("spec", "template", "spec", "containers", "ports"))`.
    A list without a rule is replaced by a strategic merge patch; an object without one is merged.
    """
    if not path:
        return None
    field = path[-1]
    if field == "x-kubernetes-validations":
        return _rule("JSONSchemaProps", field)
    if len(path) == 1:
        return _rule(kind, field) if kind in _ROOTS else None
    if len(path) == 2 and path[0] in {"spec", "status"}:
        return _rule(f"{kind}{path[0].capitalize()}", field)
    return _rule(_TYPE_AT.get(".".join(path[-3:-1])) or _TYPE_AT.get(path[-2], ""), field)
