"""Source of apply configurations: the fields of a class, all optional.

The input is records of classes (`StructType`) with the source of their annotations.
"""

import dataclasses
import enum
import re
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from clientgo.codegen.inputs.fields import members, unwrap
from clientgo.codegen.model import GroupVersion, group_versions
from clientgo.codegen.model import Kind as KindRecord
from clientgo.codegen.names import camel
from clientgo.codegen.render.source import WIDTH, Code, call, docstring, import_line, literal, names_list, quoted
from clientgo.codegen.render.structs import LIST, Attribute, StructType
from clientgo.codegen.render.templatefiles import Layout, Text, fill, import_block
from clientgo.codegen.render.thirdparty import ForeignGroup, used_names
from clientgo.meta.objects import ManagedFieldsEntry, MicroTime, ObjectMeta, OwnerReference

SUFFIX = "ApplyConfiguration"
RUNTIME = "clientgo.meta.applyconfiguration"


def apply_class(struct: StructType, known: Collection[str], *, kind: str = "") -> str:
    """Render the apply configuration of a class.

    `known` are the classes that have a configuration; `kind` is the class' name if it is a kind.
    """
    base = f"ObjectApplyConfiguration[{kind}]" if kind else SUFFIX
    lines = [call(f"class {struct.name}{SUFFIX}", [base, "frozen=True", "kw_only=True"], end=":")]
    lines += [docstring("Fields to apply; unset fields are not changed.", indent="    "), ""]
    if kind:
        lines += [f"    kind = {kind}", ""]
    lines += [_field(attribute, known) for attribute in struct.attributes]
    return "\n".join(lines).rstrip()


def _field(attribute: Attribute, known: Collection[str]) -> str:
    # Only a required nullable field can be applied as null.
    hint = apply_hint(attribute.type if attribute.default == "" else attribute.type.removesuffix(" | None"), known)
    found = LIST.fullmatch(hint)
    hint, unset = (f"ListOrUnset[{found[1]}]", "NO_LIST") if found else (f"{hint} | UnsetType", "UNSET")
    head = f"    {attribute.name}: {hint} = "
    if camel(attribute.name) != attribute.json_name:
        value = f"default={unset}, name={quoted(attribute.json_name)}"
        return call(f"{head.removeprefix('    ')}msgspec.field", [value], indent="    ")
    if len(head) + len(unset) <= WIDTH:
        return f"{head}{unset}"
    # Broken like the formatter does: after the equals sign if that suffices.
    if len(head) + 1 <= WIDTH:
        return f"{head}(\n        {unset}\n    )"
    return f"    {attribute.name}: (\n        {hint}\n    ) = {unset}"


def apply_hint(text: str, known: Collection[str]) -> str:
    """Return an annotation with the classes of `known` replaced by their configurations."""
    return re.sub(r"\b[A-Z]\w*\b", lambda found: found[0] + SUFFIX if found[0] in known else found[0], text)


def runtime_names(classes: str) -> list[str]:
    """Return the runtime's names that a source uses."""
    names = ("NO_LIST", SUFFIX, "ListOrUnset", f"Object{SUFFIX}", f"ObjectMeta{SUFFIX}")
    return [name for name in names if re.search(rf"\b{name}\b", classes)]


_STANDARD = ("collections.abc", "datetime", "typing")


def apply_texts(
    classes: Mapping[KindRecord, type[Any]], foreign: Iterable[ForeignGroup], layout: Layout
) -> Iterator[Text]:
    """Yield all modules of apply configurations, for own and third-party kinds."""
    records = {kind: group.records for group in foreign for kind in group.kinds}
    groups = group_versions(kind for kind in (*classes, *records) if "apply" in kind.api.verbs)
    yield from _package(groups, layout)
    for group in groups:
        reader = ClassReader()
        names = {reader.read(classes[kind]): kind for kind in group.kinds if kind in classes}
        found, imports = dict(reader.records), {module: set(of) for module, of in reader.imports.items()}
        for kind in group.kinds:
            if kind in records:
                names[kind.class_name] = kind
                found.update(records[kind])
        texts = " ".join(attribute.type for record in found.values() for attribute in record.attributes)
        for module, used in used_names(texts).items():
            imports.setdefault(module, set()).update(used)
        yield apply_module(group, found.values(), names, layout, imports)


def _package(groups: Iterable[GroupVersion], layout: Layout) -> Iterator[Text]:
    sources = tuple(sorted({source for group in groups for source in group.sources}))
    if sources:
        package = layout.module("applyconfigurations")
        doc = "Apply configurations for server-side apply."
        places = {kind: f"{package}.{group.module}" for group in groups for kind in group.kinds}
        yield Text(package, package_text(doc, places, layout), sources, is_package=True)


