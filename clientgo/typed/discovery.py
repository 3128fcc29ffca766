"""Discovery: the server's version, its API groups, and their resources.

    discovery = Clientset(load_config()).discovery
    [resource.name for resource in discovery.resources("apps/v1")]

Each call is a request; `clientgo.dynamic.mapper` caches.
"""

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import msgspec

from clientgo.errors import ClientGoError, InvalidResponse, NotFound
from clientgo.meta.shallow_json import UNREADABLE
from clientgo.meta.typemeta import ANY_RESPONSE, AcceptedKinds, TypeMeta, accepted_kinds, check_response
from clientgo.rest.request import server_of

S = TypeVar("S")


@runtime_checkable
class Raw(Protocol):
    """A requester for any path of a server: a `RESTClient`, or a fake clientset's requester."""

    def raw(self, method: str, path: str) -> bytes:
        """Send a request and return the response body; raise `ApiError` or `ConnectionFailed`."""


class ServerVersion(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The version of a server, as in `kubectl version`."""

    major: str = ""
    minor: str = ""
    git_version: str
    git_commit: str = ""
    platform: str = ""

    @property
    def minor_number(self) -> int:
        """Minor version as a number, without suffixes of providers such as `36+`; 0 if there is none."""
        digits = "".join(filter(str.isdigit, self.minor))
        return int(digits or 0)


class ServedResource(msgspec.Struct, frozen=True, rename="camel"):
    """A resource, or a subresource (`deployments/scale`), of one version of a group.

    `group` and `version` are those of its kind; empty if they equal those of the resource.
    """

    name: str
    kind: str
    namespaced: bool = False
    verbs: tuple[str, ...] = ()
    singular_name: str = ""
    short_names: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    group: str = ""
    version: str = ""

    @property
    def is_subresource(self) -> bool:
        """True if it is a part of another resource."""
        return "/" in self.name


class ApiGroup(msgspec.Struct, frozen=True):
    """A group and its versions, the preferred one first; the core group's name is empty."""

    name: str
    versions: tuple[str, ...]

    @property
    def api_versions(self) -> tuple[str, ...]:
        """The versions in the form of objects' `apiVersion`."""
        return tuple(f"{self.name}/{version}" if self.name else version for version in self.versions)


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    name: str = ""
    versions: list[_Version] | None = None
    preferred_version: _Version | None = None

    def api_group(self) -> ApiGroup:
        versions = [each.version for each in self.versions or ()]
        first = self.preferred_version.version if self.preferred_version is not None else ""
        # Sorting is stable: the others stay in the server's order.
        return ApiGroup(self.name, tuple(sorted(versions, key=lambda version: version != first)))


class _Groups(msgspec.Struct):
    groups: list[_Group] | None = None


class _Core(msgspec.Struct):
    versions: tuple[str, ...] | None = None


class _Resources(msgspec.Struct, rename="camel"):
    group_version: str = ""
    resources: list[ServedResource] | None = None


_KINDS: Mapping[type[Any], AcceptedKinds] = {
    ServerVersion: ANY_RESPONSE,  # has no kind
    _Core: accepted_kinds(TypeMeta("", "APIVersions")),
    _Groups: accepted_kinds(TypeMeta("", "APIGroupList")),
    _Group: accepted_kinds(TypeMeta("", "APIGroup")),
    _Resources: accepted_kinds(TypeMeta("", "APIResourceList")),
}


class Discovery:
    """The discovery client; each method is one request (`groups` two). Thread-safe.

    All methods raise `ApiError` or `ConnectionFailed`.
    """

    def __init__(self, server: Raw) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<Discovery of {self._server!r}>"

    def version(self) -> ServerVersion:
        """Return the server's version."""
        return self._get("/version", ServerVersion)

    def groups(self) -> list[ApiGroup]:
        """Return all groups, the core group first."""
        core = ApiGroup("", self._get("/api", _Core).versions or ())
        return [core, *(group.api_group() for group in self._get("/apis", _Groups).groups or ())]

    def group(self, name: str) -> ApiGroup:
        """Return one group.

        Raises:
            NotFound: the server does not have it.
        """
        if not name:
            return ApiGroup("", self._get("/api", _Core).versions or ())
        return self._get(f"/apis/{name}", _Group).api_group()

    def resources(self, api_version: str) -> list[ServedResource]:
        """Return the resources and subresources of an `apiVersion`.

        Raises:
            NotFound: the server does not serve that version.
        """
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        return self._get(path, _Resources).resources or []

    def serves(self, api_version: str, kind: str) -> bool:
        """Report whether the server has a resource of that kind, such as a CRD that a program depends on."""
        try:
            served = self.resources(api_version)
        except NotFound:
            return False
        return any(resource.kind == kind and not resource.is_subresource for resource in served)

    def _get(self, path: str, cls: type[S]) -> S:
        body, server = self._server.raw("GET", path), server_of(self._server)
        try:
            check_response(body, _KINDS[cls], server)
            return msgspec.json.decode(body, type=cls)
        except UNREADABLE as error:
            message = f"invalid response for {path}, not from an API server: {error} (from {server})"
            raise InvalidResponse(message) from error
        except ClientGoError as error:
            error.request = f"GET {path}"
            raise
