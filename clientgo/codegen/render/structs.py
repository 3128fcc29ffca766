"""Struct classes as records, and the text of a module that defines them.

The front ends that have no Python classes to begin with (the official client's models now; a CRD's schema would be the
same) describe the classes to make with these records.
"""

from dataclasses import dataclass

from clientgo.codegen.names import camel
from clientgo.codegen.render.source import call, docstring, quoted

STRUCT_BASES = ("msgspec.Struct", "frozen=True", "kw_only=True", 'rename="camel"', "omit_defaults=True", "gc=False")
"""gc=False: a frozen value made of tuples and maps can't be part of a cycle, and a cache of a million of them would
otherwise be walked by every full collection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute: its annotation as text, and its default as an expression or as a factory's name."""

    name: str
    json_name: str
    type: str
    default: str = "None"
    factory: str = ""
    doc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructType:
    """One class to define."""

    name: str
    doc: str
    attributes: tuple[Attribute, ...]
    mark: tuple[str, ...] = ()
    """Arguments of `@api_type`, as text; empty for a class that is no kind of its own."""


def struct_text(struct: StructType) -> str:
    """The class definition."""
    lines = [call("@api_type", struct.mark)] if struct.mark else []
    lines.append(call(f"class {struct.name}", STRUCT_BASES, end=":"))
    lines.append(docstring(struct.doc or f"{struct.name}.", indent="    "))
    if struct.attributes:
        lines.append("")
    for attribute in struct.attributes:
        lines += _attribute_lines(attribute)
    return "\n".join(lines)


def _attribute_lines(attribute: Attribute) -> list[str]:
    head = f"    {attribute.name}: {attribute.type} = "
    lines = [_assignment(head, attribute)]
    if attribute.doc:
        lines.append(docstring(attribute.doc, indent="    "))
    return lines


def _assignment(head: str, attribute: Attribute) -> str:
    arguments = [f"default_factory={attribute.factory}"] if attribute.factory else [f"default={attribute.default}"]
    if camel(attribute.name) != attribute.json_name:
        arguments.append(f"name={quoted(attribute.json_name)}")
    elif not attribute.factory:
        return head + attribute.default
    return call(f"{head.removeprefix('    ')}msgspec.field", arguments, indent="    ")
