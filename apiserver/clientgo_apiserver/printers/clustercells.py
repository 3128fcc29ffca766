"""Cells of the kinds that configure a cluster: certificates, API services, storage drivers, claims of devices."""

from collections.abc import Callable, Mapping
from typing import Any

from clientgo_apiserver.printers.values import NONE, UNSET, Obj, dig, human_duration, items, joined


def _condition(conditions: Any, kind: str) -> Obj:
    return next((condition for condition in conditions or () if condition.get("type") == kind), {})


def _available(conditions: Any) -> str:
    condition = _condition(conditions, "Available")
    if not condition:
        return "Unknown"
    return (
        "True"
        if condition.get("status") == "True"
        else f"{condition.get('status', '')} ({condition.get('reason', '')})"
    )


def _request_state(status: Any) -> str:
    types = {condition.get("type") for condition in items(status, "conditions")}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    states += ["Failed"] if "Failed" in types else []
    return ",".join([*states, *(["Issued"] if dig(status, "certificate") else [])])


def _certificate_state(status: Any) -> str:
    states = [condition.get("type") for condition in items(status, "conditions")]
    return next((state for state in reversed(states) if state in ("Issued", "Denied", "Failed")), "Pending")


def _migration_status(status: Any) -> str:
    types = [condition.get("type") for condition in items(status, "conditions") if condition.get("status") == "True"]
    return next((kind for kind in reversed(types) if kind in ("Running", "Failed", "Succeeded")), "Unknown")


def _served_versions(versions: Any) -> str:
    served = (version for version in versions or () if version.get("served"))
    return ",".join(sorted(version["name"] + "(storage)" * bool(version.get("storage")) for version in served))


def _resource_name(resource: Any) -> str:
    return ".".join(filter(None, (dig(resource, "resource", default=""), dig(resource, "group", default=""))))


def _claim_state(claim: Obj) -> str:
    deleted = ["deleted"] if dig(claim, "metadata", "deletionTimestamp") else []
    if not dig(claim, "status", "allocation"):
        return ",".join(deleted or ["pending"])
    return ",".join([*deleted, "allocated", *(["reserved"] if dig(claim, "status", "reservedFor") else [])])


def _parent(reference: Any) -> str:
    if not reference:
        return NONE
    kind = ".".join(filter(None, (reference.get("resource", ""), reference.get("group", "")))).lower()
    return "/".join(filter(None, (kind, reference.get("namespace", ""), reference.get("name", ""))))


def _component_status(conditions: Any) -> str:
    return {"": "Unknown", "True": "Healthy"}.get(_condition(conditions, "Healthy").get("status", ""), "Unhealthy")


def _param_ref(reference: Any) -> str:
    if not reference:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    labels = dig(reference, "selector", "matchLabels", default={})
    pairs = " ".join(f"{key}: {value}," for key, value in sorted(labels.items()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:[]LabelSelectorRequirement{{}},}}"
    )


CLUSTER_CELLS: Mapping[str, Callable[[Any], Any]] = {
    "api_service": lambda service: f"{service['namespace']}/{service['name']}" if service else "Local",
    "audiences": lambda requests: joined([request.get("audience", "") for request in requests]) if requests else UNSET,
    "available": _available,
    "claim_state": _claim_state,
    "component_error": lambda conditions: _condition(conditions, "Healthy").get("error", ""),
    "component_message": lambda conditions: _condition(conditions, "Healthy").get("message", ""),
    "component_status": _component_status,
    "dangling": lambda conditions: _condition(conditions, "Dangling").get("status", "?"),
    "duration": lambda seconds: NONE if seconds is None else human_duration(seconds),
    "joined": lambda values: joined(values or ()),
    "modes": lambda values: joined(values or ()) or NONE,
    "param_kind": lambda kind: f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET,
    "certificate_state": _certificate_state,
    "is_established": lambda status: _condition(dig(status, "conditions"), "Established").get("status") == "True",
    "migration_status": _migration_status,
    "param_ref": _param_ref,
    "parent": _parent,
    "request_state": _request_state,
    "resource_name": _resource_name,
    "served_versions": _served_versions,
    "short_names": lambda names: ",".join(names or ()),
}
"""Functions of columns by name."""
