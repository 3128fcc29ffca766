"""Records of classes for structural schemas, named by their path: `CertificateSpecPrivateKey`.

The defaults are those of the built-in types: lists and maps are empty when absent, `metadata`, `spec`, `status` and
required structs are zero structs, required scalars are zero and always sent, all others None. A field with a default of
the server is None, and not sent, even if it is required; a required nullable one is None and sent as null. Enums are
strings with the allowed values in the documentation, so that new values of a server stay readable. An object without a
complete description is a mapping, so that no field is lost.

Schemas are validated before (`inputs.crds.check_schema`). All names are converted to ASCII identifiers, each unique,
because JSON names may be any text, and Python treats some non-ASCII letters as equal. The JSON name stands beside the
attribute as a literal.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from clientgo.codegen.inputs.crds import Schema
from clientgo.codegen.names import class_case, identifier
from clientgo.codegen.render.source import first_sentence
from clientgo.codegen.render.structs import Attribute, StructType
from clientgo.meta.classes.hints import snake
from clientgo.meta.scheme import ApiType

_TOP = ("apiVersion", "kind", "metadata")
_SCALARS = {"string": "str", "integer": "int", "number": "float | int", "boolean": "bool"}
_FORMATS = {"date-time": "Time", "byte": "bytes"}
_METADATA = Attribute(name="metadata", json_name="metadata", type="ObjectMeta", default="ObjectMeta()")


class _Shape(NamedTuple):
    """Source of a type, and its zero: `zero` is omitted in requests, the result of the factory `sent` is not."""

    text: str
    zero: str = ""
    sent: str = ""


_OPEN = "x-kubernetes-preserve-unknown-fields"
_ANYTHING: Schema = {_OPEN: True}


def has_open_root(schema: Schema) -> bool:
    """Report whether objects of a kind may have fields that the schema does not name."""
    return bool(schema.get(_OPEN) or schema.get("additionalProperties"))


class SchemaTypes:
    """Makes records of schemas; referenced classes come first."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._names = UniqueNames((*kinds, *_IMPORTED), "Part")
        self.records: dict[str, StructType] = {}

    def kind(self, name: str, schema: Schema, api: ApiType) -> None:
        """Add the classes of a kind and its nested objects."""
        if has_open_root(schema):  # by convention it has these two
            schema = {**schema, "properties": {"spec": _ANYTHING, "status": _ANYTHING, **schema.get("properties", {})}}
        attributes = (_METADATA, *self._attributes(name, schema, root=True))
        doc = _sentence(schema) or f"The kind {name}."
        self.records[name] = StructType(name=name, doc=doc, attributes=attributes, api=api)

    def _struct(self, name: str, schema: Schema) -> str:
        name = self._names.unused(name)
        attributes = tuple(self._attributes(name, schema))
        self.records[name] = StructType(name=name, doc=_sentence(schema) or f"The type {name}.", attributes=attributes)
        return name

    def _attributes(self, owner: str, schema: Schema, *, root: bool = False) -> list[Attribute]:
        properties = schema.get("properties", {})
        required = frozenset(schema.get("required", ()))
        names = UniqueNames(_IN_OBJECTS if root else (), "_")
        selected = sorted(name for name in properties if not root or name not in _TOP)
        attributes = (
            self._attribute(owner, name, properties[name], required=name in required, root=root) for name in selected
        )
        return [replace(attribute, name=names.unused(attribute.name)) for attribute in attributes]

    def _attribute(self, owner: str, json_name: str, schema: Schema, *, required: bool, root: bool) -> Attribute:
        shape = self._shape(owner + class_case(json_name), schema)
        nullable = bool(schema.get("nullable"))
        text, default, factory = shape.text, "None", ""
        if required and "default" not in schema and (nullable or shape.sent):
            factory = "no_value" if nullable else shape.sent
            default, text = "", f"{text} | None" if nullable and text != "Any" else text
        elif root and shape.sent in self.records and json_name in ("spec", "status"):
            default = f"{shape.sent}()"
        elif shape.zero and not nullable and "default" not in schema:
            default = shape.zero
        elif text != "Any":
            text = f"{text} | None"
        name, doc = _attribute_name(json_name), _doc(schema)
        return Attribute(name=name, json_name=json_name, type=text, default=default, factory=factory, doc=doc)

    def _shape(self, name: str, schema: Schema) -> _Shape:
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return _Shape("int | str", sent="int")
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items") or {}
            # A list passes its openness on to its items.
            items = {**items, _OPEN: True} if schema.get(_OPEN) else items
            return _Shape(f"tuple[{self._inside(name, items)}, ...]", "()", "no_items")
        if kind == "object":
            return self._object(name, schema)
        if kind in _SCALARS:
            text = _FORMATS.get(schema.get("format", ""), _SCALARS[kind])
            return _Shape(text, sent="" if text == "Time" else text.partition(" ")[0])
        return _Shape("Any")

    def _inside(self, name: str, schema: Schema) -> str:
        text = self._shape(name, schema).text
        return f"{text} | None" if schema.get("nullable") and text != "Any" else text

    def _object(self, name: str, schema: Schema) -> _Shape:
        values, properties = schema.get("additionalProperties"), schema.get("properties")
        if isinstance(values, Mapping) and not properties:
            return _Shape(f"Mapping[str, {self._inside(name, values)}]", "EMPTY_MAP", "no_entries")
        # An embedded object has apiVersion, kind and metadata, whether the schema names them or not.
        if not properties or values or schema.get(_OPEN) or schema.get("x-kubernetes-embedded-resource"):
            return _Shape("Mapping[str, Any]", sent="no_entries")
        struct = self._struct(name, schema)
        return _Shape(struct, sent=struct)


