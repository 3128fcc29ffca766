"""Admission webhooks: which webhooks match a write, and what they change or reject.

Mutating webhooks are called one after the other, each with the result of the previous one; then the object is
validated; then the built-in `plugins`, all validating webhooks concurrently, and the quotas decide. Writes of the
server's own controllers skip webhooks.
"""

import uuid
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from clientgo.apiserver.admission.matching import (
    GROUP,
    MUTATING_POLICIES,
    VALIDATING_POLICIES,
    Case,
    admission_request,
    converted,
    matched_resource,
    selected,
)
from clientgo.apiserver.admission.plugins import check_policies
from clientgo.apiserver.admission.quota import check_quota
from clientgo.apiserver.admission.webhookcalls import CallFailed, endpoint_of, post
from clientgo.apiserver.auth.authorization import Attributes, authorize
from clientgo.apiserver.handlers.patches import json_patch
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import ApiFailure, bad_request, forbidden, internal_error
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.state import State, WebhookEndpoint
from clientgo.apiserver.storage.stored import Key
from clientgo.apiserver.suspension import ExternalCall, Paused
from clientgo.meta.jsonvalues import same

MUTATING: Key = (GROUP, "mutatingwebhookconfigurations")
VALIDATING: Key = (GROUP, "validatingwebhookconfigurations")


@dataclass(frozen=True, slots=True)
class Hook:
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
    from clientgo.apiserver.admission.expressions import (  # noqa: PLC0415
        PolicyError,
        admission_values,
        conditions_hold,
    )
    from clientgo.apiserver.cel.admission import AdmissionScope  # noqa: PLC0415

    case = request["operation"], request.get("object"), request.get("oldObject")
    values = admission_values(state, write, request, case)
    try:
        return conditions_hold(conditions, AdmissionScope(), values)
    except PolicyError as error:
        if hook.lenient:
            return False
        raise forbidden(write.resource, write.name, str(error)) from None


_API_VERSION = "admission.k8s.io/v1"
_encode = msgspec.json.Encoder().encode


def mutate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> Object | None:
    """Return the object after the policies and mutating webhooks; the same object if unchanged."""
    if _may_apply(state, MUTATING_POLICIES, write):
        from clientgo.apiserver.admission import policies  # noqa: PLC0415 (see above)

        new = policies.mutate(state, write, (operation, new, old))
    if not _may_apply(state, MUTATING, write) or write.resource.group == GROUP:
        return new
    called: list[Hook] = []
    again: list[Hook] = []
    for hook in _hooks(state, MUTATING, write, (operation, new, old)):
        changed = _mutated(state, write, hook, (operation, new, old))
        if not same(changed, new):
            again += [one for one in called if one.spec.get("reinvocationPolicy") == "IfNeeded" and one not in again]
        called.append(hook)
        new = changed
    for hook in again:
        new = _mutated(state, write, hook, (operation, new, old))
    return new


