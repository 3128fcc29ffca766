"""REST mapper: finds the resource of a kind, and the kind of a resource, by discovery (client-go's RESTMapper).

    mapper = RestMapper(clientset.discovery)
    found = mapper.mapping("Deployment", "apps")
    clientset.resource(found.resource, "default", kind=found.kind.kind, namespaced=found.namespaced)

Results of discovery are cached, and requested again for a kind that is not found.
"""

import threading
from collections.abc import Callable

import msgspec

from clientgo.errors import NotFound
from clientgo.internal.forks import fork_safe
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource
from clientgo.typed.discovery import Discovery, ServedResource

Wanted = Callable[[ServedResource], bool]


class NoMatch(LookupError):
    """The server does not have the kind or resource, according to current discovery."""


class RestMapping(msgspec.Struct, frozen=True):
    """A kind, its resource, and whether its objects are namespaced."""

    kind: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool


class RestMapper:
    """Finds mappings; thread-safe.

    The resources of a group version are requested at the first use and cached. If a kind is not found, the cache is
    refreshed once, because CRDs may be added at any time. A removed kind may be found until `reset`.
    """

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._lock = fork_safe(threading.Lock())
        # Guarded by _lock, which is not held during requests.
        self._versions: dict[str, tuple[str, ...]] = {}
        self._served: dict[str, list[ServedResource]] = {}

    def __repr__(self) -> str:
        with self._lock:
            return f"<RestMapper of {len(self._served)} versions>"

    def reset(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._versions.clear()
            self._served.clear()

    def mapping(self, kind: str, group: str = "", version: str = "") -> RestMapping:
        """Return the mapping of a kind; without a version, the first in the server's order that has it.

        Raises:
            NoMatch: the server does not have it.
            ApiError, ConnectionFailed: discovery failed.
        """
        scope = f'version "{_api_version(group, version)}"' if version else f'group "{group}"'
        mapping = self._find(group, version, lambda served: served.kind == kind and not served.is_subresource)
        if mapping is None:
            raise NoMatch(f'no matches for kind "{kind}" in {scope}')
        return mapping

    def by_resource(self, resource: GroupVersionResource) -> RestMapping:
        """Return the mapping of a resource, given by its plural, its singular or a short name.

        Raises:
            NoMatch: the server does not have it.
            ApiError, ConnectionFailed: discovery failed.
        """
        name = resource.resource
        mapping = self._find(
            resource.group,
            resource.version,
            lambda served: name in (served.name, served.singular_name, *(served.short_names or ())),
        )
        if mapping is None:
            raise NoMatch(f"no matches for {resource}")
        return mapping

    def _find(self, group: str, version: str, matches: Wanted) -> RestMapping | None:
        refreshed: set[str] = set()
        mapping = self._search(group, version, matches, refreshed)
        if mapping is None:
            # Refresh the cached entries, except those requested just now.
            self._forget(group, version, keep=refreshed)
            mapping = self._search(group, version, matches, refreshed)
        return mapping

    def _search(self, group: str, version: str, matches: Wanted, refreshed: set[str]) -> RestMapping | None:
        for each in (version,) if version else self._versions_of(group, refreshed):
            for served in self._resources(_api_version(group, each), refreshed):
                if matches(served):
                    return _mapping(group, each, served)
        return None

    def _versions_of(self, group: str, refreshed: set[str]) -> tuple[str, ...]:
        key = f"group {group}"
        with self._lock:
            versions = self._versions.get(group)
        if versions is not None or key in refreshed:
            return versions or ()
        refreshed.add(key)
        try:
            versions = self._discovery.group(group).versions
        except NotFound:
            return ()
        with self._lock:
            self._versions[group] = versions
        return versions

    def _resources(self, api_version: str, refreshed: set[str]) -> list[ServedResource]:
        with self._lock:
            resources = self._served.get(api_version)
        if resources is not None or api_version in refreshed:
            return resources or []
        refreshed.add(api_version)
        try:
            resources = self._discovery.resources(api_version)
        except NotFound:
            return []
        with self._lock:
            self._served[api_version] = resources
        return resources

    def _forget(self, group: str, version: str, *, keep: set[str]) -> None:
        with self._lock:
            versions = (version,) if version else self._versions.get(group, ())
            for api_version in (_api_version(group, each) for each in versions):
                if api_version not in keep:
                    self._served.pop(api_version, None)
            if f"group {group}" not in keep:
                self._versions.pop(group, None)


def _api_version(group: str, version: str) -> str:
    return f"{group}/{version}" if group else version


def _mapping(group: str, version: str, served: ServedResource) -> RestMapping:
    kind = GroupVersionKind(served.group or group, served.version or version, served.kind)
    return RestMapping(kind, GroupVersionResource(group, version, served.name), served.namespaced)
