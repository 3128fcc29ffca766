"""Admission webhooks: which webhooks match a write, and what they change or reject.

Mutating webhooks are called one after the other, each with the result of the previous one; validating webhooks
concurrently.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from clientgo.meta.jsonvalues import same
from clientgo_apiserver.admission.matching import GROUP, Case, admission_request, converted, matched_resource, selected
from clientgo_apiserver.api.limits import CONDITIONS_COST
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, bad_request, forbidden, internal_error
from clientgo_apiserver.http.decode import parse_json
from clientgo_apiserver.http.jsonpatch import decoded_operations, json_patch
from clientgo_apiserver.http.nesting import value_error
from clientgo_apiserver.http.steps import run_rules
from clientgo_apiserver.http.webhookclient import CallFailed, ReviewStatus, WebhookReview, concurrently, endpoint_of
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import SERVICES
from clientgo_apiserver.storage.stored import Key

MUTATING: Key = (GROUP, "mutatingwebhookconfigurations")
_VIRTUAL = ("authentication.k8s.io", "authorization.k8s.io")
"""Groups of reviews, which are not stored."""
VALIDATING: Key = (GROUP, "validatingwebhookconfigurations")


class CalledLater(Exception):
    """A webhook has to be called for a write that waits for nothing."""


class Hook(msgspec.Struct, frozen=True):
    """One webhook of one configuration, and the version of the resource that its rules request."""

    configuration: str
    spec: Mapping[str, Any]
    resource: Resource

    @property
    def name(self) -> str:
        """Name of the webhook in messages."""
        return str(self.spec.get("name", ""))

    @property
    def lenient(self) -> bool:
        """True if the write continues after a failed call."""
        return self.spec.get("failurePolicy") == "Ignore"


def _hooks(state: State, key: Key, write: Write, case: Case) -> Iterator[Hook]:
    """Yield the webhooks whose rules match this write, by the names of their configurations."""
    if write.resource.group in _VIRTUAL and current().enabled("ExcludeAdmissionWebhookVirtualResources"):
        return
    for configuration in state.store.list(key):
        for spec in configuration.get("webhooks") or ():
            resource = matched_resource(
                state, spec.get("rules") or (), write, case, exact=spec.get("matchPolicy") == "Exact"
            )
            if resource is not None:
                yield Hook(configuration["metadata"]["name"], spec, resource)


def _conditions_hold(state: State, hook: Hook, write: Write, request: Object) -> bool:
    conditions = hook.spec.get("matchConditions")
    if not conditions:
        return True
    # Imported where they are used, like policies: CEL takes longer to load than a tenth of a server's start.
    from clientgo_apiserver.admission.expressions import (  # noqa: PLC0415
        PolicyError,
        admission_values,
        conditions_hold,
        evaluated_within,
    )
    from clientgo_apiserver.cel.admission import AdmissionScope  # noqa: PLC0415

    case = request["operation"], request.get("object"), request.get("oldObject")
    values = admission_values(state, write, request, case)
    try:
        return evaluated_within(CONDITIONS_COST, conditions_hold, conditions, AdmissionScope(), values)
    except PolicyError as error:
        if hook.lenient:
            return False
        raise forbidden(write.resource, request.get("name", ""), str(error)) from None


_API_VERSION = "admission.k8s.io/v1"


class _AdmissionResponse(msgspec.Struct, rename="camel"):
    """Response of an admission webhook."""

    uid: str | None = None
    allowed: bool | None = None
    status: ReviewStatus | None = None
    patch: bytes | None = None
    patch_type: str | None = None
    audit_annotations: dict[str, str] | None = None
    warnings: list[str] | None = None


class _AdmissionReview(WebhookReview):
    """A webhook's AdmissionReview."""

    response: _AdmissionResponse | None = None


async def mutate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> Object | None:
    """Return the object after the mutating webhooks; the same object if unchanged."""
    if write.resource.group == GROUP:
        return new
    called: list[Hook] = []
    again: list[Hook] = []
    for hook in _hooks(state, MUTATING, write, (operation, new, old)):
        changed = await _mutated(state, write, hook, (operation, new, old))
        if not same(changed, new):
            again += [
                earlier
                for earlier in called
                if earlier.spec.get("reinvocationPolicy") == "IfNeeded" and earlier not in again
            ]
        called.append(hook)
        new = changed
    for hook in again:
        new = await _mutated(state, write, hook, (operation, new, old))
    return new


async def validate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    """Call the validating webhooks (4xx, 500)."""
    if write.resource.group == GROUP:
        return
    case = (operation, new, old)
    judgements = (_judge(state, write, hook, case, _no_patch) for hook in _hooks(state, VALIDATING, write, case))
    if write.request.webhooks == "later":
        for judgement in judgements:
            await judgement
    else:
        await concurrently(judgements)


