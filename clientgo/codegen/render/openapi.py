"""Kinds to modules of OpenAPI definitions: a function for each class, which makes its schema when it is asked for.

Unlike in a CRD, which is one closed schema, a part that is a class of its own is referred to here. What Kubernetes has
itself is defined once, in the module `shared`. Somebody else's kind stays one definition, as its owner wrote it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from clientgo.codegen.crd.manifest import typed_top
from clientgo.codegen.crd.schema import Schema, SchemaMaker, own_of
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.crds import ForeignKind
from clientgo.codegen.model import GroupVersion, Kind, group_versions
from clientgo.codegen.names import identifier, snake
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.source import Code, call, docstring, first_sentence, literal, quoted
from clientgo.codegen.render.templatefiles import Layout, Text, fill, import_block
from clientgo.meta.objects import ListMeta, ObjectMeta


class _Part(dict[str, Any]):
    """The schema of a class that is part of another, and how it was before the field added to it.

    A `name` is that of the definition, where the class does not tell it.
    """

    def __init__(self, schema: Schema, cls: type[Any], name: str = "") -> None:
        super().__init__(schema)
        self.cls, self.name = cls, name
        self.own = own_of(schema)


class _PartMaker(SchemaMaker):
    """Makes schemas in which parts that are classes can be told from others; that of each class once.

    A part stands for a reference, so it does not matter inside of which classes it was made.
    """

    def of_class(self, cls: type[Any], inside: tuple[type[Any], ...] = ()) -> Schema:
        schema = super().of_class(cls, inside)
        return _Part(schema, cls) if inside else schema

    def _is_shared(self, cls: type[Any], inside: tuple[type[Any], ...]) -> bool:
        del cls, inside
        return True

    def _of_repeated(self, cls: type[Any]) -> Schema:
        return {"type": "object"}

    def _of_type(self, hint: Any, place: Any) -> Schema:
        return self.of_class(hint, place.inside) if hint is ObjectMeta else super()._of_type(hint, place)


@dataclass(slots=True)
class _Definitions:
    """The definitions of one module: schema and dependencies by name."""

    maker: SchemaMaker
    group: GroupVersion | None = None
    found: dict[str, tuple[Schema, tuple[str, ...]]] = field(default_factory=dict)
    classes: dict[str, type[Any]] = field(default_factory=dict)
    borrowed: dict[str, type[Any]] = field(default_factory=dict)
    """Kubernetes' own types that are referred to."""

    def define(self, name: str, cls: type[Any], schema: Schema | None = None) -> None:
        """Define a class and, if they are not yet, the classes of one's own that it refers to."""
        self.classes[name] = cls
        needs: dict[str, type[Any]] = {}
        made = self._referring(schema if schema is not None else self.maker.of_class(cls), needs)
        self.found[name] = (made, tuple(sorted(needs)))
        for needed, part in needs.items():
            if needed not in self.classes and needed not in self.borrowed:
                self.define(needed, part)

    def name_of(self, cls: type[Any]) -> str:
        """What the class is called; what is another module's is remembered."""
        name = borrowed_name(cls)
        if name:
            if self.group is not None:
                self.borrowed[name] = cls
            return name
        assert self.group is not None  # Kubernetes' own types hold no others
        name = own_name(self.group.group, self.group.version, cls.__name__)
        if self.classes.get(name, cls) is not cls:
            return f"{name}_{cls.__module__.rpartition('.')[2]}"
        return name

    def _referring(self, schema: Any, needs: dict[str, type[Any]]) -> Any:
        if isinstance(schema, _Part):
            name = schema.name or self.name_of(schema.cls)
            needs[name] = schema.cls
            reference = {"$ref": Code(f"ref({quoted(name)})")}
            more = {key: value for key, value in schema.items() if schema.own.get(key, _ABSENT) != value}
            # What stands beside a reference is not read.
            return {"allOf": [reference], **more} if more else reference
        if isinstance(schema, dict):
            return {key: self._referring(value, needs) for key, value in schema.items()}
        return [self._referring(part, needs) for part in schema] if isinstance(schema, list) else schema


_ABSENT = object()


class _Foreign:
    """Stands for the class of a kind that has none here."""


def openapi_texts(
    kinds: Sequence[OwnKind], foreign: Mapping[Kind, Schema], layout: Layout, problems: Problems, *, allow_floats: bool
) -> Iterator[Text]:
    """Every module of definitions: one for each version of a group, and what they share.

    `foreign` has the schemas of kinds without classes, free of references.
    """
    maker = _PartMaker(problems, allow_floats=allow_floats)
    classes = {own.kind: own.cls for own in kinds}
    shared, modules = _Definitions(maker), []
    groups = group_versions([*classes, *foreign])
    for group in groups:
        definitions = _Definitions(maker, group)
        # Names are given first to those that can't have another one.
        for kind in sorted(group.kinds, key=lambda kind: kind in classes):
            if kind in classes:
                _define_kind(definitions, kind.class_name, classes[kind])
            else:
                _define_foreign(definitions, kind.api.kind, foreign[kind])
        for name, cls in sorted(definitions.borrowed.items()):
            if name not in shared.classes:
                shared.define(name, cls)
        modules.append(group.module)
        yield _module(layout, group.module, f"OpenAPI definitions of {group.api_version}.", definitions, group.sources)
    if modules:
        sources = tuple(sorted({source for group in groups for source in group.sources}))
        yield _module(layout, "shared", "OpenAPI definitions of Kubernetes' own types.", shared, sources)
        package = layout.module("openapi")
        modules = sorted([*modules, "shared"])
        imports = import_block([("clientgo.meta.openapi", ["Definitions", "Reference", "component"]),
                                (package, modules)], layout)  # fmt: skip
        makers = "{" + ", ".join(f"**{module}.MAKERS" for module in modules) + "}"
        made = call("return Definitions", [makers, "ref"], indent="    ")
        body = fill("openapi_package", imports=imports, made=made)
        yield Text(package, body, sources, is_package=True)


