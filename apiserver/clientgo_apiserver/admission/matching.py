"""Matching of writes with the rules and selectors of webhooks and policies, and the request they see."""

from collections.abc import Iterable, Mapping
from typing import Any

from clientgo_apiserver.admission.namespaces import is_namespace
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.registry.views import from_storage, to_storage
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key

GROUP = "admissionregistration.k8s.io"
MUTATING_POLICIES: Key = (GROUP, "mutatingadmissionpolicies")
VALIDATING_POLICIES: Key = (GROUP, "validatingadmissionpolicies")
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
Case = tuple[str, Object | None, Object | None]  # the operation, the object, what it replaces


def matched_resource(
    state: State, rules: Iterable[Mapping[str, Any]], write: Write, case: Case, *, exact: bool = False
) -> Resource | None:
    """Return the write's resource, or the version of it that a rule names instead unless `exact`, or None."""
    resource = write.resource
    rules = [rule for rule in rules if _applies(rule, write, case)]
    if any(_names(rule, resource, write.subresource) for rule in rules):
        return resource
    if exact:
        return None
    other_versions = [other for other in state.registry.of_storage(resource.storage) if other is not resource]
    return next((other for other in other_versions for rule in rules if _names(rule, other, write.subresource)), None)


def object_name(write: Write, case: Case) -> str:
    """Return the name of the object that is written."""
    return write.name or str(((case[1] or {}).get("metadata") or {}).get("name", ""))


def _applies(rule: Mapping[str, Any], write: Write, case: Case) -> bool:
    """Return whether a rule is for this operation, scope and name."""
    scope = rule.get("scope") or "*"
    scoped = scope == "*" or (scope == "Namespaced") is write.resource.namespaced
    if not scoped or not {"*", case[0]} & set(rule.get("operations") or ()):
        return False
    return not rule.get("resourceNames") or object_name(write, case) in rule["resourceNames"]


def _names(rule: Mapping[str, Any], resource: Resource, subresource: str) -> bool:
    if not {"*", resource.group} & set(rule.get("apiGroups") or ()):
        return False
    if not {"*", resource.version} & set(rule.get("apiVersions") or ()):
        return False
    targets = (name.partition("/")[::2] for name in rule.get("resources") or ())
    return any(plural in ("*", resource.plural) and part in (subresource, "*") for plural, part in targets)


def selected(state: State, spec: Mapping[str, Any], write: Write, new: Object | None, old: Object | None) -> bool:
    """Return whether the selectors of a webhook or policy select the object and its namespace."""
    if not _namespace_selected(state, spec.get("namespaceSelector"), write, new or old):
        return False
    selector, objects = spec.get("objectSelector"), [obj for obj in (new, old) if obj is not None]
    return not selector or any(selects(selector, obj["metadata"].get("labels") or {}) for obj in objects)


def _namespace_selected(state: State, selector: Any, write: Write, obj: Object | None) -> bool:
    if not selector or not (is_namespace(write.resource) or write.resource.namespaced):
        return True
    namespace = obj if is_namespace(write.resource) else state.store.get(NAMESPACES, "", write.namespace)
    return selects(selector, ((namespace or {}).get("metadata") or {}).get("labels") or {})


async def admission_request(write: Write, resource: Resource, case: Case) -> Object:
    """Return the AdmissionRequest of a write, with the object in the version of this resource."""
    operation, new, old = case
    options: Object = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
    if write.dry_run:
        options["dryRun"] = ["All"]
    if operation in ("CREATE", "UPDATE"):
        names = ("fieldManager", "fieldValidation")
        options |= {name: write.request.query[name] for name in names if write.request.query.get(name)}
    source = write.resource
    new_converted = await converted(source, resource, new) if new is not None else None
    request: Object = {
        "kind": _kind(new_converted, resource),
        "resource": _named(resource, resource=resource.plural),
        "subResource": write.subresource,
        "requestKind": _kind(new, source),
        "requestResource": _named(source, resource=source.plural),
        "requestSubResource": write.subresource,
        "name": object_name(write, case),
        "namespace": write.namespace,
        "operation": operation,
        "userInfo": write.request.user.info,
        "object": new_converted,
        "oldObject": await converted(source, resource, old) if old is not None else None,
        "dryRun": write.dry_run,
        "options": options,
    }
    return {member: value for member, value in request.items() if value != ""}


def _kind(obj: Object | None, resource: Resource) -> Object:
    """Return the kind of an object: that of its resource, but for subresources with a kind of their own."""
    if obj is None or obj["kind"] == resource.kind:
        return _named(resource, kind=resource.kind)
    group, _, version = obj["apiVersion"].rpartition("/")
    return {"group": group, "version": version, "kind": obj["kind"]}


def _named(of: Resource, /, **name: str) -> Object:
    return {"group": of.group, "version": of.version, **name}


async def converted(source: Resource, target: Resource, obj: Object) -> Object:
    """Return an object of a resource in another version of it."""
    return obj if source is target else await from_storage(target, await to_storage(source, obj))
