"""Apply configurations: the base classes of typed configurations for server-side apply.

A field that was not set is not sent, so it is neither changed nor owned. The kind's own class cannot express that,
because its absent fields have defaults. A configuration of a whole object is a mapping by JSON names, which
`TypedClient.apply` accepts.
"""

import importlib
import json
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules
from clientgo.meta.apply.typerules import rules_of
from clientgo.meta.classes.wire import MAKING
from clientgo.meta.codec import to_dict
from clientgo.meta.jsonvalues import same
from clientgo.meta.objects import OwnerReference, StructWithLists, StructWithListsMeta
from clientgo.meta.scheme import api_of

T = TypeVar("T")


if TYPE_CHECKING:

    class ListOrUnset(Generic[T]):
        """Type of a list field: a tuple or UNSET to readers; constructors accept lists, too."""

        def __get__(self, obj: object, owner: Any = None) -> tuple[T, ...] | UnsetType: ...
        def __set__(self, obj: object, value: list[T] | tuple[T, ...] | UnsetType) -> None: ...

else:

    class ListOrUnset:
        """Type of a list field: `ListOrUnset[str]` is `tuple[str, ...] | UnsetType`."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...] | UnsetType


NO_LIST: Any = UNSET
"""Default of a list field, without a type: to type checkers `ListOrUnset` is a descriptor."""


class _StructMappingMeta(StructWithListsMeta, ABCMeta):
    """The metaclass of a Struct that inherits from an abstract class."""


class ApplyConfiguration(StructWithLists, frozen=True, kw_only=True, rename="camel", gc=False):
    """The base of generated configurations of nested values."""


class ObjectMetaApplyConfiguration(ApplyConfiguration, frozen=True, kw_only=True):
    """The metadata that a manager may set; the rest belongs to the server."""

    name: str | UnsetType = UNSET
    generate_name: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    uid: str | UnsetType = UNSET
    resource_version: str | UnsetType = UNSET
    deletion_grace_period_seconds: int | UnsetType = UNSET
    creation_timestamp: datetime | UnsetType = UNSET
    labels: Mapping[str, str] | UnsetType = UNSET
    annotations: Mapping[str, str] | UnsetType = UNSET
    owner_references: ListOrUnset[OwnerReference] = NO_LIST
    finalizers: ListOrUnset[str] = NO_LIST


class ObjectApplyConfiguration(
    msgspec.Struct,
    Mapping[str, Any],
    Generic[T],
    frozen=True,
    kw_only=True,
    rename="camel",
    gc=False,
    metaclass=_StructMappingMeta,
):
    """The base of generated configurations of whole objects of the kind `T`."""

    kind: ClassVar[type[Any]]

    def __getitem__(self, key: str) -> Any:
        api = api_of(self.kind)
        if key in ("apiVersion", "kind"):
            return api.api_version if key == "apiVersion" else api.kind
        value = self._set_fields().get(key, UNSET)
        if value is UNSET:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        yield from ("apiVersion", "kind", *self._set_fields())

    def __len__(self) -> int:
        return 2 + len(self._set_fields())

    def _set_fields(self) -> dict[str, Any]:
        names = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {json: value for json, name in names if (value := getattr(self, name)) is not UNSET}

    @classmethod
    def extract(cls, obj: T, field_manager: str, *, subresource: str = "") -> Self:
        """Return the fields that `field_manager` applied before, from managedFields: the start of its next apply.

        Without earlier applies, only the name and namespace are set. An object or list that was applied empty is not
        set either, because what is in it now is owned by others.
        """
        content = to_dict(obj)
        metadata = content.get("metadata", {})
        fields: dict[str, Any] = {}
        kind: Any = cls.kind
        for entry in metadata.get("managedFields", ()):
            by = (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""))
            if by == (field_manager, "Apply", subresource):
                fields = owned(content, entry.get("fieldsV1", {}), rules_of(kind, ""))
        identity = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
        fields["metadata"] = {**fields.get("metadata", {}), **identity}
        with MAKING:
            return msgspec.convert(fields, cls)


def configuration_at(location: str) -> type[ObjectApplyConfiguration[Any]] | None:
    """Import the class at `module:class`; return None for an empty text."""
    if not location:
        return None
    module, _, name = location.partition(":")
    cls: type[ObjectApplyConfiguration[Any]] = getattr(importlib.import_module(module), name)
    return cls


def owned(
    content: Mapping[str, Any], fields: Mapping[str, Any], rules: MergeRules, path: FieldPath = ()
) -> dict[str, Any]:
    """Return the part of an object's JSON, at a path of its kind, that a set of fields (FieldsV1) names.

    `f:name` is a field, `k:{...}` the list item with these keys, `v:...` the list item with this value, `i:3` the item
    at this index, `.` the value itself. An empty set means a whole scalar or atomic value, and nothing of one whose
    fields have owners of their own, as in client-go (structured-merge-diff, `ExtractItems` of the leaves).
    """
    owned_fields: dict[str, Any] = {}
    for key, below in fields.items():
        name = key.removeprefix("f:")
        if key.startswith("f:") and name in content:
            value, rule = content[name], rules((*path, name))
            part = _part(value, below, rules, (*path, name), is_atomic=_is_atomic(value, rule))
            if part is not UNSET:
                owned_fields[name] = part
    return owned_fields


def _is_atomic(value: Any, rule: MergeRule | None) -> bool:
    list_type = rule.list_type if rule is not None else ""
    return list_type == "atomic" or (isinstance(value, list) and not list_type)


def _part(value: Any, fields: Mapping[str, Any], rules: MergeRules, path: FieldPath, *, is_atomic: bool) -> Any:
    if not isinstance(value, Mapping | list):
        return value
    if fields.keys() <= {"."}:
        return value if is_atomic else UNSET
    return owned(value, fields, rules, path) if isinstance(value, Mapping) else [*_items(value, fields, rules, path)]


def _items(values: list[Any], fields: Mapping[str, Any], rules: MergeRules, path: FieldPath) -> Iterator[Any]:
    rule = rules(path)
    for index, value in enumerate(values):
        below = next((below for key, below in fields.items() if _names(key, index, value)), None)
        if below is not None:
            part = _part(value, below, rules, path, is_atomic=rule is not None and rule.atomic_items)
            yield from () if part is UNSET else (part,)


def _names(path: str, index: int, value: Any) -> bool:
    how, _, text = path.partition(":")
    if how == "k" and isinstance(value, Mapping):
        return all(key in value and same(value[key], expected) for key, expected in json.loads(text).items())
    if how == "v":
        return same(json.loads(text), value)
    return how == "i" and int(text) == index
