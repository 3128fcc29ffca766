"""Records of generated struct classes, and their source.

Inputs without Python classes, such as CRDs and the models of the official client, describe the classes to generate with
these records.
"""

import re
from dataclasses import dataclass, replace

from clientgo.codegen.names import camel
from clientgo.codegen.render.source import call, docstring, quoted

_ARGUMENTS = ("frozen=True", "kw_only=True", 'rename="camel"', "omit_defaults=True", "gc=False")
"""gc=False: frozen values of tuples and maps cannot form cycles, and every full collection would otherwise traverse a
cache of a million of them."""

LIST = re.compile(r"tuple\[(.*), \.\.\.\]")
"""Source of an annotation of a list."""


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
    """A class to define."""

    name: str
    doc: str
    attributes: tuple[Attribute, ...]
    mark: tuple[str, ...] = ()
    """Source of the arguments of `@api_type`; empty for a class that is not a kind."""


def struct_text(struct: StructType) -> str:
    """Return the source of a class."""
    lines = [call("@api_type", struct.mark)] if struct.mark else []
    base = "StructWithLists" if any(LIST.fullmatch(one.type) for one in struct.attributes) else "msgspec.Struct"
    lines.append(call(f"class {struct.name}", (base, *_ARGUMENTS), end=":"))
    lines.append(docstring(struct.doc or f"{struct.name}.", indent="    "))
    if struct.attributes:
        lines.append("")
    for attribute in struct.attributes:
        lines += _attribute_lines(attribute)
    return "\n".join(lines)


def _attribute_lines(attribute: Attribute) -> list[str]:
    attribute = _list_attribute(attribute)
    head = f"    {attribute.name}: {attribute.type} = "
    lines = [_assignment(head, attribute)]
    if attribute.doc:
        lines.append(docstring(attribute.doc, indent="    "))
    return lines


def _list_attribute(attribute: Attribute) -> Attribute:
    """Return a list attribute in the form that constructors accept lists for; others as they are."""
    found = LIST.fullmatch(attribute.type)
    if found is None:
        return attribute
    default = "NO_ITEMS" if attribute.default == "()" else attribute.default
    return replace(attribute, type=f"ListOf[{found[1]}]", default=default)


def _assignment(head: str, attribute: Attribute) -> str:
    arguments = [f"default_factory={attribute.factory}"] if attribute.factory else [f"default={attribute.default}"]
    if camel(attribute.name) != attribute.json_name:
        arguments.append(f"name={quoted(attribute.json_name)}")
    elif not attribute.factory:
        return head + attribute.default
    return call(f"{head.removeprefix('    ')}msgspec.field", arguments, indent="    ")
