"""Who may own what: kube-apiserver's admission plugin OwnerReferencesPermissionEnforcement, on request.

Clusters that have it (OpenShift, for one) let only those set an owner that blocks its own deletion who may update the
owner's `finalizers`, and only those change the owners of an object who may delete the object. Controllers that work
elsewhere fail there for want of a right.
"""

from typing import Any

from clientgo.apiserver.auth.authorization import Attributes, decide
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden
from clientgo.apiserver.state import State

Object = dict[str, Any]


def check_owners(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Refuse owners that the writer may not set.

    Raises:
        ApiFailure: 403.
    """
    if write.internal or not state.options.owner_references_permissions:
        return
    before, after = _owners(old or {}), _owners(new)
    if before == after or (write.resource.storage == ("", "pods") and write.subresource == "status"):
        return
    if old is not None:
        _check_delete(state, write)
    known = {owner.get("uid") for owner in before if owner.get("blockOwnerDeletion")}
    for owner in after:
        if owner.get("blockOwnerDeletion") and owner.get("uid") not in known:
            _check_finalizers(state, write, new, owner)


def _check_delete(state: State, write: Write) -> None:
    resource = write.resource
    place = (write.subresource, write.namespace, write.name)
    asked = Attributes(write.user, "delete", resource.group, resource.version, resource.plural, *place)
    decision = decide(state, asked)
    if not decision.allowed:
        why = f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>"
        raise forbidden(resource, write.name, why)


def _check_finalizers(state: State, write: Write, new: Object, owner: Object) -> None:
    group, _, version = str(owner.get("apiVersion", "")).rpartition("/")
    name, kind = new["metadata"]["name"], owner.get("kind", "")
    resource = state.registry.by_kind(group, version, kind)
    if resource is None:
        where = f'no matches for kind "{kind}" in version "{owner.get("apiVersion", "")}"'
        why = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"
        raise forbidden(write.resource, name, f"{why} {owner.get('apiVersion', '')} Kind {kind}: {where}")
    namespace = write.namespace if resource.namespaced else ""
    place = (resource.plural, "finalizers", namespace, owner.get("name", ""))
    decision = decide(state, Attributes(write.user, "update", group, version, *place))
    if not decision.allowed:
        why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
        raise forbidden(write.resource, name, f"{why}: {decision.reason}, <nil>")


def _owners(obj: Object) -> list[Object]:
    found: list[Object] = (obj.get("metadata") or {}).get("ownerReferences") or []
    return found
