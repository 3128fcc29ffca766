"""OpenAPI schemas of the built-in types, from `schemas.txt`, which describes its format.

Descriptions are those of the installed `kubernetes` package. Both are read when the first document is requested.
"""

from collections.abc import Container, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from clientgo.meta.schema.descriptions import descriptions_of

Json = dict[str, Any]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REFERENCE = "#/components/schemas/"
_OPTIONS = {
    "list": "x-kubernetes-list-type",
    "keys": "x-kubernetes-list-map-keys",
    "patch": "x-kubernetes-patch-strategy",
    "merge": "x-kubernetes-patch-merge-key",
    "map": "x-kubernetes-map-type",
    "union": "x-kubernetes-unions",
}
# A line of the file: indentation, name, `!`, type, and the options after it (values of an enum may contain spaces).
_MARKS = frozenset(("kind", "kinds"))
_FORMATS = {
    **dict.fromkeys(("int32", "int64"), "integer"),
    **dict.fromkeys(("byte", "date-time"), "string"),
    "double": "number",
}
_SCALARS = frozenset(("string", "boolean", "integer", "number", "object"))


class _Package(NamedTuple):
    """Package of types: its full name, and the group and version of its kinds."""

    name: str
    group: str
    version: str


def reference(definition: str) -> Json:
    """Return a reference to a definition."""
    return {"$ref": _REFERENCE + definition}


def definition_of(group: str, version: str, kind: str) -> str:
    """Return the name of the definition of a built-in kind."""
    return _tables().kinds[group, version, kind]


def described_field(definition: str) -> Json:
    """Return the schema of a field of a built-in type, with the type's description."""
    return _with_description(reference(definition), "")


def schemas_for(document: Any, group: str, *, defined: Container[str] = ()) -> dict[str, Json]:
    """Return the schemas that a document of a group refers to, directly and through others, by name.

    Those in `defined` are left out.
    """
    schemas: dict[str, Json] = {}
    pending = list(_references(document))
    while pending:
        name = pending.pop()
        if name not in schemas and name not in defined:
            schemas[name] = _described(name, group)
            pending.extend(_references(schemas[name]))
    return dict(sorted(schemas.items()))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(target := value.get("$ref"), str) and target.startswith(_REFERENCE):
            yield target.removeprefix(_REFERENCE)
        for member in value.values():
            yield from _references(member)
    elif isinstance(value, list):
        for member in value:
            yield from _references(member)


def _described(name: str, group: str) -> Json:
    """Return the schema of a definition with descriptions, for a document of this group."""
    described = descriptions_of(name)
    schema: Json = {"description": described.type} if described.type else {}
    schema |= _tables().schemas[name]
    if "properties" in schema:
        schema["properties"] = {
            field: _with_description(members, described.fields.get(field, ""))
            for field, members in schema["properties"].items()
        }
    kinds = schema.get("x-kubernetes-group-version-kind", ())
    if name in _tables().in_every_group and group:
        schema["x-kubernetes-group-version-kind"] = [*kinds, {**kinds[0], "group": group}]
    return schema


def _with_description(schema: Json, description: str) -> Json:
    """Add a description; a reference has that of its type, if it has none of its own, and stands in `allOf`."""
    target = schema.get("$ref", "").removeprefix(_REFERENCE)
    description = description or (descriptions_of(target).type if target else "")
    described: Json = {"description": description} if description else {}
    members = {key: value for key, value in schema.items() if key != "$ref"}
    if target and (described or members):
        return {**described, **members, "allOf": [reference(target)]}
    return {**described, **schema}


class Tables(NamedTuple):
    """Schemas by definition, definitions by group, version and kind, and definitions that are kinds of every group."""

    schemas: dict[str, Json]
    kinds: dict[tuple[str, str, str], str]
    in_every_group: set[str]


@cache
def _tables() -> Tables:
    return parse_schemas((files(__package__) / "schemas.txt").read_text(encoding="utf-8"))


