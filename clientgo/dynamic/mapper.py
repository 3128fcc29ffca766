"""From a kind to the resource it is served as, and back, as the server says (client-go's RESTMapper).

mapper = RestMapper(clientset.discovery)
found = mapper.mapping("Deployment", "apps")
clientset.resource(found.resource, "default", kind=found.kind.kind, namespaced=found.namespaced)
"""

import threading
from collections.abc import Callable

import msgspec

from clientgo.errors import NotFound
from clientgo.meta.objects import GroupVersionKind, GroupVersionResource
from clientgo.typed.discovery import Discovery, ServedResource

Wanted = Callable[[ServedResource], bool]


class NoMatch(LookupError):
    """The server serves no such kind or resource, by its own words of just now."""


class RestMapping(msgspec.Struct, frozen=True):
    """A kind, the resource it is served as, and whether its objects live in namespaces."""

    kind: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool


class RestMapper:
    """Finds mappings; safe for any number of threads.

    A version of a group is asked for when it is first needed, and remembered. What is not found in what is remembered
    is looked for once more at the server, because kinds come while a program runs. A kind that was served and is no
    more is still found, until `reset`.
    """

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._lock = threading.Lock()
        # Below: guarded by _lock, which is not held while the server is asked.
        self._versions: dict[str, tuple[str, ...]] = {}
        self._served: dict[str, list[ServedResource]] = {}

    def __repr__(self) -> str:
        with self._lock:
            return f"<RestMapper of {len(self._served)} versions>"

    def reset(self) -> None:
        """Forget what the server said."""
        with self._lock:
            self._versions.clear()
            self._served.clear()

    def mapping(self, kind: str, group: str = "", version: str = "") -> RestMapping:
        """The mapping of a kind; without a version, in the first of the group's that has it, the preferred one first.

        Raises:
            NoMatch: it is not served.
            ApiError, ConnectionFailed: the server refuses to say, or can't be asked.
        """
        where = f'version "{_api_version(group, version)}"' if version else f'group "{group}"'
        found = self._find(group, version, lambda served: served.kind == kind and not served.is_subresource)
        if found is None:
            raise NoMatch(f'no matches for kind "{kind}" in {where}')
        return found

    def by_resource(self, resource: GroupVersionResource) -> RestMapping:
        """The mapping of a resource, named by its plural, its singular or a short name.

        Raises:
            NoMatch: it is not served.
            ApiError, ConnectionFailed: the server refuses to say, or can't be asked.
        """
        name = resource.resource
        found = self._find(
            resource.group,
            resource.version,
            lambda served: name in (served.name, served.singular_name, *(served.short_names or ())),
        )
        if found is None:
            raise NoMatch(f"no matches for {resource}")
        return found

    def _find(self, group: str, version: str, wanted: Wanted) -> RestMapping | None:
        asked: set[str] = set()
        found = self._search(group, version, wanted, asked)
        if found is None:
            # What the server said just now is not asked for again; what it said long ago is.
            self._forget(group, version, keep=asked)
            found = self._search(group, version, wanted, asked)
        return found

    def _search(self, group: str, version: str, wanted: Wanted, asked: set[str]) -> RestMapping | None:
        for each in (version,) if version else self._versions_of(group, asked):
            for served in self._resources(_api_version(group, each), asked):
                if wanted(served):
                    return _mapping(group, each, served)
        return None

    def _versions_of(self, group: str, asked: set[str]) -> tuple[str, ...]:
        key = f"group {group}"
        with self._lock:
            known = self._versions.get(group)
        if known is not None or key in asked:
            return known or ()
        asked.add(key)
        try:
            known = self._discovery.group(group).versions
        except NotFound:
            return ()
        with self._lock:
            self._versions[group] = known
        return known

    def _resources(self, api_version: str, asked: set[str]) -> list[ServedResource]:
        with self._lock:
            known = self._served.get(api_version)
        if known is not None or api_version in asked:
            return known or []
        asked.add(api_version)
        try:
            known = self._discovery.resources(api_version)
        except NotFound:
            return []
        with self._lock:
            self._served[api_version] = known
        return known

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
