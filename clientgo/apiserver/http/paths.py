"""The URL grammar: what a path under /api or /apis names.

`/api/{version}` and `/apis/{group}/{version}` are followed by an optional `namespaces/{namespace}`, a resource, a name
and a subresource. `/watch/` before these is the old spelling of `?watch=true`.
"""

from dataclasses import dataclass

from clientgo.apiserver.memoize import remembered


@dataclass(frozen=True, slots=True)
class Target:
    """What a resource path names; parts that are not there are empty."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str
    watch: bool = False


# Each request is asked for its path twice and more, and creations of one kind share theirs.
@remembered(texts=1024, longest=512)
def parse_path(path: str) -> Target | None:
    """What the path names, or None if it is no path of a resource (discovery, health, nonsense)."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    if "" in rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not _namespace_subresource(group, rest):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:
        # Only proxies have longer paths, and those lead to kubelets and pods, which are not here.
        return None
    rest = [*rest, "", ""]
    return Target(group, version, namespace, rest[0], rest[1], rest[2], watch)


def _namespace_subresource(group: str, rest: list[str]) -> bool:
    return group == "" and len(rest) == 3 and rest[2] in ("status", "finalize")