def package_text(doc: str, places: Mapping[KindRecord, str], layout: Layout) -> str:
    """Return the package's source, which maps kinds to configurations; `places` are their modules."""
    head = "KINDS = "
    table = {
        Code(f"GroupVersionKind({quoted(api.group)}, {quoted(api.version)}, {quoted(api.kind)})"): (
            f"{module}:{kind.class_name}{SUFFIX}"
        )
        for kind, module in places.items()
        for api in (kind.api,)
    }
    imports = [(RUNTIME, ["ObjectApplyConfiguration", "configuration_at"]),
               ("clientgo.meta.objects", ["GroupVersionKind"])]  # fmt: skip
    kinds = head + literal(table, used=len(head))
    return fill("applyconfigurations_package", doc=doc, imports=import_block(imports, layout), kinds=kinds)


def apply_module(
    group: GroupVersion,
    records: Iterable[StructType],
    kinds: Mapping[str, KindRecord],
    layout: Layout,
    imports: Mapping[str, Iterable[str]],
) -> Text:
    """Return one module from the records of its classes; `kinds` are the kinds among them."""
    records = sorted(records, key=lambda record: (record.name in kinds, record.name))
    known = {record.name for record in records} | {"ObjectMeta"}
    classes = "\n\n\n".join(apply_class(r, known, kind=r.name if r.name in kinds else "") for r in records)
    standard = [import_line(module, imports[module]) for module in _STANDARD if module in imports]
    local = [(module, names) for module, names in imports.items() if module not in _STANDARD]
    local += [(RUNTIME, runtime_names(classes)), ("msgspec", ["UNSET", "UnsetType"])]
    local += [(kind.module, [kind.class_name]) for kind in kinds.values()]
    blocks = ["\n".join(standard), import_block(local, layout, whole=["msgspec"] if "msgspec.field" in classes else [])]
    body = fill(
        "applyconfigurations",
        api_version=group.api_version,
        imports="\n\n".join(block for block in blocks if block),
        names=names_list(f"{record.name}ApplyConfiguration" for record in records),
        classes=classes,
    )
    return Text(layout.module("applyconfigurations", group.module), body, group.sources)


_PLAIN: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool", bytes: "bytes"}
_BUILT_IN = "clientgo.kubernetes.types."
_RUNTIME = (ObjectMeta, OwnerReference, ManagedFieldsEntry, MicroTime)


class ClassReader:
    """Reads classes and all classes they refer to into records, and collects the imports."""

    def __init__(self) -> None:
        self.classes: dict[str, type[Any]] = {}
        """All classes by name in the generated source."""
        self.records: dict[str, StructType] = {}
        self.imports: dict[str, set[str]] = {}

    def read(self, cls: type[Any]) -> str:
        """Read a class and the classes it refers to; return its name in the generated source."""
        name = self._name(cls)
        if name in self.classes:
            return name
        self.classes[name] = cls
        attributes = tuple(
            Attribute(
                name=member.name,
                json_name=member.json_name,
                type=self.text(member.hint),
                default="" if member.required else "None",
            )
            for member in members(cls)
        )
        self.records[name] = StructType(name=name, doc="", attributes=attributes)
        return name

    def _name(self, cls: type[Any]) -> str:
        if self.classes.get(cls.__name__, cls) is cls:
            return cls.__name__
        # Of two classes with the same name, the second gets the name of its module as prefix.
        module = cls.__module__.rpartition(".")[2]
        return "".join(part[:1].upper() + part[1:] for part in module.split("_")) + cls.__name__

    def text(self, hint: Any) -> str:
        """Return the source of an annotation, without constraints."""
        bare, _, nullable = unwrap(hint)
        text = self._bare(bare)
        return f"{text} | None" if nullable and text != "Any" else text

    def _bare(self, hint: Any) -> str:
        origin, args = get_origin(hint), get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if hint is datetime:
            return self._imported("datetime", "datetime")
        if origin is Literal:
            values = (quoted(value) if isinstance(value, str) else repr(value) for value in args)
            return f"{self._imported('typing', 'Literal')}[{', '.join(values)}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.text(arg) for arg in args)
        if origin in (tuple, list):
            return f"tuple[{self.text(args[0])}, ...]"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return f"{self._imported('collections.abc', 'Mapping')}[str, {self.text(args[1])}]"
        return self._class(hint)

    def _class(self, hint: Any) -> str:
        if not isinstance(hint, type):
            return self._imported("typing", "Any")
        if hint in _RUNTIME:
            return hint.__name__ if hint is ObjectMeta else self._imported(hint.__module__, hint.__name__)
        if issubclass(hint, enum.Enum):
            return self._imported(hint.__module__, hint.__name__)
        if hint.__module__.startswith(_BUILT_IN):
            module = hint.__module__.replace(".types.", ".applyconfigurations.")
            return self._imported(module, f"{hint.__name__}ApplyConfiguration")
        if dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct):
            return self.read(hint)
        return self._imported("typing", "Any")

    def _imported(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name