def _sentence(schema: Schema) -> str:
    return first_sentence(schema.get("description") or "")


def _doc(schema: Schema) -> str:
    values: list[Any] = [value for value in schema.get("enum", ()) if value is not None]
    allowed = f"One of {', '.join(map(_display, values))}." if values else ""
    return " ".join(part for part in (_sentence(schema), allowed) if part)


def _display(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with more digits than Python converts
        return "a number"


_LONGEST = 200
"""Limit of the length of a name; class names include the names around them."""

# Attributes of these names would shadow types and zeros in the class body.
_IN_CLASSES = frozenset({
    "bool", "bytes", "datetime", "float", "int", "msgspec", "no_entries", "no_items", "no_value", "str", "tuple",
})  # fmt: skip
# Attributes of objects and their apply configurations.
_IN_OBJECTS = frozenset({"extract", "get", "items", "keys", "kind", "metadata", "values"})

# Names that generated modules import: a class of that name would shadow them.
_IMPORTED = frozenset({
    "Any", "ApplyConfiguration", "BaseClientset", "ClientGroup", "Clientset", "CreateClient", "FakeClientset",
    "FakeClientsetMixin", "GroupVersionKind", "GroupVersionResource", "InformerFactory", "InformerGroup",
    "KindInformer", "ListOf", "ListOrUnset", "Lister", "Mapping", "ObjectApplyConfiguration", "ObjectMeta",
    "ObjectMetaApplyConfiguration", "Scale", "ScaleClient", "ScaleSubresource", "Scheme", "Sequence",
    "SharedInformerFactory", "StatusClient", "StructWithLists", "SubresourceClient", "Time", "TypedClient", "UnsetType",
})  # fmt: skip


def class_name(kind: str) -> str:
    """Return the class name of a kind, with a suffix if generated modules import that name."""
    return f"{kind}Kind" if kind in _IMPORTED else kind


class UniqueNames:
    """Assigns unique names; those in `taken` are reserved, and `suffix` stands before the number of a further one."""

    def __init__(self, reserved: Iterable[str], suffix: str) -> None:
        self._taken = set(reserved)
        self._suffix = suffix
        self._numbers: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """Return `name`, with a suffix if it is used already."""
        candidate = name = name[:_LONGEST]
        while candidate in self._taken:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            candidate = f"{name}{self._suffix}{number if number > 1 else ''}"
        self._taken.add(candidate)
        return candidate


def _attribute_name(json_name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", snake(json_name))[:_LONGEST].strip("_")
    name = identifier(plain or "field")
    return f"{name}_" if name in _IN_CLASSES else name
