"""Source of apply configurations: the fields of a class, all optional.

The input is records of classes (`StructType`) with the source of their annotations.
"""

import enum
import re
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin

from clientgo.codegen.crd.builtinfacts import is_generated
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.fields import members
from clientgo.codegen.model import GroupVersion, group_versions
from clientgo.codegen.model import Kind as KindRecord
from clientgo.codegen.names import class_case
from clientgo.codegen.render.source import WIDTH, Code, assignment, call, docstring, literal, quoted
from clientgo.codegen.render.structs import LIST, Attribute, StructType
from clientgo.codegen.render.templatefiles import Layout, Text, fill, import_block, joined, used_imports
from clientgo.codegen.render.thirdparty import ForeignGroup
from clientgo.meta.classes.check import has_fields
from clientgo.meta.classes.hints import camel, unwrap
from clientgo.meta.objects import ManagedFieldsEntry, MicroTime, ObjectMeta, OwnerReference

SUFFIX = "ApplyConfiguration"
RUNTIME = "clientgo.meta.applyconfiguration"


def apply_text(
    title: str,
    records: Sequence[StructType],
    kinds: Mapping[str, str],
    layout: Layout,
    *,
    nested: Iterable[str] = (),
    borrowed: Mapping[str, Iterable[str]],
    lent: Iterable[str] = (),
) -> str:
    """Return a module of apply configurations; `kinds` are the modules of the kinds among the records.

    `nested` are classes of other modules that have a configuration, too. Names of `borrowed` are imported if they are
    used, configurations in `lent` are offered in any case.
    """
    configured = {"ObjectMeta", *nested, *(record.name for record in records)}
    code = joined((_class(record, configured, is_kind=record.name in kinds) for record in records), blank_lines=2)
    places: dict[str, Iterable[str]] = {
        "clientgo.meta.objects": {"Time", *(runtime_class.__name__ for runtime_class in _RUNTIME)} - configured,
        RUNTIME: ("NO_LIST", SUFFIX, "ListOrUnset", f"Object{SUFFIX}", f"ObjectMeta{SUFFIX}"),
        "msgspec": ("UNSET", "UnsetType"),
        **borrowed,
    }
    more = [(module, {name}) for name, module in kinds.items()]
    more += [(module, set(names) & set(lent)) for module, names in borrowed.items()]
    return fill(
        "applyconfigurations",
        title=title,
        imports=used_imports(code, places, layout, more=more, modules=["msgspec"] if "msgspec.field" in code else []),
        names=assignment("__all__ = ", sorted({*lent, *(f"{record.name}{SUFFIX}" for record in records)})),
        classes=code,
    )


def _class(struct: StructType, configured: Collection[str], *, is_kind: bool) -> str:
    base = f"Object{SUFFIX}[{struct.name}]" if is_kind else SUFFIX
    lines = [call(f"class {struct.name}{SUFFIX}", [base, "frozen=True", "kw_only=True"], end=":")]
    lines += [docstring("Fields to apply; unset fields are not changed.", indent="    "), ""]
    if is_kind:
        lines += [f"    kind = {struct.name}", ""]
    lines += [_field(attribute, configured) for attribute in struct.attributes]
    return "\n".join(lines).rstrip()


def _field(attribute: Attribute, configured: Collection[str]) -> str:
    # Only a required nullable field can be applied as null.
    plain = attribute.type if attribute.default == "" else attribute.type.removesuffix(" | None")
    hint = re.sub(r"\b[A-Z]\w*\b", lambda match: match[0] + SUFFIX if match[0] in configured else match[0], plain)
    match = LIST.fullmatch(hint)
    hint, unset = (f"ListOrUnset[{match[1]}]", "NO_LIST") if match else (f"{hint} | UnsetType", "UNSET")
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


