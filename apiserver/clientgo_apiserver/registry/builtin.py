"""The built-in kinds, from `resources.txt`, which describes its format."""

from collections.abc import Iterator

from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.datafiles import read_sections
from clientgo_apiserver.resources import ALL_VERBS, Registry, Resource, ServedSubresource

_SINGULARS = {"endpoints": "endpoints"}
_STORAGE_VERSIONS = {"autoscaling": "v2", "events.k8s.io": "v1"}
_DEPRECATIONS = {
    "ComponentStatus": "v1 ComponentStatus is deprecated in v1.19+",
    "Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
_REPLICAS = ScaleSubresource(".spec.replicas", ".status.replicas", ".spec.selector")


def builtin_resources() -> Iterator[Resource]:
    """Yield every built-in resource, in the order of discovery."""
    for group_version, rows in read_sections(__package__, "resources.txt").items():
        group, _, version = group_version.rpartition("/")
        subresources: dict[str, list[ServedSubresource]] = {}
        for name, *columns in (row.split() for row in rows if "/" in row.split()[0]):
            plural, _, part = name.partition("/")
            subresources.setdefault(plural, []).append(_subresource(part, *columns))
        for row in rows:
            columns = [*row.split(), ""][:7]
            if "/" not in columns[0]:
                yield _resource(group, version, columns, tuple(subresources.get(columns[0], ())))


def builtin_registry() -> Registry:
    """Return a registry of the built-in kinds."""
    return Registry(builtin_resources())


def _subresource(name: str, kind: str, verbs: str) -> ServedSubresource:
    *group_version, kind = kind.split("/")
    return ServedSubresource(name, kind, tuple(verbs.split(",")), *group_version)


def _resource(group: str, version: str, row: list[str], connected: tuple[ServedSubresource, ...]) -> Resource:
    plural, kind, scope, short, categories, flag_text, selectable = row
    flags = flag_text.split(",")
    verbs = ("create",) if "c" in flags else ("get", "list") if "ro" in flags else ALL_VERBS
    if "-dc" in flags:
        verbs = tuple(verb for verb in verbs if verb != "deletecollection")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        singular=_SINGULARS.get(plural, kind.lower()),
        list_kind=kind + "List",
        namespaced=scope == "N",
        short_names=() if short == "-" else tuple(short.split(",")),
        categories=() if categories == "-" else tuple(categories.split(",")),
        verbs=verbs,
        status="s" in flags,
        generation="g" in flags,
        unconditional_update="v" not in flags,
        create_on_update="p" in flags,
        returns_deleted="r" in flags,
        scale=_REPLICAS if "x" in flags else None,
        connected=connected,
        deprecation=_DEPRECATIONS.get(kind, "") if not group else "",
        storage_version=_STORAGE_VERSIONS.get(group, version),
        storage_group="" if group == "events.k8s.io" else None,
        selectable_fields=tuple(filter(None, selectable.split(","))),
    )
