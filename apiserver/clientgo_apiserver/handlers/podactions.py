"""Actions on pods that clients create as objects: Eviction and Binding."""

from dataclasses import replace

import msgspec

from clientgo_apiserver.admission import chain
from clientgo_apiserver.admission.defaulting import with_topology
from clientgo_apiserver.admission.namespaces import require_namespace
from clientgo_apiserver.api.conditions import condition_of, conditions_of, is_true, other_conditions
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, conflict, forbidden, joined, not_supported, required
from clientgo_apiserver.gotypes.metadata import timestamp
from clientgo_apiserver.handlers.reading import get
from clientgo_apiserver.printers.values import dig
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import BUDGETS, PODS
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.writes.decoding import precondition_failed, read_unstored
from clientgo_apiserver.writes.deletion import check_preconditions, delete, read_delete_options
from clientgo_apiserver.writes.pipeline import UpdatedObject, update

_EVICTION = Resource("policy", "v1", "evictions", "Eviction", "eviction", "", namespaced=True, verbs=("create",))
_OLD_EVICTION = replace(_EVICTION, version="v1beta1")
_BINDING = Resource("", "v1", "bindings", "Binding", "binding", "", namespaced=True, verbs=("create",))
_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_MAX_DISRUPTED = 2000
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."


async def _admitted(state: State, write: Write, kind: str, obj: Object) -> Object:
    """Return the object of an action as webhooks change it (400, 403)."""
    if obj["metadata"].get("name") != write.name:
        raise bad_request(f"name in URL does not match name in {kind} object")
    obj = await chain.mutate(state, write, "CREATE", obj, None) or obj
    await chain.validate(state, write, "CREATE", obj, None)
    return obj


async def evict(state: State, write: Write) -> Object:
    """Delete a pod if its disruption budget allows it; return a Status (400, 403, 404, 409, 429, 500)."""
    beta = _OLD_EVICTION.api_version.encode() in write.request.body
    sent = read_unstored(write, _OLD_EVICTION if beta else _EVICTION, _EVICTION.api_version)
    require_namespace(state, write.resource, write.namespace, write.name, dry_run=True)
    eviction = await _admitted(state, write, "Eviction", sent)
    options = dict(eviction.get("deleteOptions") or {})
    if write.dry_run:
        options["dryRun"] = ["All"]
    pod = get(state, write.resource, write.namespace, write.name).object
    phase = dig(pod, "status", "phase")
    if phase not in ("Succeeded", "Failed", "Pending") and "deletionTimestamp" not in pod["metadata"]:
        await _take_from_budget(state, write, pod, dry_run=bool(options.get("dryRun")))
    conditions = options.get("preconditions") or {}
    check_preconditions(write.resource, pod, conditions.get("uid") or None, conditions.get("resourceVersion") or None)
    if not options.get("dryRun"):
        reason, message = "EvictionByEvictionAPI", "Eviction API: evicting"
        now = timestamp(state.clock)
        marked = with_condition(pod, "DisruptionTarget", "True", now, reason=reason, message=message)
        pod = state.store.put(PODS, marked).object
        if conditions.get("resourceVersion"):
            options["preconditions"] = {**conditions, "resourceVersion": pod["metadata"]["resourceVersion"]}
    request = replace(write.request, method="DELETE", headers={}, body=msgspec.json.encode(options), internal=True)
    # The eviction was admitted, and not the deletion: no webhook sees it.
    await delete(state, replace(write, subresource="", request=request), read_delete_options(request))
    return _SUCCESS