def parse_schemas(text: str) -> Tables:
    """Return the schemas of a text in the format of `schemas.txt`, without descriptions."""
    lines = text.splitlines()
    heads = [line.strip("[]").split(" ") for line in lines if line.startswith("[")]
    packages = {".".join(name.split(".")[-2:]): name for name, *_ in heads}
    tables = Tables({}, {}, set())
    package, schema = _Package("", "", ""), Json()
    for line in lines:
        if line.startswith("["):
            name, _, group_version = line.strip("[]").partition(" ")
            group, _, version = group_version.rpartition("/")
            package = _Package(name, group, version)
        elif line and not line.startswith("#"):
            name, text, options = _split(line)
            if not line.startswith(" "):
                schema = _add_type(tables, package, name, text, options)
                continue
            field = name.rstrip("!")
            schema["properties"][field] = _type(text, package.name, packages) | _options(options)
            if name != field:
                schema.setdefault("required", []).append(field)
    for schema in tables.schemas.values():
        if schema.get("properties") == {}:
            del schema["properties"]
        elif "properties" in schema:
            schema["properties"] = dict(sorted(schema["properties"].items()))
    return tables


def _split(line: str) -> tuple[str, str, list[str]]:
    """Return the name, type and options of a line; the values of an enum may contain spaces."""
    name, *words = line.split()
    end = len(words)
    while end and (words[end - 1] in _MARKS or words[end - 1].partition("=")[0] in _OPTIONS):
        end -= 1
    return name, " ".join(words[:end]), words[end:]


def _add_type(tables: Tables, package: _Package, name: str, text: str, options: list[str]) -> Json:
    definition = f"{package.name}.{name}"
    schema: Json = _type(text, "", {}) if text else {"type": "object", "properties": {}}
    if "kind" in options:
        schema["properties"] |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
        tables.kinds[package.group, package.version, name] = definition
    if "kind" in options or "kinds" in options:
        kind = {"group": package.group, "kind": name, "version": package.version}
        schema["x-kubernetes-group-version-kind"] = [kind]
    if "kinds" in options:
        tables.in_every_group.add(definition)
    tables.schemas[definition] = schema | _options(options)
    return tables.schemas[definition]


def _options(words: list[str]) -> Json:
    options: Json = {}
    for word in words:
        key, _, value = word.partition("=")
        if key == "union":
            discriminator, _, fields = value.partition(":")
            union = {"fields-to-discriminateBy": {field: field[0].upper() + field[1:] for field in fields.split(",")}}
            named = {"discriminator": discriminator} if discriminator else {}
            options[_OPTIONS[key]] = [{**named, **union}]
        elif key not in _MARKS:
            options[_OPTIONS[key]] = value.split(",") if key == "keys" else value
    return options


def _type(text: str, package: str, packages: dict[str, str]) -> Json:
    """Return the schema of a type such as `[]string(A|B)`, `{}int32` or `core.v1.Container={}`."""
    if text.startswith("[]"):
        return {"type": "array", "items": _type(text[2:], package, packages)}
    if text.startswith("{}"):
        return {"type": "object", "additionalProperties": _type(text[2:], package, packages)}
    text, has_default, default = text.partition("=")
    name, has_values, values = text.partition("(")
    schema = _named_type(name, package, packages)
    if has_values:
        schema["enum"] = values.removesuffix(")").split("|")
    if has_default:
        schema["default"] = msgspec.json.decode(default)
    return schema


def _named_type(name: str, package: str, packages: dict[str, str]) -> Json:
    if name == "any":
        return {}
    if "|" in name:
        union, _, union_format = name.partition(":")
        members: Json = {"oneOf": [{"type": member} for member in union.split("|")]}
        return {**members, "format": union_format} if union_format else members
    if name in _SCALARS:
        return {"type": name}
    if name in _FORMATS:
        return {"type": _FORMATS[name], "format": name}
    qualifier, _, type_name = name.rpartition(".")
    return reference(f"{packages[qualifier] if qualifier else package}.{type_name}")
