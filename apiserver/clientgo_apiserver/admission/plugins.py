"""Built-in admission plugins, by kind. They apply to the server's own controllers too.

OwnerReferencesPermissionEnforcement is optional. Clusters that enable it, such as OpenShift, let a user set a blocking
owner only with the permission to update the owner's `finalizers`, and change owners only with the permission to delete
the object.
"""

from collections.abc import Callable
from fractions import Fraction

from clientgo_apiserver.admission import podsecurity
from clientgo_apiserver.admission.claims import check_admin_access, check_claim_status
from clientgo_apiserver.admission.defaulting import PRIORITY_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES, fixed_overhead
from clientgo_apiserver.admission.escalation import check_escalation
from clientgo_apiserver.admission.limitranges import check_ranges
from clientgo_apiserver.admission.signers import check_signer
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import forbidden
from clientgo_apiserver.auth.authorization import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    Attributes,
    decide,
)
from clientgo_apiserver.registry.defaults.pods import amounts
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import DEVICE_CLAIMS, PODS
from clientgo_apiserver.storage.stored import Key


def check_owners(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that the user may set the owners (403)."""
    if write.request.internal or not state.options.owner_references_permissions:
        return
    before, after = _owners(old or {}), _owners(new)
    if before == after or (write.resource.storage == PODS and write.subresource == "status"):
        return
    if old is not None:
        resource, target = write.resource, (write.subresource, write.namespace, write.name)
        deletion = Attributes(write.request.user, "delete", resource.group, resource.version, resource.plural, *target)
        decision = decide(state, deletion)
        if not decision.allowed:
            reason = f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>"
            raise forbidden(resource, write.name, reason)
    blocking = {owner.get("uid") for owner in before if owner.get("blockOwnerDeletion")}
    for owner in after:
        if owner.get("blockOwnerDeletion") and owner.get("uid") not in blocking:
            _check_finalizers(state, write, new, owner)


def _check_finalizers(state: State, write: Write, new: Object, owner: Object) -> None:
    group, _, version = str(owner.get("apiVersion", "")).rpartition("/")
    name, kind = new["metadata"]["name"], owner.get("kind", "")
    resource = state.registry.by_kind(group, version, kind)
    if resource is None:
        api_version = owner.get("apiVersion", "")
        reason = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"
        reason += f' {api_version} Kind {kind}: no matches for kind "{kind}" in version "{api_version}"'
        raise forbidden(write.resource, name, reason)
    namespace = write.namespace if resource.namespaced else ""
    target = (resource.plural, "finalizers", namespace, owner.get("name", ""))
    decision = decide(state, Attributes(write.request.user, "update", group, version, *target))
    if not decision.allowed:
        reason = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
        raise forbidden(write.resource, name, f"{reason}: {decision.reason}, <nil>")


def _owners(obj: Object) -> list[Object]:
    references: list[Object] = (obj.get("metadata") or {}).get("ownerReferences") or []
    return references


def _check_priority_class(state: State, write: Write, new: Object, _: Object | None) -> None:
    """Check that at most one class is the default of pods (403)."""
    name = new["metadata"].get("name", "")
    if not new.get("globalDefault"):
        return
    for other in state.store.list(PRIORITY_CLASSES):
        other_name = other["metadata"]["name"]
        if other.get("globalDefault") and other_name != name:
            reason = f"PriorityClass {other_name} is already marked as default. Only one default can exist"
            raise forbidden(write.resource, name, reason)


def _check_resize(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that a claim grows only if its volume can (403)."""
    before, after = (requested_storage((claim or {}).get("spec") or {}) for claim in (old, new))
    if old is None or after <= before:
        return
    name = new["metadata"]["name"]
    if (old.get("status") or {}).get("phase") != "Bound":
        raise forbidden(write.resource, name, "Only bound persistent volume claims can be expanded")
    storage_class = state.store.get(STORAGE_CLASSES, "", new["spec"].get("storageClassName") or "")
    if not (storage_class or {}).get("allowVolumeExpansion"):
        reason = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc"
        raise forbidden(write.resource, name, f"{reason} must support resize")


def requested_storage(spec: Object) -> Fraction:
    """Return the bytes that the spec of a claim requests."""
    requested = amounts((spec.get("resources") or {}).get("requests")).get("storage")
    return requested.value if requested is not None else Fraction(0)


def _check_overhead(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that a new pod has an overhead only if its runtime class defines one (403)."""
    name = new["spec"].get("runtimeClassName") or ""
    if old is None and "overhead" in new["spec"] and not fixed_overhead(state.store.get(RUNTIME_CLASSES, "", name)):
        reason = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise forbidden(write.resource, new["metadata"]["name"], reason)


Plugin = Callable[[State, Write, Object, Object | None], None]


def check_policies(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check an object that is about to be created or updated; for most subresources, only its owners and signer."""
    check_owners(state, write, new, old)
    check_signer(state, write, new, old)
    if write.resource.storage == DEVICE_CLAIMS:
        check_claim_status(state, write, new, old)
    key = write.resource.storage
    plugins = _SUBRESOURCES.get((key, write.subresource), ()) if write.subresource else _PLUGINS.get(key, ())
    for plugin in plugins:
        plugin(state, write, new, old)


_SUBRESOURCES: dict[tuple[Key, str], tuple[Plugin, ...]] = {
    (PODS, "ephemeralcontainers"): (podsecurity.check_pod,),
    (PODS, "resize"): (check_ranges, podsecurity.check_pod),
}


_PLUGINS: dict[Key, tuple[Plugin, ...]] = {
    **dict.fromkeys((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS), (check_escalation,)),
    PODS: (_check_overhead, check_ranges, podsecurity.check_pod),
    DEVICE_CLAIMS: (check_admin_access,),
    ("resource.k8s.io", "resourceclaimtemplates"): (check_admin_access,),
    ("", "persistentvolumeclaims"): (check_ranges, _check_resize),
    PRIORITY_CLASSES: (_check_priority_class,),
    ("", "namespaces"): (podsecurity.check_namespace,),
    **dict.fromkeys(
        (
            ("", "podtemplates"),
            ("", "replicationcontrollers"),
            ("apps", "daemonsets"),
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("batch", "cronjobs"),
            ("batch", "jobs"),
        ),
        (podsecurity.check_workload,),
    ),
}
