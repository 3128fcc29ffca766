"""Namespaces: the initial ones, and the requirement that an object's namespace exists."""

import uuid

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause, forbidden, not_found
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES

INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
_IMMORTAL = ("default", "kube-public", "kube-system")
FINALIZER = "kubernetes"


def is_namespace(resource: Resource) -> bool:
    """Return whether this is the resource of namespaces."""
    return resource.storage == NAMESPACES


def require_namespace(state: State, resource: Resource, namespace: str, name: str, *, dry_run: bool) -> None:
    """Check that objects can be created in the namespace, or create it if the server does that (404, 403)."""
    if not namespace:
        return
    stored = state.store.get(NAMESPACES, "", namespace)
    if stored is None and state.options.bare:
        if not dry_run:
            state.store.put(NAMESPACES, new_namespace(state, namespace))
        return
    if "deletionTimestamp" in _require(state, namespace, stored)["metadata"]:
        cause = Cause("NamespaceTerminating", "metadata.namespace", f"namespace {namespace} is being terminated")
        reason = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(resource, name, reason, [cause])


def require_present(state: State, namespace: str) -> None:
    """Check that the namespace of an object that is updated exists, as servers before 1.37 do (404)."""
    if namespace and not state.options.bare and not state.release.at_least("1.37"):
        _require(state, namespace, state.store.get(NAMESPACES, "", namespace))


def _require(state: State, namespace: str, stored: Object | None) -> Object:
    if stored is None:
        raise not_found(state.registry.built_in(*NAMESPACES), namespace)
    return stored


def require_deletable(resource: Resource, name: str) -> None:
    """Check that an object may be deleted: not the namespaces that every cluster has (403)."""
    if is_namespace(resource) and name in _IMMORTAL:
        raise forbidden(resource, name, "this namespace may not be deleted")


def create_initial(state: State) -> None:
    """Store the namespaces of every cluster, unless the server creates namespaces as they are needed."""
    for name in () if state.options.bare else INITIAL:
        if state.store.entry(NAMESPACES, "", name) is None:
            state.store.put(NAMESPACES, new_namespace(state, name))


def new_namespace(state: State, name: str) -> Object:
    """Return a namespace created by the server."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": str(uuid.uuid4()),
            "creationTimestamp": timestamp(state.clock),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": [FINALIZER]},
        "status": {"phase": "Active"},
    }
