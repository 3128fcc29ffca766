"""Types of third-party kinds, and the records that clients and apply configurations are generated from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clientgo.codegen.inputs.crds import ForeignKind
from clientgo.codegen.model import STATUS_VERBS, Kind, group_names
from clientgo.codegen.names import identifier
from clientgo.codegen.render.schematypes import SchemaTypes, class_name
from clientgo.codegen.render.source import import_line, mentioned, names_list, quoted, tuple_text
from clientgo.codegen.render.structs import StructType, struct_text
from clientgo.codegen.render.templatefiles import Layout, Text, fill, import_block
from clientgo.meta.scheme import ALL_VERBS, ApiType

STANDARD = {"collections.abc": ("Mapping",), "datetime": ("datetime",), "typing": ("Any",)}
_OURS = {
    "clientgo.meta.objects": (
        "EMPTY_MAP",
        "NO_ITEMS",
        "ListOf",
        "ObjectMeta",
        "StructWithLists",
        "no_entries",
        "no_items",
    ),
    "clientgo.meta.scheme": ("ScaleSubresource", "api_type"),
}


@dataclass(frozen=True, slots=True)
class ForeignGroup:
    """Kinds of one group version, and the records of their classes."""

    module: str
    kinds: tuple[Kind, ...]
    records: Mapping[str, StructType]

    def text(self) -> Text:
        """Return the module that defines the classes."""
        api = self.kinds[0].api
        classes = "\n\n\n".join(struct_text(record) for record in self.records.values())
        standard = "\n".join(import_line(name, used) for name, used in used_names(classes).items())
        ours = [(name, mentioned(classes, names)) for name, names in _OURS.items()]
        block = import_block(ours, Layout(package=""), whole=["msgspec"] if "msgspec." in classes else [])
        body = fill(
            "types",
            api_version=f"{api.group}/{api.version}",
            imports="\n\n".join(part for part in (standard, block) if part),
            names=names_list(self.records),
            classes=classes,
        )
        return Text(self.module, body, tuple(sorted({kind.source for kind in self.kinds})))


def used_names(classes: str) -> dict[str, list[str]]:
    """Return the names of the standard library that a source uses, by module."""
    return {name: used for name, names in STANDARD.items() if (used := mentioned(classes, names))}


def foreign_groups(found: Iterable[ForeignKind], own_groups: Iterable[str], package: str) -> Iterator[ForeignGroup]:
    """Yield the kinds by group version; `own_groups` are the groups of own kinds in the same package."""
    groups: dict[tuple[str, str], list[ForeignKind]] = {}
    for kind in found:
        groups.setdefault((kind.api.group, kind.api.version), []).append(kind)
    names = group_names({*own_groups, *(group for group, _ in groups)})
    for (group, version), members in sorted(groups.items()):
        module = f"{package}.types.{names[group]}_{identifier(version)}"
        types = SchemaTypes(class_name(member.api.kind) for member in members)
        for member in sorted(members, key=lambda member: member.api.kind):
            types.kind(class_name(member.api.kind), member.schema, _mark(member.api))
        kinds = tuple(
            Kind(api=member.api, class_name=class_name(member.api.kind), module=module, source=member.source)
            for member in members
        )
        yield ForeignGroup(module, kinds, types.records)


def _mark(api: ApiType) -> tuple[str, ...]:
    mark = [f"group={quoted(api.group)}", f"version={quoted(api.version)}", f"plural={quoted(api.plural)}"]
    if class_name(api.kind) != api.kind:
        mark.append(f"kind={quoted(api.kind)}")
    if api.singular != api.kind.lower():
        mark.append(f"singular={quoted(api.singular)}")
    if not api.namespaced:
        mark.append('scope="Cluster"')
    if not api.status:
        mark.append("status=False")
    if api.scale is not None:
        paths = (api.scale.spec_path, api.scale.status_path, api.scale.selector_path)
        mark.append(f"scale=ScaleSubresource({', '.join(quoted(path) for path in paths if path)})")
    if set(api.verbs) != set(ALL_VERBS) - (set() if api.status else set(STATUS_VERBS)) and api.verbs != ALL_VERBS:
        mark.append(tuple_text(api.verbs, prefix="verbs="))
    lists = (("short_names=", api.short_names), ("categories=", api.categories))
    mark += [tuple_text(values, prefix=prefix) for prefix, values in lists if values]
    return tuple(mark)
