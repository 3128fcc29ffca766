"""Classes to the texts of their apply configurations: the same fields, none of which need be given.

Works on records of classes (`StructType`), whichever front end made them, and on their annotations as text.
"""

import re
from collections.abc import Collection, Iterable

from clientgo.codegen.source import WIDTH, call, camel, docstring, quoted
from clientgo.codegen.structs import Attribute, StructType

SUFFIX = "ApplyConfiguration"
RUNTIME = "clientgo.meta.applyconfiguration"

_STRING = re.compile(r'"""[^\n]*"""|"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'")


def apply_class(struct: StructType, known: Collection[str], *, kind: str = "") -> str:
    """The definition of a class' configuration; `known` are the classes that have one, `kind` is the class' name when
    it is a kind of its own."""
    base = f"ObjectApplyConfiguration[{kind}]" if kind else SUFFIX
    lines = [call(f"class {struct.name}{SUFFIX}", [base, "frozen=True", "kw_only=True"], end=":")]
    lines += [docstring("What an apply sets; a field that is not given is left alone.", indent="    "), ""]
    if kind:
        lines += [f"    kind = {kind}", ""]
    lines += [_field(attribute, known) for attribute in struct.attributes]
    return "\n".join(lines).rstrip()


def _field(attribute: Attribute, known: Collection[str]) -> str:
    # A field that must be given and may be null is given as null; null says nothing of any other.
    hint = apply_hint(attribute.type if attribute.default == "" else attribute.type.removesuffix(" | None"), known)
    head = f"    {attribute.name}: {hint} | UnsetType = "
    if camel(attribute.name) != attribute.json_name:
        value = f"default=UNSET, name={quoted(attribute.json_name)}"
        return call(f"{head.removeprefix('    ')}msgspec.field", [value], indent="    ")
    if len(head) + len("UNSET") <= WIDTH:
        return f"{head}UNSET"
    # As the formatter breaks it: behind the equals sign where that is enough.
    if len(head) + 1 <= WIDTH:
        return f"{head}(\n        UNSET\n    )"
    return f"    {attribute.name}: (\n        {hint} | UnsetType\n    ) = UNSET"


def apply_hint(text: str, known: Collection[str]) -> str:
    """An annotation with the classes of `known` replaced by their configurations."""
    return re.sub(r"\b[A-Z]\w*\b", lambda found: found[0] + SUFFIX if found[0] in known else found[0], text)


def runtime_names(classes: str) -> list[str]:
    """Which of the runtime's names a text uses."""
    names = (SUFFIX, f"Object{SUFFIX}", f"ObjectMeta{SUFFIX}")
    return [name for name in names if re.search(rf"\b{name}\b", classes)]


def mentioned(text: str, names: Iterable[str]) -> list[str]:
    """Which of `names` a text uses, not counting its strings."""
    words = set(re.findall(r"\w+", _STRING.sub("", text)))
    return [name for name in names if name in words]
