"""The built-in kinds, from the rows `resource` and `subresource` of the table of Go types.

Words of a resource: `status` and `scale` subresources, `generation` (counted), `returned` (DELETE returns the object),
`versioned` (updates need a resourceVersion), `put-creates`, `no-deletecollection`, `create-only`, and `read-only` (get
and list).
"""

from collections.abc import Iterator
from operator import itemgetter

from clientgo.meta.schema.gotypes import GoType, Section, TypeOptions, parse_options
from clientgo.meta.scheme import ScaleSubresource
from clientgo_apiserver.api.resources import ALL_VERBS, Registry, Resource, ServedSubresource
from clientgo_apiserver.gotypes.table import sections
from clientgo_apiserver.releases.release import cached_by_release, current

_SINGULARS = {"endpoints": "endpoints"}
_STORAGE_VERSIONS = {"autoscaling": "v2", "events.k8s.io": "v1"}
_DEPRECATIONS = {
    "ComponentStatus": "v1 ComponentStatus is deprecated in v1.19+",
    "Endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
_REPLICAS = ScaleSubresource(".spec.replicas", ".status.replicas", ".spec.selector")


def builtin_resources() -> Iterator[Resource]:
    """Yield every built-in resource, in the order of discovery."""
    for section in sections().values():
        kinds = (entry for entry in section.types.values() if "kind" in entry.marks and _is_enabled(entry))
        rows = [(row, kind) for kind in kinds for row in kind.rows("resource")]
        yield from (_resource(section, entry, row) for row, entry in sorted(rows, key=itemgetter(0)))


def _is_enabled(entry: GoType) -> bool:
    return "gate" not in entry.marks or current().enabled(entry.marks["gate"])


def builtin_registry() -> Registry:
    """Return a new registry of the built-in kinds."""
    return _builtin_registry().copy()


@cached_by_release
def _builtin_registry() -> Registry:
    return Registry(builtin_resources())  # 12 ms


def _subresource(row: str) -> ServedSubresource:
    name, kind, verbs = row.split()
    *group_version, kind = kind.split("/")
    return ServedSubresource(name, kind, tuple(verbs.split(",")), *group_version)


def _resource(section: Section, entry: GoType, row: str) -> Resource:
    group, version = section.group, section.version
    plural, scope, words = f"{row} ".split(" ", 2)
    options = parse_options(words)
    verbs = ("create",) if "create-only" in options else ("get", "list") if "read-only" in options else ALL_VERBS
    if "no-deletecollection" in options:
        verbs = tuple(verb for verb in verbs if verb != "deletecollection")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=entry.name,
        singular=_SINGULARS.get(plural, entry.name.lower()),
        list_kind=entry.name + "List",
        namespaced=scope == "namespaced",
        short_names=_listed(options, "short"),
        categories=_listed(options, "categories"),
        verbs=verbs,
        status="status" in options,
        generation="generation" in options,
        unconditional_update="versioned" not in options,
        create_on_update="put-creates" in options,
        returns_deleted="returned" in options,
        scale=_REPLICAS if "scale" in options else None,
        connected=tuple(map(_subresource, entry.rows("subresource"))),
        deprecation=_DEPRECATIONS.get(entry.name, "") if not group else "",
        storage_version=_STORAGE_VERSIONS.get(group, version),
        storage_group="" if group == "events.k8s.io" else None,
        selectable_fields=_listed(options, "select"),
    )


def _listed(options: TypeOptions, name: str) -> tuple[str, ...]:
    return tuple(options[name].split(",")) if name in options else ()
