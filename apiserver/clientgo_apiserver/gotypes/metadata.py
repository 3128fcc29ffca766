"""Metadata of objects: fields that clients set, fields that the server sets, and immutable fields."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from clientgo.clock import Clock
from clientgo_apiserver.api import names
from clientgo_apiserver.api.limits import MAX_ANNOTATION_BYTES
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, quoted, required
from clientgo_apiserver.gotypes.decoding import decode_part, message_of
from clientgo_apiserver.gotypes.scalars import DecodeError
from clientgo_apiserver.releases.release import current

FOREGROUND, ORPHAN = COLLECTOR_FINALIZERS = ("foregroundDeletion", "orphan")
"""Finalizers that record how the garbage collector deletes an owner."""
STANDARD_FINALIZERS = ("kubernetes", *COLLECTOR_FINALIZERS)
"""Finalizers without a domain."""
_SYSTEM_FIELDS = frozenset(
    ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "managedFields")
)
_UNQUALIFIED_FINALIZERS = frozenset((
    *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "coordination.k8s.io"),
    *("node.k8s.io", "policy"),
))  # fmt: skip
_GENERATED_NAMES = frozenset((("", "replicationcontrollers"), ("resource.k8s.io", "deviceclasses")))
"""Kinds that validate generated names only, not their prefixes."""
_NOTHING, _OF_UPDATE, _OF_NEW, _OF_NEW_TWICE = (False, 0), (True, 0), (False, 1), (False, 2)
_UPDATE_CHECKS: dict[str, tuple[bool, int]] = {
    plural: checks
    for checks, plurals in (
        (_NOTHING, "events poddisruptionbudgets"),
        (_OF_UPDATE, "cronjobs csidrivers customresourcedefinitions daemonsets deployments events.events.k8s.io"),
        (_OF_UPDATE, "horizontalpodautoscalers leases networkpolicies podtemplates priorityclasses replicasets"),
        (_OF_UPDATE, "replicationcontrollers resourcequotas resourceslices servicecidrs services statefulsets"),
        (_OF_NEW, "csinodes endpointslices flowschemas limitranges mutatingadmissionpolicies"),
        (_OF_NEW, "mutatingadmissionpolicybindings mutatingwebhookconfigurations prioritylevelconfigurations"),
        (_OF_NEW, "validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations"),
        (_OF_NEW, "volumeattachments"),
        (_OF_NEW_TWICE, "persistentvolumes"),
    )
    for plural in plurals.split()
}
"""Checks of metadata by the rules of a kind: whether as of an update, and how often as of a new object; else each once.