async def _take_from_budget(state: State, write: Write, pod: Object, *, dry_run: bool) -> None:
    """Count a disruption in the budget that selects the pod, if there is one (403, 429, 500)."""
    labels = pod["metadata"].get("labels") or {}
    budgets = [
        budget
        for budget in state.store.list(BUDGETS, write.namespace)
        if (selector := dig(budget, "spec", "selector")) is not None and selects(selector, labels)
    ]
    if not budgets:
        return
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise ApiFailure(500, "", message)
    budget = budgets[0]
    status = budget.get("status") or {}
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    always = dig(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow"
    if not is_true(pod, "Ready") and (always or healthy >= desired > 0):
        return  # an unready pod does not count as healthy, so that the budget loses nothing
    _check_budget(state, budget)
    if not dry_run:
        await _count_disruption(state, write, budget)


def _check_budget(state: State, budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed = status.get("disruptionsAllowed", 0)
    singular = replace(state.registry.built_in(*BUDGETS), plural="poddisruptionbudget")
    if allowed < 0:
        raise forbidden(singular, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > _MAX_DISRUPTED:
        message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(singular, name, message)
    if allowed:
        return
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    condition = condition_of(budget, "DisruptionAllowed")
    condition = condition if condition.get("status") == "False" and condition.get("message") else {}
    message, reason = f"The disruption budget {name} does not allow evicting pods currently", condition.get("reason")
    if reason == "SyncFailed":
        message += f" because it failed sync: {condition['message']}"
    elif healthy <= desired:
        message = f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    elif condition:
        message += f" ({reason}): {condition['message']}"
    raise _too_many(message, 0)


def _too_many(message: str, seconds: int) -> ApiFailure:
    details: Object = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    headers: tuple[tuple[str, str], ...] = ()
    if seconds:
        details["retryAfterSeconds"] = seconds
        headers = (("Retry-After", str(seconds)),)
    return ApiFailure(429, "TooManyRequests", _VIOLATED, details=details, headers=headers)


async def _count_disruption(state: State, write: Write, budget: Object) -> None:
    status, now = budget["status"], timestamp(state.clock)
    remaining = status["disruptionsAllowed"] - 1
    counted = {**status, "disruptionsAllowed": remaining, "disruptedPods": {**(status.get("disruptedPods") or {})}}
    counted["disruptedPods"][write.name] = now
    if not remaining:
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        counted["conditions"] = [*other_conditions(budget, "DisruptionAllowed"), condition]
    served = state.registry.built_in(*BUDGETS)
    target = (write.namespace, budget["metadata"]["name"], "status")
    by_server = replace(write.request, internal=True)
    part = Write(served, *target, "kube-apiserver", dry_run=False, validation="Ignore", request=by_server, now=now)
    await update(state, part, lambda old: UpdatedObject({**old, "status": counted}))


async def bind(state: State, write: Write) -> Object:
    """Assign a pod to a node; return a Status (400, 404, 409, 500)."""
    binding = read_unstored(write, _BINDING)
    name = write.name or binding["metadata"].get("name", "")
    require_namespace(state, write.resource, write.namespace, name, dry_run=True)
    if not write.name:  # an object of the resource `bindings` instead of a subresource
        _check_target(binding.get("target") or {})
        if not name:
            raise bad_request("Name parameter required.")
        write = replace(write, name=name)
    binding = await _admitted(state, write, "Binding", binding)
    target = binding.get("target") or {}
    _check_target(target)
    meta = with_topology(state, binding["metadata"], target["name"])
    pods = state.registry.built_in(*PODS)
    pod = get(state, pods, write.namespace, write.name).object
    for member, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if meta.get(member) and meta[member] != pod["metadata"][member]:
            raise precondition_failed(replace(write, resource=pods), label, meta[member], pod["metadata"][member])
    if reason := _unbindable(pod):
        raise conflict(replace(pods, plural="pods/binding"), write.name, reason)
    bound = with_condition(pod, "PodScheduled", "True", timestamp(state.clock))
    for member in ("annotations", "labels"):
        if meta.get(member):
            bound["metadata"] = {**bound["metadata"], member: {**bound["metadata"].get(member, {}), **meta[member]}}
    bound["spec"] = {**bound["spec"], "nodeName": target["name"]}
    bound["status"].pop("nominatedNodeName", None)
    if not write.dry_run:
        state.store.put(PODS, bound)
    return _SUCCESS


def _check_target(target: Object) -> None:
    texts = []
    if target.get("kind") not in (None, "", "Node"):
        texts.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")).text)
    if not target.get("name"):
        texts.append(required("target.name").text)
    if texts:
        raise ApiFailure(500, "", joined(texts))


def _unbindable(pod: Object) -> str:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    return f"pod {name} has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


def with_condition(pod: Object, kind: str, status: str, now: str, **details: str) -> Object:
    """Return a copy of the pod with this condition, whose transition time stays while its status does."""
    conditions = conditions_of(pod)
    present = next((entry for entry in conditions if entry.get("type") == kind), None)
    since = present["lastTransitionTime"] if present and present.get("status") == status else now
    condition = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since, **details}
    conditions = [condition if entry is present else entry for entry in conditions] + ([] if present else [condition])
    return {**pod, "status": {**(pod.get("status") or {}), "conditions": conditions}}
