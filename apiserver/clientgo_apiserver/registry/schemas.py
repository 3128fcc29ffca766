"""OpenAPI schemas of the built-in types, from the table of Go types.

Descriptions are those of the installed `kubernetes` package. Both are read when the first document is requested.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from clientgo.meta.schema.descriptions import descriptions_of
from clientgo.meta.schema.gotypes import GoField, GoType, Section, is_always_written, value_of
from clientgo_apiserver.gotypes.table import sections
from clientgo_apiserver.releases.release import cached_by_release

Json = dict[str, Any]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_REFERENCE = "#/components/schemas/"
_SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "[]byte": {"type": "string", "format": "byte"},
    "bool": {"type": "boolean"},
    "float64": {"type": "number", "format": "double"},
    **{name: {"type": "integer", "format": name} for name in ("int32", "int64")},
}
_ZEROS: dict[str, Any] = {"string": "", "int32": 0, "int64": 0, "double": 0, "boolean": False}


def reference(definition: str) -> Json:
    """Return a reference to a definition."""
    return {"$ref": _REFERENCE + definition}


def definition_of(group: str, version: str, kind: str) -> str:
    """Return the name of the definition of a built-in kind."""
    return _tables().kinds[group, version, kind]


def described_field(definition: str, description: str = "") -> Json:
    """Return the schema of a field of a built-in type, by default with the type's description."""
    return _with_description(reference(definition), description)


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


@cached_by_release
def _tables() -> Tables:
    return make_tables(sections().values())


def make_tables(table: Iterable[Section]) -> Tables:
    """Return the schemas of the types of a table, without descriptions."""
    tables = Tables({}, {}, set())
    for section in table:
        for entry in section.types.values():
            if entry.base or "private" in entry.marks:
                continue
            _add(tables, section, entry, _of_type(section, entry))
            if "list" in entry.marks:
                rows = f"\n  - items! []{entry.name}\n  - metadata ListMeta"
                list_type = GoType(f"{entry.name}List", "kind", rows)
                _add(tables, section, list_type, _of_type(section, list_type))
    return tables


def built_in_schemas() -> dict[str, Json]:
    """Return the schemas of the table in the current release, by definition, as documents of all groups have them."""
    tables = make_tables(sections().values())
    for name in tables.in_every_group:
        tables.schemas[name]["x-kubernetes-group-version-kind"] *= 2
    return tables.schemas


def _add(tables: Tables, section: Section, entry: GoType, schema: Json) -> None:
    definition, marks = f"{section.package_of(entry)}.{entry.name}", entry.marks
    if "kind" in marks:
        tables.kinds[section.group, section.version, entry.name] = definition
    if "kind" in marks or "kinds" in marks:
        kind = {"group": section.group, "kind": entry.name, "version": section.version}
        schema["x-kubernetes-group-version-kind"] = [kind]
    if "kinds" in marks:
        tables.in_every_group.add(definition)
    tables.schemas[definition] = schema


def _of_type(section: Section, entry: GoType) -> Json:
    marks = entry.marks
    if "schema" in marks:
        return _of_json(marks["schema"])
    schema: Json = {"type": "object"}
    fields = list(_fields(section, entry))
    properties = {field.name: _of_field(home, field) for home, field in fields}
    if "kind" in marks:
        properties |= {name: {"type": "string"} for name in ("apiVersion", "kind")}
    if properties:
        schema["properties"] = dict(sorted(properties.items()))
    if required := sorted(field.name for _, field in fields if field.required):
        schema["required"] = required
    if "atomic" in marks:
        schema["x-kubernetes-map-type"] = "atomic"
    if "union" in marks:
        schema["x-kubernetes-unions"] = [_union(marks["union"])]
    return schema


def _fields(section: Section, entry: GoType) -> Iterator[tuple[Section, GoField]]:
    """Yield the fields of a type with those of embedded types, and the sections in which their types are named."""
    for field in entry.fields:
        if field.name != "~":
            yield section, field
        elif field.number != 0 and (named_type := section.find(field.type)) is not None:
            yield from _fields(*named_type)


def _of_field(section: Section, field: GoField) -> Json:
    schema = _of_text(section, field.type.removeprefix("*"))
    options = field.options
    if "default" in options:
        schema["default"] = value_of(options["default"])
    elif is_always_written(field, "$ref" in schema) and not field.type.startswith("*"):
        default = _zero(section, field, schema)
        schema |= {} if default is None else {"default": default}
    list_type, _, keys = options.get("list", "").partition(":")
    strategies, _, key = options.get("patch", "").partition(":")
    extensions = {
        "list-type": list_type,
        "list-map-keys": keys.split(",") if keys else None,
        "patch-strategy": strategies,
        "patch-merge-key": key,
        "map-type": options.get("map"),
    }
    return schema | {f"x-kubernetes-{name}": value for name, value in extensions.items() if value}


def _zero(section: Section, field: GoField, schema: Json) -> Any:
    """Return the zero of a field that is always written, as far as OpenAPI has it as a default; or None."""
    if "$ref" not in schema:
        return _ZEROS.get(schema.get("format") or schema["type"])
    named_type = section.find(field.type)
    return None if named_type is None or "schema" in named_type[1].marks else {}


def _union(mark: str) -> Json:
    discriminator, _, names = mark.partition(":")
    fields = {name: name[0].upper() + name[1:] for name in names.split(",")}
    return {**({"discriminator": discriminator} if discriminator else {}), "fields-to-discriminateBy": fields}


def _of_text(section: Section, text: str) -> Json:
    """Return the schema of a Go type such as `[]Container`, `map[string]int32` or `string(A|B)`."""
    if text in _SCALARS:
        return dict(_SCALARS[text])
    if text.startswith("[]"):
        return {"type": "array", "items": _of_text(section, text[2:])}
    if text.startswith("map["):
        return {"type": "object", "additionalProperties": _of_text(section, text.partition("]")[2])}
    name, has_values, values = text.partition("(")
    if has_values:
        return {**_SCALARS[name], "enum": values.removesuffix(")").split("|")}
    named_type = section.find(name)
    assert named_type is not None, f"the table has no type {name}"
    home, entry = named_type
    return _of_text(home, entry.base) if entry.base else reference(f"{home.package_of(entry)}.{name}")


def _of_json(text: str) -> Json:
    """Return the schema of `any`, or of types and their format, such as `string:date-time`."""
    if text == "any":
        return {}
    names, _, format_name = text.partition(":")
    types = names.split("|")
    schema: Json = {"type": names} if len(types) == 1 else {"oneOf": [{"type": name} for name in types]}
    return {**schema, "format": format_name} if format_name else schema