def _define_kind(definitions: _Definitions, class_name: str, cls: type[Any]) -> None:
    _define_with_list(definitions, class_name, cls, definitions.maker.of_class(cls))


def _define_foreign(definitions: _Definitions, kind: str, schema: Schema) -> None:
    properties = {**schema.get("properties", {}), "metadata": _Part({}, ObjectMeta)}
    _define_with_list(definitions, kind, _Foreign, {**schema, "properties": properties})


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
    functions: dict[str, str] = {}
    texts = []
    for name, (schema, _) in sorted(definitions.found.items()):
        function = function_name(name, functions)
        functions[function] = name
        said = first_sentence(str(schema.get("description", ""))) or f"{name.rpartition('.')[2]}."
        texts.append(
            f"def {function}(ref: Reference) -> Schema:\n{docstring(said, indent='    ')}\n"
            f"    return {literal(schema, indent=4, used=10)}"
        )
    makers = {name: (Code(function), definitions.found[name][1]) for function, name in functions.items()}
    body = fill(
        "openapi",
        doc=doc,
        imports=import_block([("clientgo.meta.openapi", ["Maker", "Reference", "Schema"])], layout),
        functions="\n\n\n".join(texts),
        makers=literal(makers, used=len("MAKERS: Mapping[str, tuple[Maker, tuple[str, ...]]] = ")),
    )
    return Text(layout.module("openapi", module), body, sources)


META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OF_META = frozenset(("LabelSelector", "LabelSelectorRequirement", "Condition", "DeleteOptions", "Preconditions"))
_BUILT_IN = "clientgo.kubernetes.types."
_CORE = ("pods", "volumes", "shared")
"""Modules of parts that are the core group's."""


def own_name(group: str, version: str, name: str) -> str:
    """The name of a class of one's own: its group backwards, its version, its name."""
    return ".".join([*reversed(group.split(".")), version, name])


def borrowed_name(cls: type[Any]) -> str:
    """The name of one of Kubernetes' own types; empty for any other class."""
    if cls.__module__ == "clientgo.meta.objects" or cls.__name__ in _OF_META:
        return f"{META}.{cls.__name__}"
    if not cls.__module__.startswith(_BUILT_IN):
        return ""
    module = cls.__module__.removeprefix(_BUILT_IN)
    group, _, version = ("core_v1" if module in _CORE else module).rpartition("_")
    return f"io.k8s.api.{group}.{version}.{cls.__name__}"


def function_name(name: str, taken: Mapping[str, str]) -> str:
    """A function's name for a definition, other than those that are taken."""
    parts = name.split(".")
    made = identifier(snake(parts[-1]))
    # Two of one name are of different groups or versions.
    for part in reversed(parts[:-1]):
        if made not in taken:
            break
        made = f"{part.replace('-', '_')}_{made}"
    return made


MOST_TEXT = 3 * 1024 * 1024
"""Characters of a schema as JSON: an API server takes no request that is longer, and so no CRD."""

DEEPEST = 150
"""Levels of values inside of values; Python takes 200 brackets."""


class Unpublishable(ValueError):
    """The schema can't be a definition; the text says why."""


def published_schema(kind: ForeignKind) -> dict[str, Any]:
    """The schema of the kind's objects, of JSON's values alone; its metadata is whatever it is.

    Raises:
        Unpublishable: no API server can have it, or Python could not read it.
    """
    schema = _plain(kind.schema, DEEPEST)
    try:
        length = len(json.dumps(schema, allow_nan=False))
    except ValueError as error:
        raise Unpublishable("a number in it is not finite, or has thousands of digits") from error
    if length > MOST_TEXT:
        raise Unpublishable(f"it is longer than {MOST_TEXT:,} characters of JSON")
    made: dict[str, Any] = {**schema, "type": "object", "properties": {**schema.get("properties", {})}}
    return made


def _plain(value: Any, left: int) -> Any:
    """The value as JSON has it: YAML's dates are the texts they were."""
    if left == 0:
        raise Unpublishable(f"it nests more than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {_key(key): _plain(part, left - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, left - 1) for part in value]
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    raise Unpublishable(f"a value in it is of YAML's type {type(value).__name__}, which JSON has no word for")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Unpublishable("a name in it is no text")
    return key
