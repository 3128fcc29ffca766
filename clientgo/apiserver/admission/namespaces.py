"""Namespaces: nothing is created in one that is not there, and one that is deleted takes its contents with it."""

from typing import Any

from clientgo.apiserver.http.status import Cause, forbidden, not_found
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key

Object = dict[str, Any]

KEY: Key = ("", "namespaces")
INITIAL = ("default", "kube-node-lease", "kube-public", "kube-system")
_FINALIZER = "kubernetes"


def is_namespace(resource: Resource) -> bool:
    """Whether this is the resource of namespaces themselves."""
    return resource.storage == KEY


def require_namespace(state: State, resource: Resource, namespace: str, name: str) -> None:
    """Refuse to create where no namespace is, or where it is on its way out.

    Raises:
        ApiFailure: 404 or 403.
    """
    if not namespace:
        return
    found = state.store.get(KEY, "", namespace)
    if found is None:
        served = state.registry.find("", "v1", "namespaces")
        assert served is not None, "namespaces are built in"
        raise not_found(served, namespace)
    if "deletionTimestamp" in found["metadata"]:
        cause = Cause("NamespaceTerminating", "metadata.namespace", f"namespace {namespace} is being terminated")
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(resource, name, why, [cause])


def terminating(namespace: Object, now: str) -> Object:
    """The namespace as its deletion leaves it: marked, and held until it is empty."""
    meta = {**namespace["metadata"], "deletionTimestamp": now}
    return {**namespace, "metadata": meta, "status": {**namespace.get("status", {}), "phase": "Terminating"}}


def create_initial(state: State) -> None:
    """Store the namespaces every cluster has."""
    for name in INITIAL:
        if state.store.entry(KEY, "", name) is None:
            state.store.put(KEY, new_namespace(state, name))


def new_namespace(state: State, name: str) -> Object:
    """A namespace as the server itself makes it."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": name,
            "uid": state.new_uid(),
            "creationTimestamp": timestamp(state.clock),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": [_FINALIZER]},
        "status": {"phase": "Active"},
    }
