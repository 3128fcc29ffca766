"""Records of generated struct classes, and the source of their modules.

Inputs without Python classes, such as CRDs and the models of the official client, describe the classes to generate with
these records.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from clientgo.codegen.model import STATUS_VERBS
from clientgo.codegen.render.source import assignment, call, docstring, literal, quoted
from clientgo.codegen.render.templatefiles import Layout, fill, joined, used_imports
from clientgo.meta.classes.hints import camel
from clientgo.meta.scheme import ALL_VERBS, ApiType, plural_of

_ARGUMENTS = ("frozen=True", "kw_only=True", 'rename="camel"', "omit_defaults=True", "gc=False")
"""gc=False: frozen values of tuples and maps cannot form cycles, and every full collection would otherwise traverse a
cache of a million of them."""

LIST = re.compile(r"tuple\[(.*), \.\.\.\]")
"""Source of an annotation of a list."""

_PLACES = {
    "clientgo.meta.objects": ("EMPTY_MAP", "ListMeta", "ListOf", "ManagedFieldsEntry", "MicroTime", "NO_ITEMS",
                              "ObjectMeta", "OwnerReference", "StructWithLists", "Time", "no_entries", "no_items",
                              "no_value"),
    "clientgo.meta.scheme": ("ScaleSubresource", "api_type"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """An attribute: the source of its annotation, and its default as an expression or the name of a factory."""

    name: str
    json_name: str
    type: str
    default: str = "None"
    factory: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructType:
    """A class to define; with an `api`, a kind."""

    name: str
    doc: str
    attributes: tuple[Attribute, ...]
    api: ApiType | None = None


def types_text(title: str, records: Iterable[StructType], layout: Layout, borrowed: Mapping[str, Iterable[str]]) -> str:
    """Return a module of types; `borrowed` are types of other modules, which it offers, too."""
    records = list(records)
    record_names = {record.name for record in records}
    later, hints, classes = set(record_names), [], []
    for record in records:
        attributes = [_with_list(attribute) for attribute in record.attributes]
        hints += [attribute.type for attribute in attributes]
        # Annotations that mention a class not defined yet become strings. Only these: strings are compiled and
        # evaluated when the first client of a kind is created.
        for index, member in enumerate(attributes):
            if not later.isdisjoint(re.findall(r"\w+", member.type)):
                attributes[index] = replace(member, type=quoted(member.type))
        classes.append(_struct_text(replace(record, attributes=tuple(attributes))))
        later.discard(record.name)
    source = joined(classes, blank_lines=2)
    return fill(
        "types",
        title=title,
        imports=used_imports(
            f"{source} {' '.join(hints)}",
            {module: set(names) - record_names for module, names in _PLACES.items()},
            layout,
            more=borrowed.items(),
            modules=["msgspec"] if "msgspec." in source else [],
        ),
        names=assignment("__all__ = ", sorted(record_names.union(*borrowed.values()))),
        classes=source,
    )


def _with_list(attribute: Attribute) -> Attribute:
    """Return a list attribute in the form that constructors accept lists for; others as they are."""
    match = LIST.fullmatch(attribute.type)
    if match is None:
        return attribute
    default = "NO_ITEMS" if attribute.default == "()" else attribute.default
    return replace(attribute, type=f"ListOf[{match[1]}]", default=default)


def _struct_text(struct: StructType) -> str:
    lines = [call("@api_type", _mark(struct.api, struct.name))] if struct.api else []
    base = "StructWithLists" if any("ListOf[" in member.type for member in struct.attributes) else "msgspec.Struct"
    lines.append(call(f"class {struct.name}", (base, *_ARGUMENTS), end=":"))
    lines.append(docstring(struct.doc or f"{struct.name}.", indent="    "))
    if struct.attributes:
        lines.append("")
    for attribute in struct.attributes:
        lines.append(_assignment(f"    {attribute.name}: {attribute.type} = ", attribute))
        if attribute.doc:
            lines.append(docstring(attribute.doc, indent="    "))
    return "\n".join(lines)


def _assignment(head: str, attribute: Attribute) -> str:
    arguments = [f"default_factory={attribute.factory}"] if attribute.factory else [f"default={attribute.default}"]
    if camel(attribute.name) != attribute.json_name:
        arguments.append(f"name={quoted(attribute.json_name)}")
    elif not attribute.factory:
        return head + attribute.default
    return call(f"{head.removeprefix('    ')}msgspec.field", arguments, indent="    ")


def _mark(api: ApiType, name: str) -> list[str]:
    """Return the arguments of `@api_type` on the class `name`, without those that are the default."""
    plain = ApiType(group="", version="", kind=name, plural=plural_of(name.lower()), singular=name.lower())
    arguments = [("group", api.group), ("version", api.version)]
    words = ("plural", "kind", "singular", "list_kind", "scope", "status")
    arguments += [(word, value) for word in words if (value := getattr(api, word)) != getattr(plain, word)]
    mark = [f"{word}={literal(value)}" for word, value in arguments]
    mark += ["partial=True"] if api.partial else []
    if api.scale is not None:
        paths = (api.scale.spec_path, api.scale.status_path, api.scale.selector_path)
        mark.append(f"scale=ScaleSubresource({', '.join(quoted(path) for path in paths if path)})")
    possible = ALL_VERBS if api.status else [verb for verb in ALL_VERBS if verb not in STATUS_VERBS]
    lists = [("verbs=", api.verbs)] if set(possible) - set(api.verbs) else []
    lists += [
        (head, names) for head, names in (("short_names=", api.short_names), ("categories=", api.categories)) if names
    ]
    return mark + [f"{head}{literal(values, indent=4, used=4 + len(head))}" for head, values in lists]