def check(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    """Run the policies, then the validating webhooks, then the quotas."""
    if new is not None:
        check_policies(state, write, new, old)
    if _may_apply(state, VALIDATING_POLICIES, write):
        from clientgo.apiserver.admission import policies  # noqa: PLC0415 (see above)

        policies.validate(state, write, (operation, new, old))
    if _may_apply(state, VALIDATING, write) and write.resource.group != GROUP:
        _call_all(state, write, operation, new, old)
    if new is not None and write.subresource in ("", "resize"):
        check_quota(state, write, new, old)


def _call_all(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    pending: list[ExternalCall] = []
    judged: list[tuple[Hook, Any]] = []
    for hook in _hooks(state, VALIDATING, write, (operation, new, old)):
        try:
            judged.append((hook, _response(state, write, hook, (operation, new, old))))
        except Paused as paused:
            pending += paused.calls
    if pending:
        raise Paused(pending)
    for hook, response in judged:
        _judge(write, hook, response)


def require_create(state: State, write: Write) -> None:
    """Check that the user may create an object that an update turns out to create (403)."""
    if write.request.internal or state.options.authorization == "AlwaysAllow":
        return
    resource = write.resource
    place = (write.subresource, write.namespace, write.name)
    authorize(
        state, Attributes(write.request.user, "create", resource.group, resource.version, resource.plural, *place)
    )


def _may_apply(state: State, key: Key, write: Write) -> bool:
    """Return whether any objects of this key exist, and the write is a client's."""
    return state.store.count(key) > 0 and not write.request.internal


def _mutated(state: State, write: Write, hook: Hook, case: Case) -> Object | None:
    new = case[1]
    response = _response(state, write, hook, case)
    _judge(write, hook, response)
    # A webhook that was not called, or whose failure is ignored, has no patch.
    patch = response.get("patch") if isinstance(response, dict) else None
    if not patch:
        return new
    try:
        if new is None:
            raise CallFailed("a webhook cannot change what is deleted")
        if response.get("patchType") != "JSONPatch":
            raise CallFailed(f'unsupported patch type "{response.get("patchType") or ""}"')
        shown = converted(write.resource, hook.resource, new)
        patched = json_patch(shown, msgspec.json.decode(b64decode(patch, validate=True)))
    except (CallFailed, NotBase64, msgspec.DecodeError, TypeError, ApiFailure) as error:
        raise internal_error(f'webhook "{hook.name}" attempted to patch the object: {error}') from error
    if not isinstance(patched, dict) or any(patched.get(one) != shown[one] for one in ("apiVersion", "kind")):
        raise internal_error(f'webhook "{hook.name}" made another kind of the object')
    return new if same(patched, shown) else converted(hook.resource, write.resource, patched)


def _response(state: State, write: Write, hook: Hook, case: Case) -> Any:
    """Return the webhook's response; None if it is not called, a `CallFailed` if the call failed."""
    _, new, old = case
    if not selected(state, hook.spec, write, new, old):
        return None
    request = admission_request(write, hook.resource, case)
    if not _conditions_hold(state, hook, write, request):
        return None
    if write.dry_run and hook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
    key = (hook.configuration, hook.name, _encode(request))
    if key not in write.request.kept:
        client, seconds = hook.spec.get("clientConfig") or {}, float(hook.spec.get("timeoutSeconds") or 10)
        service = client.get("service") or {}
        exists = state.store.entry(("", "services"), service.get("namespace", ""), service.get("name", "")) is not None
        services = dict(state.options.webhook_services)
        endpoint = partial(endpoint_of, client, services, seconds=seconds, exists=exists)
        call = partial(_call, endpoint, request, seconds)
        raise Paused([ExternalCall(call, partial(write.request.kept.__setitem__, key))])
    return write.request.kept[key]


def _call(endpoint: Callable[[], WebhookEndpoint], request: Object, seconds: float) -> Any:
    uid = str(uuid.uuid4())
    body = {"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": {"uid": uid, **request}}
    try:
        answer = post(endpoint(), body, seconds)
    except CallFailed as error:
        return CallFailed(f"failed to call webhook: {error}")
    response = answer.get("response")
    wrong = ""
    wanted, got = (f"{one.get('apiVersion') or ''}, Kind={one.get('kind') or ''}" for one in (body, answer))
    if wanted != got:
        wrong = f"expected webhook response of {wanted}, got {got}"
    elif not isinstance(response, dict):
        wrong = "webhook response did not include response"
    elif response.get("uid") != uid:
        wrong = f'expected response.uid="{uid}", got "{response.get("uid") or ""}"'
    return CallFailed(f"received invalid webhook response: {wrong}") if wrong else response


def _judge(write: Write, hook: Hook, response: Any) -> None:
    if response is None:
        return
    if isinstance(response, CallFailed):
        if hook.lenient:
            return
        raise internal_error(f'failed calling webhook "{hook.name}": {response}')
    write.request.warnings.extend(str(text) for text in response.get("warnings") or ())
    if response.get("allowed") is True:
        return
    status = response.get("status") if isinstance(response.get("status"), dict) else {}
    denied = f'admission webhook "{hook.name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    code = status.get("code")
    code = code if isinstance(code, int) and 400 <= code < 600 else 400
    raise ApiFailure(code, status.get("reason") or "", message, details=status.get("details"))
