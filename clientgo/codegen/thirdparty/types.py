"""A structural schema as records of classes, named by where they stand: `CertificateSpecPrivateKey`.

The defaults are those of the built-in types: lists and maps are empty when absent, `metadata`, `spec`, `status` and
required structs are zero structs, required scalars their zero and always sent, all else None. Values of an enum are
strings, with the allowed ones in the documentation: what a server sends must stay readable when it learns a new one.
An object of which not every field is described is a mapping, so that nothing in it is lost.

Schemas come checked (`checked.check_schema`), and names made for Python here: nobody else's name stands in a program.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clientgo.codegen.source import first_sentence
from clientgo.codegen.structs import Attribute, StructType
from clientgo.codegen.thirdparty.attributes import ClassNames, attribute_names, class_case
from clientgo.codegen.thirdparty.definitions import Schema

_TOP = ("apiVersion", "kind", "metadata")
_SCALARS = {"string": "str", "integer": "int", "number": "float | int", "boolean": "bool"}
_FORMATS = {"date-time": "datetime", "byte": "bytes"}
_METADATA = Attribute(name="metadata", json_name="metadata", type="ObjectMeta", default="ObjectMeta()")


class _Shape(NamedTuple):
    """A type as text, and its zero: an expression that is left out when sent, and a factory of one that is sent."""

    text: str
    zero: str = ""
    sent: str = ""


class SchemaTypes:
    """Makes records of schemas; what others mention comes first."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._names = ClassNames(kinds)
        self.records: dict[str, StructType] = {}

    def kind(self, name: str, schema: Schema, mark: tuple[str, ...]) -> None:
        """The classes of a kind and of all its parts."""
        attributes = (_METADATA, *self._attributes(name, schema, root=True))
        doc = _sentence(schema) or f"A {name}."
        self.records[name] = StructType(name=name, doc=doc, attributes=attributes, mark=mark)

    def _struct(self, name: str, schema: Schema) -> str:
        name = self._names.unused(name)
        attributes = tuple(self._attributes(name, schema))
        self.records[name] = StructType(name=name, doc=_sentence(schema) or f"The type {name}.", attributes=attributes)
        return name

    def _attributes(self, owner: str, schema: Schema, *, root: bool = False) -> list[Attribute]:
        properties = schema.get("properties", {})
        required = frozenset(schema.get("required", ()))
        wanted = sorted(name for name in properties if not root or name not in _TOP)
        return [
            self._attribute(owner, names, properties[names[1]], required=names[1] in required, root=root)
            for names in attribute_names(wanted, root=root)
        ]

    def _attribute(
        self, owner: str, names: tuple[str, str], schema: Schema, *, required: bool, root: bool
    ) -> Attribute:
        name, json_name = names
        shape = self._shape(owner + class_case(json_name), schema)
        nullable = bool(schema.get("nullable"))
        text, default, factory = shape.text, "None", ""
        if required and not nullable and shape.sent:
            default, factory = "", shape.sent
        elif root and shape.sent in self.records and json_name in ("spec", "status"):
            default = f"{shape.sent}()"
        elif shape.zero and not nullable and "default" not in schema:
            default = shape.zero
        elif text != "Any":
            text = f"{text} | None"
        return Attribute(name=name, json_name=json_name, type=text, default=default, factory=factory, doc=_doc(schema))

    def _shape(self, name: str, schema: Schema) -> _Shape:
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return _Shape("int | str", sent="int")
        kind = schema.get("type")
        if kind == "array":
            return _Shape(f"tuple[{self._inside(name, schema.get('items') or {})}, ...]", "()", "no_items")
        if kind == "object":
            return self._object(name, schema)
        if kind in _SCALARS:
            text = _FORMATS.get(schema.get("format", ""), _SCALARS[kind])
            return _Shape(text, sent="" if text == "datetime" else text.partition(" ")[0])
        return _Shape("Any")

    def _inside(self, name: str, schema: Schema) -> str:
        text = self._shape(name, schema).text
        return f"{text} | None" if schema.get("nullable") and text != "Any" else text

    def _object(self, name: str, schema: Schema) -> _Shape:
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            return _Shape(f"Mapping[str, {self._inside(name, values)}]", "EMPTY_MAP", "no_entries")
        if not schema.get("properties") or values is True or schema.get("x-kubernetes-preserve-unknown-fields"):
            return _Shape("Mapping[str, Any]", sent="no_entries")
        made = self._struct(name, schema)
        return _Shape(made, sent=made)


def _sentence(schema: Schema) -> str:
    return first_sentence(schema.get("description") or "")


def _doc(schema: Schema) -> str:
    values: list[Any] = [value for value in schema.get("enum", ()) if value is not None]
    allowed = f"One of {', '.join(map(_told, values))}." if values else ""
    return " ".join(part for part in (_sentence(schema), allowed) if part)


def _told(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a number"
