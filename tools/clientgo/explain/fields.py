"""Fields of a kind, from its schema and, for better type names and complete descriptions, from its class."""

import dataclasses
from typing import Any, get_args

from clientgo.codegen.crd.builtinfacts import borrowed_name
from clientgo.codegen.crd.manifest import top_schema
from clientgo.codegen.crd.schema import Schema, SchemaMaker
from clientgo.codegen.inputs.fields import members
from clientgo.codegen.problems import Problems
from clientgo.meta.classes.check import has_fields
from clientgo.meta.classes.hints import bare_type
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.schema.descriptions import Descriptions, descriptions_of


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field, or a whole object; `cls` is the class of its value, or of the items of a list or map."""

    schema: Schema
    cls: type[Any] | None = None
    description: str = ""
    required: bool = False
    is_kind: bool = False

    @property
    def type(self) -> str:
        """Type as kubectl writes it, such as `[]Container`."""
        return _type_text(self.schema, self.cls.__name__ if self.cls is not None else "")

    @property
    def enum(self) -> list[str]:
        """Allowed values of the field or its items."""
        return [str(value) for value in _element(self.schema).get("enum", ())]

    def descriptions(self) -> list[str]:
        """Return the descriptions of the field and of its type, without those that are missing."""
        element = _element(self.schema)
        of_type = _descriptions(self.cls).type
        if not of_type and (self.cls is not None or element is not self.schema or not self.description):
            of_type = element.get("description", "")
        return [text for text in dict.fromkeys((self.description, of_type)) if text]

    def fields(self) -> dict[str, "Field"]:
        """Return the fields of the value, or of the items of a list or map, by their JSON names.

        Raises:
            NameError, TypeError: the annotations of the class cannot be read.
        """
        schema = _element(self.schema)
        if self.cls is not None and not schema.get("properties"):
            # Metadata, and recursive types from the second level on, are open in the schema around them.
            schema = schema_of(self.cls)
        if self.is_kind:
            schema = top_schema(schema)
        declared = {member.json_name: member for member in members(self.cls)} if self.cls is not None else {}
        texts, required = _descriptions(self.cls).fields, schema.get("required", ())
        fields = {}
        for name, part in schema.get("properties", {}).items():
            member = declared.get(name)
            cls = _class_in(member.hint) if member is not None else None
            if self.is_kind and name == "metadata":  # open in the schema
                cls = ObjectMeta
            text = texts.get(name) or (member.doc if member is not None else "")
            if not text and cls is None:  # in the schema of a class it would be that of the class
                text = part.get("description", "")
            fields[name] = Field(part, cls, text, name in required)
        return fields


def schema_of(cls: type[Any]) -> Schema:
    """Return the schema of a dataclass or Struct; what cannot be in a CRD is open."""
    return SchemaMaker(Problems(), allow_floats=True).of_class(cls)


def _descriptions(cls: type[Any] | None) -> Descriptions:
    return descriptions_of(borrowed_name(cls)) if cls is not None else Descriptions()


def _class_in(hint: Any) -> type[Any] | None:
    """Return the class of a field's value, or of the items of a list or map; None for scalars."""
    bare: type[Any] = bare_type(hint)
    if has_fields(bare):
        return bare
    return next((cls for arg in get_args(bare) if (cls := _class_in(arg)) is not None), None)


def _element(schema: Schema) -> Schema:
    """Return the schema of the items of lists and maps, at every depth; others as they are."""
    below = schema.get("items") or schema.get("additionalProperties")
    return _element(below) if isinstance(below, dict) else schema


def _type_text(schema: Schema, name: str) -> str:
    if isinstance(items := schema.get("items"), dict):
        return f"[]{_type_text(items, name)}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"map[string]{_type_text(values, name)}"
    if name:
        return name
    if schema.get("x-kubernetes-int-or-string"):
        return "Quantity" if "pattern" in schema else "IntOrString"
    return "Object" if schema.get("type", "object") == "object" else str(schema["type"])
