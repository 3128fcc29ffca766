"""Types of third-party kinds, and the records that clients and apply configurations are generated from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clientgo.codegen.inputs.crds import ForeignKind
from clientgo.codegen.model import Kind, group_names
from clientgo.codegen.names import identifier
from clientgo.codegen.render.schematypes import SchemaTypes, class_name, has_open_root
from clientgo.codegen.render.structs import StructType, types_text
from clientgo.codegen.render.templatefiles import Layout, Text


@dataclass(frozen=True, slots=True)
class ForeignGroup:
    """Kinds of one group version, and the records of their classes."""

    module: str
    kinds: tuple[Kind, ...]
    records: Mapping[str, StructType]

    def text(self) -> Text:
        """Return the module that defines the classes."""
        body = types_text(f"Types of {self.kinds[0].api.api_version}.", self.records.values(), Layout(package=""), {})
        return Text(self.module, body, tuple(sorted({kind.source for kind in self.kinds})))


def foreign_groups(foreign: Iterable[ForeignKind], own_groups: Iterable[str], package: str) -> Iterator[ForeignGroup]:
    """Yield the kinds by group version; `own_groups` are the groups of own kinds in the same package."""
    groups: dict[tuple[str, str], list[ForeignKind]] = {}
    for kind in foreign:
        groups.setdefault((kind.api.group, kind.api.version), []).append(kind)
    names = group_names({*own_groups, *(group for group, _ in groups)})
    for (group, version), members in sorted(groups.items()):
        module = f"{package}.types.{names[group]}_{identifier(version)}"
        types = SchemaTypes(class_name(member.api.kind) for member in members)
        for member in sorted(members, key=lambda member: member.api.kind):
            types.kind(class_name(member.api.kind), member.schema, member.api)
        kinds = tuple(
            Kind(api=member.api, class_name=class_name(member.api.kind), module=module, source=member.source)
            for member in members
        )
        yield ForeignGroup(module, kinds, types.records)


def warnings_about(kind: ForeignKind) -> Iterator[str]:
    """Yield a warning for each field that the class of a kind cannot hold."""
    if has_open_root(kind.schema):
        fields = {"spec", "status", *kind.schema.get("properties", {})} - {"apiVersion", "kind", "metadata"}
        named = ", ".join(["metadata", *sorted(fields)])
        reason = "the schema keeps unknown fields at its root"
        yield (
            f"{kind.source}: warning: {kind.api.kind} of {kind.api.api_version}: the class has no fields beside "
            f"{named}, because {reason}: others cannot be read, and an update keeps them"
        )