Measured beside kube-apiserver 1.36.
"""
_RBAC = "rbac.authorization.k8s.io"
_NAME_RULES: dict[tuple[str, str], names.Check] = {
    ("certificates.k8s.io", "clustertrustbundles"): lambda _: [],  # the rule `bundle_name` knows the signer
    ("coordination.k8s.io", "leasecandidates"): names.data_key_errors,
    ("", "namespaces"): names.label_errors,
    ("apps", "statefulsets"): names.label_errors,
    ("", "services"): lambda name: service_name_errors(name),
    ("networking.k8s.io", "ipaddresses"): names.ip_errors,
    ("apiregistration.k8s.io", "apiservices"): names.path_segment_errors,  # the rule `api_service` knows the group
    # Validators of these do not check names, but no name may break a path.
    ("", "events"): names.path_segment_errors,
    ("policy", "poddisruptionbudgets"): names.path_segment_errors,
    **dict.fromkeys(
        [(_RBAC, plural) for plural in ("roles", "rolebindings", "clusterroles", "clusterrolebindings")],
        names.path_segment_errors,
    ),
}


def service_name_errors(name: str) -> list[str]:
    """Return what is wrong with the name of a Service."""
    is_relaxed = current().enabled("RelaxedServiceNameValidation")
    return names.label_errors(name) if is_relaxed else names.label_1035_errors(name)


def timestamp(clock: Clock, later: int = 0) -> str:
    """Return the current time as metav1.Time, or that `later` seconds: RFC 3339 in UTC, whole seconds."""
    return rfc3339(int(clock.time()) + later)


@lru_cache(maxsize=16)
def rfc3339(second: int) -> str:
    """Return seconds since the epoch as metav1.Time."""
    # Cached: `strftime` looks up the time zone each time, and thousands of writes share a second.
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def normalize(
    meta: Any,
    unknown: list[str] | None = None,
    *,
    kind: str | None = "",
    stored: Object | None = None,
    merged: bool = False,
) -> Object:
    """Return the metadata as ObjectMeta would hold it, without null and empty fields.

    Parts shared with `stored`, normalized metadata, are kept as they are. `merged`: a strategic merge made it. Errors
    name the kind; None for custom kinds.

    Raises:
        DecodeError: a value does not fit its field.
    """
    if meta is None:
        return {}
    ignored: list[str] = []
    try:
        decoded = decode_part(message_of("meta.k8s.io/v1", "ObjectMeta"), meta, ignored, stored, merged=merged)
    except DecodeError as error:
        raise error if kind is None else error.within("metadata", kind) from None
    decoded.pop("selfLink", None)
    if meta.get("managedFields") == []:
        decoded["managedFields"] = []  # unlike an absent list, a request to remove all entries
    if ignored and unknown is not None:
        unknown.extend(f"metadata.{field}" for field in ignored)
    return decoded


def fill_in(resource: Resource, meta: Object, now: str) -> Object:
    """Return the metadata of a new object; uid, creationTimestamp and generation are set by the server."""
    filled = {field: value for field, value in meta.items() if field not in _SYSTEM_FIELDS}
    if "name" not in filled and "generateName" in filled:
        filled["name"] = names.generate(filled["generateName"])
    filled["uid"] = names.new_uid()
    filled["creationTimestamp"] = now
    if resource.generation:
        filled["generation"] = 1
    return filled


def carry_over(new: Object, old: Object) -> Object:
    """Return the metadata of an update; fields that only the server sets are kept."""
    updated = {**new}
    updated["creationTimestamp"] = old["creationTimestamp"]
    updated.setdefault("uid", old["uid"])
    updated.pop("generation", None)
    updated |= {field: old[field] for field in ("generation", "deletionTimestamp") if field in old}
    if "deletionGracePeriodSeconds" in old:
        updated.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])
    updated["resourceVersion"] = old["resourceVersion"]
    return updated


def mark_deleted(meta: Object, clock: Clock, grace: int = 0) -> Object:
    """Return the metadata of an object whose deletion waits for finalizers or for its grace period in seconds."""
    marked = {**meta, "deletionTimestamp": timestamp(clock, grace), "deletionGracePeriodSeconds": grace}
    return {**marked, "generation": meta["generation"] + 1} if "generation" in meta else marked


def errors(resource: Resource, meta: Object) -> list[Cause]:
    """Return the errors in the metadata of an object to be stored."""
    causes: list[Cause] = []
    rule = _NAME_RULES.get((resource.group, resource.plural), names.subdomain_errors)
    if "generateName" in meta:
        prefix = meta["generateName"]
        prefix_rule = names.path_segment_errors if (resource.group, resource.plural) in _GENERATED_NAMES else rule
        causes += [
            invalid_value("metadata.generateName", prefix, reason) for reason in _prefix_errors(prefix, prefix_rule)
        ]
    if "name" not in meta:
        causes.append(required("metadata.name", "name or generateName is required"))
    else:
        causes += [invalid_value("metadata.name", meta["name"], reason) for reason in rule(meta["name"])]
    if meta.get("generation", 0) < 0:
        reason = "must be greater than or equal to 0"
        causes.append(invalid_value("metadata.generation", meta["generation"], reason))
    causes += field_errors(meta)
    if "finalizers" in meta and not (resource.custom or _is_unqualified(resource)):
        reason = "name is neither a standard finalizer name nor is it fully qualified"
        causes += [
            invalid_value(f"metadata.finalizers[{index}]", finalizer, reason)
            for index, finalizer in enumerate(meta["finalizers"])
            if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS
        ]
    return causes


def _prefix_errors(prefix: str, rule: names.Check) -> list[str]:
    """Return the errors of the start of names, whose last character may be a dash."""
    if rule is names.path_segment_errors:
        return rule(f"{prefix}a")
    return rule(f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix)


def _is_unqualified(resource: Resource) -> bool:
    """Return whether finalizers of a built-in kind need no domain."""
    legacy_event = resource.plural == "events" and not resource.group
    return resource.group in _UNQUALIFIED_FINALIZERS or legacy_event


def field_errors(meta: Object, field_path: str = "metadata") -> list[Cause]:
    """Return the errors in the metadata of an object, or of one within it, except those of its name."""
    causes: list[Cause] = []
    for key, value in meta.get("labels", {}).items():
        causes += [invalid_value(f"{field_path}.labels", key, reason) for reason in names.qualified_errors(key)]
        causes += [invalid_value(f"{field_path}.labels", value, reason) for reason in names.label_value_errors(value)]
    annotations = meta.get("annotations", {})
    for key in annotations:
        causes += [
            invalid_value(f"{field_path}.annotations", key, reason) for reason in names.qualified_errors(key.lower())
        ]
    if annotations and sum(len(key) + len(value) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        reason = f"Too long: may not be more than {MAX_ANNOTATION_BYTES} bytes"
        causes.append(Cause("FieldValueTooLong", f"{field_path}.annotations", reason))
    for finalizer in meta.get("finalizers", ()):
        causes += [
            invalid_value(f"{field_path}.finalizers", finalizer, reason) for reason in names.qualified_errors(finalizer)
        ]
    if "finalizers" in meta and {*COLLECTOR_FINALIZERS} <= {*meta["finalizers"]}:
        reason = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(invalid_value(f"{field_path}.finalizers", meta["finalizers"], reason))
    if "ownerReferences" in meta:
        causes += _owner_errors(meta["ownerReferences"], field_path)
    return causes


def update_errors(new: Object, old: Object) -> list[Cause]:
    """Return the errors of an update that changes immutable metadata."""
    causes = [
        invalid_value(f"metadata.{field}", new.get(field), "field is immutable")
        for field in ("name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds")
        if new.get(field) != old.get(field)
    ]
    if "deletionTimestamp" in old:
        added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
        if added:
            reason = "no new finalizers can be added if the object is being deleted, found new finalizers []string"
            reason += f"{{{', '.join(map(quoted, added))}}}"
            causes.append(forbidden_field("metadata.finalizers", reason))
    return causes


def all_update_errors(resource: Resource, new: Object, old: Object) -> list[Cause]:
    """Return the errors of the metadata of an update, as often as a real server finds them.

    It validates metadata as of a new object and as of an update before the rules of the kind, and as part of them.
    """
    causes, changed = errors(resource, new), update_errors(new, old)
    if not causes and not changed:
        return []
    name = resource.plural if resource.group != "events.k8s.io" else f"{resource.plural}.{resource.group}"
    as_update, as_new = _OF_UPDATE if resource.custom else _UPDATE_CHECKS.get(name, (True, 1))
    unqualified = [cause for cause in causes if cause.field.startswith("metadata.finalizers[")]
    general = [cause for cause in causes if cause not in unqualified]
    of_update = [*changed, *(cause for cause in general if cause.field != "metadata.finalizers")]
    return [*general, *of_update, *(of_update + unqualified if as_update else ()), *causes * as_new]


def _owner_errors(owners: list[Object], field_path: str) -> list[Cause]:
    causes = []
    for owner in owners:
        version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
        if not version.rpartition("/")[2] or version.count("/") > 1:
            causes.append(
                invalid_value(f"{field_path}.ownerReferences.apiVersion", version, "version must not be empty")
            )
        missing = [member for member in ("kind", "name", "uid") if not owner.get(member)]
        causes += [
            invalid_value(f"{field_path}.ownerReferences.{member}", "", "must not be empty") for member in missing
        ]
        if (version, kind) == ("v1", "Event"):
            reason = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(invalid_value(f"{field_path}.ownerReferences", owner, reason))
    controllers = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        reason = (
            'Only one reference can have Controller set to true. Found "true" in references for'
            f" {controllers[0]} and {controllers[1]}"
        )
        causes.append(invalid_value(f"{field_path}.ownerReferences", owners, reason))
    return causes
