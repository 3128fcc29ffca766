"""Installation of CustomResourceDefinitions, until the server serves them, and of other cluster-scoped objects."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.dynamic.client import dynamic_client
from clientgo.dynamic.waiting import WaitTimeout, wait_for
from clientgo.errors import AlreadyExists, ConfigError, NotFound
from clientgo.meta.codec import from_dict
from clientgo.meta.manifests import Object as Object
from clientgo.meta.manifests import name_of
from clientgo.meta.manifests import read_crds as read_crds
from clientgo.meta.manifests import read_documents as read_documents
from clientgo.meta.objects import GroupVersionResource
from clientgo.reconcile.retry import retry_on_conflict
from clientgo.rest.request import Requester

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

WAIT_SECONDS = 10.0
"""Time limit until a new kind is served, as in controller-runtime's envtest."""

POLL_SECONDS = 0.05

_SERVER_FIELDS = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields")
)
"""Fields of metadata that the server sets; an object that was recreated has others."""


def install(requester: Requester, crds: Iterable[Mapping[str, Any]], *, clock: Clock = SYSTEM_CLOCK) -> None:
    """Create these CRDs, or update existing ones, and wait until their kinds are served.

    Raises:
        ApiError: the server rejects one.
        ConfigError: one is not served after `WAIT_SECONDS`.
    """
    names = list(crds)
    install_objects(requester, CRDS, names)
    for crd in names:
        _wait_until_served(requester, crd, clock)


def uninstall(requester: Requester, crds: Iterable[Mapping[str, Any]], *, clock: Clock = SYSTEM_CLOCK) -> None:
    """Delete these CRDs with every object of their kinds, and wait until they are gone; skip absent ones.

    Raises:
        ApiError: the server rejects a deletion.
        ConfigError: one is still there after `WAIT_SECONDS`: a finalizer holds an object of its kind.
    """
    unwanted = list(crds)
    uninstall_objects(requester, CRDS, unwanted)
    deadline = clock.now() + WAIT_SECONDS
    while remaining := read_objects(requester, CRDS, unwanted):
        if clock.now() >= deadline:
            names = ", ".join(map(name_of, remaining))
            raise ConfigError(f"CRD {names} still exists {WAIT_SECONDS:g} s after its deletion: look for finalizers")
        clock.poll(threading.Event(), POLL_SECONDS)


def read_objects(
    requester: Requester, resource: GroupVersionResource, objects: Iterable[Mapping[str, Any]]
) -> list[Object]:
    """Return those of these cluster-scoped objects that exist, in the state they have on the server.

    Raises:
        ApiError: the server rejects a request.
    """
    client, results = _client(requester, resource), []
    for obj in objects:
        with suppress(NotFound):
            results.append(client.get(name_of(obj)).to_dict())
    return results


def restore_objects(requester: Requester, resource: GroupVersionResource, objects: Iterable[Mapping[str, Any]]) -> None:
    """Restore existing cluster-scoped objects to this state; skip those that no longer exist.

    Raises:
        ApiError: the server rejects one.
    """
    client = _client(requester, resource)
    for obj in objects:
        metadata = {key: value for key, value in obj["metadata"].items() if key not in _SERVER_FIELDS}
        with suppress(NotFound):
            _update(client, {**obj, "metadata": metadata})


def install_objects(requester: Requester, resource: GroupVersionResource, objects: Iterable[Mapping[str, Any]]) -> None:
    """Create these cluster-scoped objects, or update existing ones.

    Raises:
        ApiError: the server rejects one.
    """
    client = _client(requester, resource)
    for obj in objects:
        try:
            client.create(obj)
        except AlreadyExists:
            _update(client, obj)


def uninstall_objects(
    requester: Requester, resource: GroupVersionResource, objects: Iterable[Mapping[str, Any]]
) -> None:
    """Delete these cluster-scoped objects; absent ones are skipped."""
    client = _client(requester, resource)
    for obj in objects:
        with suppress(NotFound):
            client.delete(name_of(obj))


def _client(requester: Requester, resource: GroupVersionResource) -> Any:
    # Any: a dynamic client's writes accept dicts, which its type does not tell.
    return dynamic_client(resource, namespaced=False)(requester)


def _update(client: Any, obj: Mapping[str, Any]) -> None:
    def write() -> None:
        version = client.get(name_of(obj)).metadata.resource_version
        client.update({**obj, "metadata": {**obj["metadata"], "resourceVersion": version}})

    # A real server's controllers update a CRD's status right after a change.
    retry_on_conflict(write)


def _wait_until_served(requester: Requester, crd: Mapping[str, Any], clock: Clock) -> None:
    client = _client(requester, CRDS)
    try:
        wait_for(requester, from_dict(client.kind, crd), condition="Established", timeout=WAIT_SECONDS, clock=clock)
    except WaitTimeout as error:
        raise ConfigError(f"CRD is not established: {error}") from error
