"""The kinds as a catalogue shows them: what the CRDs say of each version, and what a hand has said better."""

import re
from collections.abc import Iterable, Iterator

from clientgo.cli.bundle.objects import Object, at, mapping, mappings, text

_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def owned(definitions: Iterable[Object], said: object) -> list[Object]:
    """One description for each version that a CRD serves.

    What is `said` in the base of the same name, kind and version stays; names, descriptions and descriptors that are
    missing there are made from the schema, which has them from the dataclasses' docstrings and `Meta(description=...)`.
    """
    known = {_key(one): one for one in mappings(said)}
    made = [one for definition in definitions for one in _versions(definition)]
    return [_merged(one, known.get(_key(one), {})) for one in sorted(made, key=_key)]


def words(name: str) -> str:
    """`availableReplicas` as `Available Replicas`, `IPPool` as `IP Pool`."""
    parts = _WORDS.findall(name)
    return " ".join(f"{part[0].upper()}{part[1:]}" for part in parts) or name


def _versions(definition: Object) -> Iterator[Object]:
    kind = text(at(definition, "spec.names.kind"))
    for version in mappings(at(definition, "spec.versions")):
        if not version.get("served"):
            continue
        schema = mapping(at(version, "schema.openAPIV3Schema"))
        fields = mapping(schema.get("properties"))
        yield {
            "description": text(schema.get("description")) or f"{words(kind)} is what this operator looks after.",
            "displayName": words(kind),
            "kind": kind,
            "name": text(at(definition, "metadata.name")),
            "specDescriptors": list(_descriptors(fields.get("spec"))),
            "statusDescriptors": list(_descriptors(fields.get("status"))),
            "version": text(version.get("name")),
        }


def _descriptors(schema: object) -> Iterator[Object]:
    for name, field in sorted(mapping(mapping(schema).get("properties")).items()):
        described = {"description": field["description"]} if mapping(field).get("description") else {}
        yield {**described, "displayName": words(name), "path": name}


def _merged(made: Object, said: Object) -> Object:
    result = {**made, **said}
    for name in ("specDescriptors", "statusDescriptors"):
        own = {text(one.get("path")): one for one in mappings(said.get(name))}
        others = [{**one, **own.pop(one["path"], {})} for one in made[name]]
        result[name] = [*others, *own.values()]
        if not result[name]:
            del result[name]
    return result


def _key(description: Object) -> tuple[str, str, str]:
    return text(description.get("name")), text(description.get("kind")), text(description.get("version"))
