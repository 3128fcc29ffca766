"""Kinds to the modules of their apply configurations, one for each version of a group."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clientgo.codegen.applyconfigs import RUNTIME, SUFFIX, apply_class, runtime_names
from clientgo.codegen.hints import ClassReader
from clientgo.codegen.literals import Code, literal
from clientgo.codegen.model import GroupVersion, group_versions
from clientgo.codegen.model import Kind as KindRecord
from clientgo.codegen.source import import_line, names_list, quoted
from clientgo.codegen.structs import StructType
from clientgo.codegen.texts import Layout, Text, fill, import_block
from clientgo.codegen.thirdparty.modules import ForeignGroup, used_names

_STANDARD = ("collections.abc", "datetime", "typing")


def apply_texts(
    classes: Mapping[KindRecord, type[Any]], foreign: Iterable[ForeignGroup], layout: Layout
) -> Iterator[Text]:
    """Every module of apply configurations: for kinds whose classes could be imported, and for others' kinds."""
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
        doc = "Apply configurations: what one manager wants of an object, and nothing else."
        places = {kind: f"{package}.{group.module}" for group in groups for kind in group.kinds}
        yield Text(package, package_text(doc, places, layout), sources, is_package=True)


def package_text(doc: str, places: Mapping[KindRecord, str], layout: Layout) -> str:
    """The package's own module, which finds a configuration by its kind; `places` are the modules they are in."""
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
    """One module, from the records of its classes; `kinds` are those among them that are kinds of their own."""
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