def apply_texts(own_kinds: Sequence[OwnKind], foreign: Iterable[ForeignGroup], layout: Layout) -> Iterator[Text]:
    """Yield all modules of apply configurations, for own and third-party kinds."""
    records = {kind: group.records for group in foreign for kind in group.kinds}
    groups = group_versions(kind for kind in (*own_kinds, *records) if "apply" in kind.api.verbs)
    yield from _package(groups, layout)
    for group in groups:
        reader = ClassReader()
        kinds = {reader.read(kind.cls): kind.module for kind in group.kinds if isinstance(kind, OwnKind)}
        read_records = dict(reader.records)
        for kind in group.kinds:
            if kind in records:
                kinds[kind.class_name] = kind.module
                read_records.update(records[kind])
        ordered = sorted(read_records.values(), key=lambda record: (record.name in kinds, record.name))
        title = f"Apply configurations for {group.api_version}."
        body = apply_text(title, ordered, kinds, layout, borrowed=reader.imports)
        yield Text(layout.module("applyconfigurations", group.module), body, group.sources)


def _package(groups: Iterable[GroupVersion], layout: Layout) -> Iterator[Text]:
    sources = tuple(sorted({source for group in groups for source in group.sources}))
    if sources:
        package = layout.module("applyconfigurations")
        doc = "Apply configurations for server-side apply."
        places = {kind: f"{package}.{group.module}" for group in groups for kind in group.kinds}
        yield Text(package, package_text(doc, places, layout), sources, is_package=True)


def package_text(doc: str, places: Mapping[KindRecord, str], layout: Layout) -> str:
    """Return the package's source, which maps kinds to configurations; `places` are their modules."""
    table = {
        Code(f"GroupVersionKind({quoted(api.group)}, {quoted(api.version)}, {quoted(api.kind)})"): (
            f"{module}:{kind.class_name}{SUFFIX}"
        )
        for kind, module in places.items()
        for api in (kind.api,)
    }
    imports = [(RUNTIME, ["ObjectApplyConfiguration", "configuration_at"]),
               ("clientgo.meta.objects", ["GroupVersionKind"])]  # fmt: skip
    kinds = assignment("KINDS = ", table)
    return fill("applyconfigurations_package", doc=doc, imports=import_block(imports, layout), kinds=kinds)


_RUNTIME = (OwnerReference, ManagedFieldsEntry, MicroTime)
_PLAIN: dict[Any, str] = {
    **{kind: kind.__name__ for kind in (str, int, float, bool, bytes, ObjectMeta, *_RUNTIME)}, datetime: "Time",
}  # fmt: skip


class ClassReader:
    """Reads classes and all classes they refer to into records, and collects the imports."""

    def __init__(self) -> None:
        self.classes: dict[str, type[Any]] = {}
        """All classes by name in the generated source."""
        self.records: dict[str, StructType] = {}
        self.imports: dict[str, set[str]] = {}

    def read(self, cls: type[Any]) -> str:
        """Read a class and the classes it refers to; return its name in the generated source."""
        name = cls.__name__
        if self.classes.get(name, cls) is not cls:
            # Of two classes with the same name, the second gets the name of its module as prefix.
            name = class_case(cls.__module__.rpartition(".")[2]) + name
        if name not in self.classes:
            self.classes[name] = cls
            attributes = tuple(
                Attribute(
                    name=m.name, json_name=m.json_name, type=self.text(m.hint), default="" if m.required else "None"
                )
                for m in members(cls)
            )
            self.records[name] = StructType(name=name, doc="", attributes=attributes)
        return name

    def text(self, hint: Any) -> str:
        """Return the source of an annotation, without constraints."""
        bare, _, nullable = unwrap(hint)
        text = self._bare(bare)
        return f"{text} | None" if nullable and text != "Any" else text

    def _bare(self, hint: Any) -> str:
        origin, args = get_origin(hint), get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if origin is Literal:
            return f"{self._imported('typing', 'Literal')}[{', '.join(map(literal, args))}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.text(arg) for arg in args)
        if origin in (tuple, list):
            return f"tuple[{self.text(args[0])}, ...]"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return f"Mapping[str, {self.text(args[1])}]"
        return self._class(hint) if isinstance(hint, type) else "Any"

    def _class(self, hint: type[Any]) -> str:
        if is_generated(hint):
            module = hint.__module__.replace(".types.", ".applyconfigurations.")
            return self._imported(module, f"{hint.__name__}{SUFFIX}")
        if issubclass(hint, enum.Enum):
            return self._imported(hint.__module__, hint.__name__)
        return self.read(hint) if has_fields(hint) else "Any"

    def _imported(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name