def may_be_called(state: State, write: Write, *keys: Key) -> bool:
    """Return whether there are webhooks of these keys that may be called for a write."""
    return write.request.webhooks != "never" and any(map(state.store.count, keys))


async def _mutated(state: State, write: Write, hook: Hook, case: Case) -> Object | None:
    new = case[1]
    operations = await _judge(state, write, hook, case, _patch_of)
    if not operations:
        return new
    if new is None:
        reason = f'admission webhook "{hook.name}" attempted to modify the object'
        raise internal_error(f"{reason}, which is not supported for this operation")
    current = await converted(write.resource, hook.resource, new)
    try:
        patched = json_patch(current, operations)
    except ApiFailure as error:
        raise internal_error(f'webhook "{hook.name}" attempted to patch the object: {error}') from error
    if not isinstance(patched, dict) or any(
        patched.get(member) != current[member] for member in ("apiVersion", "kind")
    ):
        raise internal_error(f'webhook "{hook.name}" made another kind of the object')
    if too_deep := value_error(patched):
        raise internal_error(f'webhook "{hook.name}" attempted to patch the object: {too_deep}')
    return new if same(patched, current) else await converted(hook.resource, write.resource, patched)


async def _judge(state: State, write: Write, hook: Hook, case: Case, read: Callable[[_AdmissionResponse], Any]) -> Any:
    """Call a webhook that matches, and return what `read` reads from the response; None if there is none.

    Errors of `read` are failures of the call, which the webhook's failurePolicy may ignore.
    """
    _, new, old = case
    if not selected(state, hook.spec, write, new, old):
        return None
    request = await admission_request(write, hook.resource, case)
    if not await run_rules(write.request, 0, _conditions_hold, state, hook, write, request):
        return None
    if write.dry_run and hook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
    if write.request.webhooks == "later":
        raise CalledLater
    try:
        response = await _call(state, hook, request, write.request.budget.deadline)
        annotations = (response.audit_annotations or {}).items()
        write.request.annotations.update((f"{hook.name}/{key}", value) for key, value in annotations)
        write.request.warnings += response.warnings or []
        if not response.allowed:
            raise _denial(hook, response.status or ReviewStatus())
        return read(response)
    except CallFailed as error:
        if hook.lenient:
            return None
        raise internal_error(f'failed calling webhook "{hook.name}": {error}') from error


async def _call(state: State, hook: Hook, request: Object, deadline: float) -> _AdmissionResponse:
    """Return the response of a webhook to this request; raise `CallFailed`."""
    client = hook.spec.get("clientConfig") or {}
    seconds = max(0.0, min(float(hook.spec.get("timeoutSeconds") or 10), deadline - state.clock.now()))
    service, uid = client.get("service") or {}, str(uuid.uuid4())
    exists = state.store.entry(SERVICES, service.get("namespace", ""), service.get("name", "")) is not None
    body = {"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": {"uid": uid, **request}}
    try:
        endpoint = endpoint_of(client, state.options.webhook_services, seconds=seconds, exists=exists)
        review = await state.webhooks.post(endpoint, body, seconds, _AdmissionReview)
    except CallFailed as error:
        raise CallFailed(f"failed to call webhook: {error}") from error
    response = review.response
    if response is None:
        raise _invalid("webhook response was absent")
    if response.uid != uid:
        raise _invalid(f'expected response.uid="{uid}", got "{response.uid or ""}"')
    return response


def _invalid(reason: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {reason}")


def _no_patch(response: _AdmissionResponse) -> None:
    """Check that a validating webhook does not patch the object."""
    for field, value in (("patch", response.patch or None), ("patchType", response.patch_type)):
        if value is not None:
            raise _invalid(f"validating webhook may not return response.{field}")


def _patch_of(response: _AdmissionResponse) -> Any:
    """Return the operations of a mutating webhook's JSON patch; none if it has no patch."""
    kind = response.patch_type
    if response.patch and kind is None:
        raise _invalid("webhook returned response.patch but not response.patchType")
    if not response.patch and kind is not None:
        raise _invalid("webhook returned response.patchType but not response.patch")
    if not response.patch:
        return []
    if not kind:
        raise _invalid('webhook returned invalid response.patchType of ""')
    if kind != "JSONPatch":
        raise CallFailed(f'unsupported patch type "{kind}"')
    try:
        return decoded_operations(parse_json(response.patch))
    except ValueError as error:
        raise CallFailed(f"received undecodable patch in webhook response: {error}") from error


def _denial(hook: Hook, status: ReviewStatus) -> ApiFailure:
    denied = f'admission webhook "{hook.name}" denied the request'
    reason = status.message or status.reason
    message = f"{denied}: {reason}" if reason else f"{denied} without explanation"
    code = status.code if status.code and 400 <= status.code < 1000 else 400
    details = None if status.details is None else msgspec.to_builtins(status.details)
    return ApiFailure(code, status.reason or "", message, details=details)
