"""Status of CustomResourceDefinitions: accepted names, conditions, and the state of definitions being deleted."""

from typing import Any
from urllib.parse import urlsplit

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import joined

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
APPROVAL = "api-approved.kubernetes.io"
PROPOSAL = "see https://github.com/kubernetes/enhancements/pull/1111"

DefinitionCondition = tuple[str, str, str, str]
"""Type, status, reason and message."""

_PENDING = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
_NAMES = (("plural", "Plural"), ("singular", "Singular"), ("shortNames", "ShortNames"))
_KINDS = (("kind", "Kind"), ("listKind", "ListKind"))


def accepted_names(definition: Object, used: tuple[set[str], set[str]]) -> tuple[Object, tuple[str, str, str] | None]:
    """Return the names that the definition may have, and the last conflict as status, reason and message, or None.

    `used` are the accepted names and kinds of the group. Where there is a conflict, the names accepted before stay.
    """
    requested, current = definition["spec"]["names"], (definition.get("status") or {}).get("acceptedNames") or {}
    accepted, conflict = {**current}, None
    for fields, names_in_use in zip((_NAMES, _KINDS), used, strict=True):
        for field, word in fields:
            new, old = _listed(requested.get(field)), _listed(current.get(field))
            clashes = [f'"{name}" is already in use' for name in new if name in names_in_use and name not in old]
            if clashes:
                message = joined(clashes)
                conflict = ("False", f"{word}Conflict", message)
            elif requested.get(field):
                accepted[field] = requested[field]
            else:
                accepted.pop(field, None)
    accepted.pop("categories", None)
    if requested.get("categories"):
        accepted["categories"] = requested["categories"]
    return accepted, conflict


def _listed(names: Any) -> list[str]:
    return names if isinstance(names, list) else [names or ""]


def merged_conditions(present: list[Object], changes: list[DefinitionCondition], now: str) -> list[Object]:
    """Return the conditions with the wanted ones; the time changes only with the status."""
    merged = {condition["type"]: condition for condition in present}
    for kind, status, reason, message in changes:
        earlier = merged.get(kind)
        if earlier is None or (earlier["status"], earlier["reason"], earlier["message"]) != (status, reason, message):
            since = earlier["lastTransitionTime"] if earlier is not None and earlier["status"] == status else now
            changed = {
                "type": kind,
                "status": status,
                "lastTransitionTime": since,
                "reason": reason,
                "message": message,
            }
            merged[kind] = changed
    return list(merged.values())


def approval_condition(definition: Object) -> DefinitionCondition | None:
    """Return the condition about the approval that Kubernetes' own groups need, or None for other groups."""
    if not is_protected(definition["spec"]["group"]):
        return None
    status, word, message = approval_of(definition["metadata"])
    return ("KubernetesAPIApprovalPolicyConformant", status, f"{word}Annotation", message)


def is_protected(group: str) -> bool:
    """Return whether a group belongs to Kubernetes' community."""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def approval_of(meta: Object) -> tuple[str, str, str]:
    """Return whether a definition is approved (True or False), a word for the state, and the reason."""
    approval = str((meta.get("annotations") or {}).get(APPROVAL, ""))
    needed = f'protected groups must have approval annotation "{APPROVAL}"'
    if not approval:
        return "False", "Missing", f"{needed}, {PROPOSAL}"
    if approval.startswith("unapproved"):
        return "False", "Unapproved", f'not approved: "{approval}"'
    try:
        url = urlsplit(approval)
    except ValueError:
        url = urlsplit("")
    if url.scheme and url.netloc:
        return "True", "Approved", f"approved in {approval}"
    form = 'with either a URL or a reason starting with "unapproved"'
    return "False", "Invalid", f"{needed} {form}, {PROPOSAL}"


def terminating(definition: Object, now: str) -> Object:
    """Return the definition marked for deletion, which waits for the deletion of its objects."""
    meta, status = definition["metadata"], definition.get("status") or {}
    finalizers = meta.get("finalizers", [])
    finalizers = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    condition = ("Terminating", "True", "InstanceDeletionPending", _PENDING)
    conditions = merged_conditions(status.get("conditions") or [], [condition], now)
    marked = {**meta, "deletionTimestamp": now, "finalizers": finalizers}
    return {**definition, "metadata": marked, "status": {**status, "conditions": conditions}}
