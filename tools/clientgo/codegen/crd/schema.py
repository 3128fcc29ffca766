"""Structural OpenAPI v3 schemas from dataclasses.

JSON names are camelCase, fields without default are required, scalar defaults are part of the schema, and constraints
come from `Annotated[..., Meta(...)]`. Types without a structural schema are rejected with an alternative.
"""

import dataclasses
import enum
import types
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from clientgo.codegen.crd.builtinfacts import add_field_facts, add_type_facts, is_generated, short_descriptions
from clientgo.codegen.crd.constraints import apply_constraints
from clientgo.codegen.crd.rules import choice_rules, kept
from clientgo.codegen.inputs.fields import Member, members
from clientgo.codegen.problems import Problems
from clientgo.meta.classes.check import has_fields, is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.constraints import ExternalDocs, Meta, Rule, constraints_of
from clientgo.meta.jsonvalues import Unencodable
from clientgo.meta.objects import MicroTime, ObjectMeta

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
    # Embedded metadata, as in templates, is not described in each CRD.
    ObjectMeta: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


_FLOAT = (
    "floats differ between languages: use an int of a smaller unit or a str, or allow them with"
    " Annotated[float, Meta(allow_float=True)] or --allow-floats"
)
_EMBEDDED_META: Schema = {
    "type": "object",
    "properties": {
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
}


def own_of(schema: Schema) -> Schema:
    """Return a copy for a field, which may add keys and list elements; deeper values are shared."""
    return {key: list(value) if isinstance(value, list) else value for key, value in schema.items()}


class SchemaMaker:
    """Makes the schemas of classes; errors go to `problems`.

    `max_description` limits descriptions in CRDs, at the end of a sentence if possible; 0 removes them.
    """

    def __init__(
        self,
        problems: Problems,
        *,
        allow_floats: bool = False,
        embedded_meta: bool = False,
        max_description: int | None = None,
    ) -> None:
        self.max_description = max_description
        self._problems = problems
        self._allow_floats = allow_floats
        self._embedded_meta = embedded_meta
        self._shared: dict[type[Any], Schema] = {}

    def of_class(self, cls: type[Any], inside: tuple[type[Any], ...] = ()) -> Schema:
        """Return the schema of a dataclass or Struct."""
        if cls in inside:
            # Recursive built-in types are open from the second level on.
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if not self._is_shared(cls, inside):
            return self._of_members(cls, inside)
        if cls not in self._shared:
            self._shared[cls] = self._of_members(cls, inside)
        return own_of(self._shared[cls])

    def _is_shared(self, cls: type[Any], inside: tuple[type[Any], ...]) -> bool:
        """Report whether the schema is the same everywhere: built-in types refer only to built-in types."""
        return is_built_in(cls) and not any(map(is_built_in, inside))

    def _of_members(self, cls: type[Any], inside: tuple[type[Any], ...]) -> Schema:
        schema: Schema = {"type": "object"}
        if doc := short_descriptions(cls).type if is_generated(cls) else _own_doc(cls):
            schema["description"] = doc
        class_members = self._members(cls)
        if class_members:
            schema["properties"] = {
                m.json_name: self._of_member(m, _Place(cls, m.name, (*inside, cls))) for m in class_members
            }
        if required := [member.json_name for member in class_members if _is_required(member)]:
            schema["required"] = required
        self._constrain_class(cls, schema, class_members)
        add_type_facts(cls, schema)
        return schema

    def _constrain_class(self, cls: type[Any], schema: Schema, class_members: list[Member]) -> None:
        json_names = {member.name: member.json_name for member in class_members}
        rules: list[Rule] = []
        for meta in constraints_of(cls):
            for message in apply_constraints(schema, [meta]):
                self._problems.at_class(cls, f"{cls.__name__}: {message}")
            try:
                rules += choice_rules(meta, json_names)
            except KeyError as error:
                names = ", ".join(json_names)
                self._problems.at_class(cls, f"{cls.__name__} has no field {error}: expected one of {names}")
        rules += [kept(m.json_name) for m in class_members if _is_immutable(m) and not _is_required(m)]
        if rules:
            schema.setdefault("x-kubernetes-validations", []).extend(map(msgspec.to_builtins, rules))

    def _members(self, cls: type[Any]) -> list[Member]:
        try:
            return list(members(cls))
        except (NameError, TypeError) as error:
            self._problems.at_class(cls, f"cannot read the annotations of {cls.__name__}: {error}")
            return []

    def _of_member(self, member: Member, position: "_Place") -> Schema:
        schema, nullable = self._of_hint(member.hint, position)
        add_field_facts(position.cls, member.json_name, schema)
        if nullable and member.required and _noted(member, "required") is not False:
            schema.setdefault("nullable", True)
        if member.doc:
            schema.setdefault("description", member.doc)
        default = _noted(member, "default")
        if default is msgspec.UNSET:
            default = member.default
        if isinstance(default, Unencodable):
            if "type" in schema or member.hint is Any:  # any other type has been rejected itself
                self._complain(position, f"invalid default: {default}")
        elif default is not msgspec.UNSET:
            schema["default"] = default
        return schema

    def _of_item(self, hint: Any, position: "_Place") -> Schema:
        schema, nullable = self._of_hint(hint, position)
        if nullable:
            schema["nullable"] = True
        return schema

    def _of_hint(self, hint: Any, position: "_Place") -> tuple[Schema, bool]:
        bare, metas, nullable = unwrap(hint)
        self._complain(position, *_misplaced(hint))
        free = bare is float and (self._allow_floats or any(meta.allow_float for meta in metas))
        schema: Schema = {"type": "number"} if free else self._of_type(bare, position)
        self._complain(position, *apply_constraints(schema, metas))
        return schema, nullable

    def _of_type(self, hint: Any, position: "_Place") -> Schema:
        origin, args = get_origin(hint), get_args(hint)
        if hint is ObjectMeta and self._embedded_meta:
            return dict(_EMBEDDED_META)
        if hint in _SCALARS:
            return dict(_SCALARS[hint])
        if origin is Literal:
            return _enum(args)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _enum([member.value for member in hint])
        if has_fields(hint):
            return self.of_class(hint, position.inside)
        if origin in (Union, types.UnionType) and set(args) == {int, str}:
            return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
        return self._of_collection(hint, origin, args, position)

    def _of_collection(self, hint: Any, origin: Any, args: tuple[Any, ...], position: "_Place") -> Schema:
        if origin is list or (origin is tuple and args[1:] == (...,)):
            return {"type": "array", "items": self._of_item(args[0], position)}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            if unwrap(args[1])[0] is Any:
                return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            return {"type": "object", "additionalProperties": self._of_item(args[1], position)}
        if is_built_in(position.cls) and (hint is float or set(args) == {int, float}):
            return {"type": "number"}
        if hint is float:
            self._complain(position, _FLOAT)
        # Any; a union in a built-in type, which cannot be changed; or a type that the check of the class has rejected.
        return {"x-kubernetes-preserve-unknown-fields": True}

    def _complain(self, position: "_Place", *messages: str) -> None:
        for message in messages:
            self._problems.at_field(position.cls, position.field, message)


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    cls: type[Any]
    field: str
    inside: tuple[type[Any], ...]


def _enum(values: Iterable[Any]) -> Schema:
    values = list(values)
    kinds = {type(value) for value in values}
    return {**_SCALARS[kinds.pop()], "enum": values} if kinds in ({str}, {int}) else {"type": "string"}


_NOTHING = Meta()

_REMEDIES: Mapping[type[Any], str] = {
    Rule: "write Meta(rules=(Rule(...),))",
    ExternalDocs: "write Meta(external_docs=ExternalDocs(...))",
    msgspec.Meta: "write clientgo.meta.Meta(...)",
}


def _misplaced(hint: Any) -> Iterator[str]:
    """Yield a complaint about each constraint that is written where no constraint is read."""
    for note in getattr(hint, "__metadata__", ()):
        if remedy := _REMEDIES.get(type(note)):
            yield f"{type(note).__name__} is not read there: {remedy}"


def _noted(member: Member, name: str) -> Any:
    """Return the value of the outermost constraint, or the default of `Meta`."""
    unsaid = noted = getattr(_NOTHING, name)
    for meta in unwrap(member.hint)[1]:
        value = getattr(meta, name)
        if value is not unsaid:
            noted = value
    return noted


def _is_required(member: Member) -> bool:
    required = _noted(member, "required")
    return member.required if required is None else bool(required)


def _is_immutable(member: Member) -> bool:
    return any(meta.immutable for meta in unwrap(member.hint)[1])


def _own_doc(cls: type[Any]) -> str:
    # A dataclass without docstring has its signature as docstring.
    doc = cls.__dict__.get("__doc__") or ""
    return "" if doc.startswith(f"{cls.__name__}(") else " ".join(doc.split())
