"""Source of OpenAPI definitions: a schema for each class.

Unlike in a CRD, which is one closed schema, nested classes are references here. Built-in types are defined once, in the
module `shared`. A third-party kind is one definition, as its owner wrote it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clientgo.codegen.crd.builtinfacts import borrowed_name
from clientgo.codegen.crd.manifest import typed_top
from clientgo.codegen.crd.schema import Schema, SchemaMaker, own_of
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.crds import ForeignKind
from clientgo.codegen.model import GroupVersion, Kind, group_versions
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.source import Code, assignment, call, quoted
from clientgo.codegen.render.templatefiles import Layout, Text, fill, import_block
from clientgo.meta.objects import ListMeta, ObjectMeta


class _Part(dict[str, Any]):
    """Schema of a nested class, with a copy from before the field added to it.

    `name` is the name of the definition, if it does not follow from the class.
    """

    def __init__(self, schema: Schema, cls: type[Any], name: str = "") -> None:
        super().__init__(schema)
        self.cls, self.name = cls, name
        self.own = own_of(schema)


class _PartMaker(SchemaMaker):
    """Makes schemas in which nested classes are `_Part`, one for each class.

    A part becomes a reference, so it does not depend on the classes around it.
    """

    def of_class(self, cls: type[Any], inside: tuple[type[Any], ...] = ()) -> Schema:
        schema = super().of_class(cls, inside)
        return _Part(schema, cls) if inside else schema

    def _is_shared(self, cls: type[Any], inside: tuple[type[Any], ...]) -> bool:
        del cls, inside
        return True

    def _of_type(self, hint: Any, position: Any) -> Schema:
        return self.of_class(hint, position.inside) if hint is ObjectMeta else super()._of_type(hint, position)


@dataclass(slots=True)
class _Definitions:
    """Definitions of one module: schemas by name."""

    maker: SchemaMaker
    group: GroupVersion | None = None
    schemas: dict[str, Schema] = field(default_factory=dict)
    classes: dict[str, type[Any]] = field(default_factory=dict)
    borrowed: dict[str, type[Any]] = field(default_factory=dict)
    """Referenced built-in types."""

    def define(self, name: str, cls: type[Any], schema: Schema | None = None) -> None:
        """Define a class and the own classes that it refers to."""
        self.classes[name] = cls
        needs: dict[str, type[Any]] = {}
        self.schemas[name] = self._referring(self.maker.of_class(cls) if schema is None else schema, needs)
        for needed, part in needs.items():
            if needed not in self.classes and needed not in self.borrowed:
                self.define(needed, part)

    def name_of(self, cls: type[Any]) -> str:
        """Return the name of a class, and record it if another module defines it."""
        name = borrowed_name(cls)
        if name:
            if self.group is not None:
                self.borrowed[name] = cls
            return name
        assert self.group is not None  # built-in types refer only to built-in types
        name = own_name(self.group.group, self.group.version, cls.__name__)
        if self.classes.get(name, cls) is not cls:
            return f"{name}_{cls.__module__.rpartition('.')[2]}"
        return name

    def _referring(self, schema: Any, needs: dict[str, type[Any]]) -> Any:
        if isinstance(schema, _Part):
            name = schema.name or self.name_of(schema.cls)
            needs[name] = schema.cls
            reference = {"$ref": Code(f"Ref({quoted(name)})")}
            more = {key: value for key, value in schema.items() if schema.own.get(key, _ABSENT) != value}
            # Keywords beside a reference would be ignored.
            return {"allOf": [reference], **more} if more else reference
        if isinstance(schema, dict):
            return {key: self._referring(value, needs) for key, value in schema.items()}
        return [self._referring(part, needs) for part in schema] if isinstance(schema, list) else schema


_ABSENT = object()


class _Foreign:
    """Placeholder for the class of a third-party kind."""


def openapi_texts(
    kinds: Sequence[OwnKind], foreign: Mapping[Kind, Schema], layout: Layout, problems: Problems, *, allow_floats: bool
) -> Iterator[Text]:
    """Yield all modules of definitions: one for each group version, and `shared`.

    `foreign` has the schemas of third-party kinds, without references.
    """
    maker = _PartMaker(problems, allow_floats=allow_floats)
    shared, modules = _Definitions(maker), []
    groups = group_versions([*kinds, *foreign])
    for group in groups:
        definitions = _Definitions(maker, group)
        # Third-party kinds first: their names cannot change.
        for kind in sorted(group.kinds, key=lambda kind: isinstance(kind, OwnKind)):
            if isinstance(kind, OwnKind):
                _define_with_list(definitions, kind.class_name, kind.cls, maker.of_class(kind.cls))
            else:
                properties = {**foreign[kind].get("properties", {}), "metadata": _Part({}, ObjectMeta)}
                _define_with_list(definitions, kind.api.kind, _Foreign, {**foreign[kind], "properties": properties})
        for name, cls in sorted(definitions.borrowed.items()):
            if name not in shared.classes:
                shared.define(name, cls)
        modules.append(group.module)
        yield _module(layout, group.module, f"OpenAPI definitions of {group.api_version}.", definitions, group.sources)
    if modules:
        sources = tuple(sorted({source for group in groups for source in group.sources}))
        yield _module(layout, "shared", "OpenAPI definitions of built-in types.", shared, sources)
        package = layout.module("openapi")
        modules = sorted([*modules, "shared"])
        imports = import_block([("clientgo.meta.schema.openapi", ["Definitions", "Reference", "component"]),
                                (package, modules)], layout)  # fmt: skip
        schemas = "{" + ", ".join(f"**{module}.SCHEMAS" for module in modules) + "}"
        call_text = call("return Definitions", [schemas, "ref"], indent="    ")
        body = fill("openapi_package", imports=imports, made=call_text)
        yield Text(package, body, sources, is_package=True)


def _define_with_list(definitions: _Definitions, kind: str, cls: type[Any], schema: Schema) -> None:
    group = definitions.group
    assert group is not None  # kinds are of a group
    name = own_name(group.group, group.version, kind)
    mark = {"group": group.group, "kind": kind, "version": group.version}
    definitions.define(name, cls, {**typed_top(schema), "x-kubernetes-group-version-kind": [mark]})
    items: Schema = {"type": "array", "items": _Part({}, cls, name)}
    page: Schema = {"type": "object", "description": f"A page of {kind} objects.", "properties": {"items": items}}
    page["properties"]["metadata"] = _Part({}, ListMeta)
    page["required"] = ["items"]
    definitions.define(
        f"{name}List",
        ListMeta,
        {**typed_top(page), "x-kubernetes-group-version-kind": [{**mark, "kind": f"{kind}List"}]},
    )


def _module(layout: Layout, module: str, doc: str, definitions: _Definitions, sources: tuple[str, ...]) -> Text:
    schemas = assignment("SCHEMAS: Mapping[str, Schema] = ", dict(sorted(definitions.schemas.items())))
    names = ["Ref", "Schema"] if '"$ref": Ref(' in schemas else ["Schema"]
    imports = import_block([("clientgo.meta.schema.openapi", names)], layout)
    return Text(layout.module("openapi", module), fill("openapi", doc=doc, imports=imports, schemas=schemas), sources)


def own_name(group: str, version: str, name: str) -> str:
    """Return the name of an own class: its reversed group, its version and its name."""
    return ".".join([*reversed(group.split(".")), version, name])


MOST_TEXT = 3 * 1024 * 1024
"""Limit of a schema as JSON in characters: the request limit of the API server."""

DEEPEST = 150
"""Limit of nested values; Python accepts 200 brackets."""


class Unpublishable(ValueError):
    """The schema cannot be a definition; the message has the reason."""


def published_schemas(
    foreign: Iterable[ForeignKind], kinds: Iterable[Kind], problems: Problems
) -> dict[Kind, dict[str, Any]]:
    """Return the schemas of third-party kinds; errors go to `problems`."""
    schemas = {}
    by_name = {kind.api.gvk: kind for kind in foreign}
    for kind in kinds:
        try:
            schemas[kind] = published_schema(by_name[kind.api.gvk])
        except Unpublishable as error:
            message = f"the schema of {kind.api.gvk} cannot be an OpenAPI definition: {error}"
            problems.at_module(kind.source, 0, f"{message}; remove openapi from --generators")
    return schemas


def published_schema(kind: ForeignKind) -> dict[str, Any]:
    """Return the schema of a kind's objects; Unpublishable if the API server or Python could not read it."""
    schema = _plain(kind.schema, DEEPEST)
    if len(json.dumps(schema)) > MOST_TEXT:
        raise Unpublishable(f"it is longer than {MOST_TEXT:,} characters of JSON")
    published: dict[str, Any] = {**schema, "type": "object", "properties": {**schema.get("properties", {})}}
    return published


def _plain(value: Any, depth: int) -> Any:
    """Return the value in plain maps and lists."""
    if depth == 0:
        raise Unpublishable(f"it nests more than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {key: _plain(part, depth - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, depth - 1) for part in value]
    return value
