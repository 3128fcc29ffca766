"""Admission webhooks: whoever is registered is asked about a write, may change what is written, or refuse it.

Mutating webhooks are asked one after the other, each about what the one before it made; then the object is checked;
then the server's own `plugins` judge, all validating webhooks at once, and the quotas. The server's own controllers are
not held up by webhooks: what they write is not asked about.
"""

import uuid
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from clientgo.apiserver.admission.plugins import check_policies, set_policy_defaults
from clientgo.apiserver.admission.quota import check_quota
from clientgo.apiserver.admission.webhookcalls import CallFailed, Endpoint, endpoint_of, post
from clientgo.apiserver.admission.webhookmatching import (
    GROUP,
    MUTATING,
    VALIDATING,
    Hook,
    concerns,
    conditions_hold,
    hooks,
)
from clientgo.apiserver.auth.authorization import Attributes, authorize
from clientgo.apiserver.handlers.patches.formats import json_patch
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import ApiFailure, bad_request, internal_error
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.registry.views import from_storage, to_storage
from clientgo.apiserver.state import State
from clientgo.apiserver.suspension import Paused, Question

Object = dict[str, Any]

_API_VERSION = "admission.k8s.io/v1"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_encode = msgspec.json.Encoder().encode


def mutate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> Object | None:
    """What policies and the mutating webhooks make of the object: the one given, if they leave it alone.

    Raises:
        Paused: one has to be asked first.
        ApiFailure: one refuses, or cannot be asked and must not be passed over.
    """
    if operation == "CREATE" and new is not None:
        new = set_policy_defaults(state, write, new)
    if _exempt(state, MUTATING, write):
        return new
    called: list[Hook] = []
    again: list[Hook] = []
    for hook in hooks(state, MUTATING, write, operation):
        changed = _mutated(state, write, hook, (operation, new, old))
        if changed != new:
            again += [one for one in called if one.spec.get("reinvocationPolicy") == "IfNeeded" and one not in again]
        called.append(hook)
        new = changed
    for hook in again:
        new = _mutated(state, write, hook, (operation, new, old))
    return new


def check(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    """Let the policies of the server, then the validating webhooks, then the quotas judge.

    Raises:
        Paused: some have to be asked first.
        ApiFailure: one refuses, or cannot be asked and must not be passed over.
    """
    if new is not None:
        check_policies(state, write, new, old)
    if not _exempt(state, VALIDATING, write):
        _ask_all(state, write, operation, new, old)
    if new is not None:
        check_quota(state, write, new, old)


def _ask_all(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    open_questions: list[Question] = []
    judged: list[tuple[Hook, Any]] = []
    for hook in hooks(state, VALIDATING, write, operation):
        try:
            judged.append((hook, _response(state, write, hook, (operation, new, old))))
        except Paused as paused:
            open_questions += paused.questions
    if open_questions:
        raise Paused(open_questions)
    for hook, response in judged:
        _judge(write, hook, response)


def require_create(state: State, write: Write) -> None:
    """Refuse a write that turns out to create what it was to change, if its user may not create.

    Raises:
        ApiFailure: 403.
    """
    if write.internal or state.options.authorization == "AlwaysAllow":
        return
    resource = write.resource
    place = (write.subresource, write.namespace, write.name)
    authorize(state, Attributes(write.user, "create", resource.group, resource.version, resource.plural, *place))


def _exempt(state: State, key: tuple[str, str], write: Write) -> bool:
    return write.internal or not state.store.count(key) or write.resource.group == GROUP


Case = tuple[str, Object | None, Object | None]  # the operation, the object, what it replaces


def _mutated(state: State, write: Write, hook: Hook, case: Case) -> Object | None:
    new = case[1]
    response = _response(state, write, hook, case)
    _judge(write, hook, response)
    # Neither one that was not asked nor one that could not be, and whose configuration lets that pass, has a patch.
    patch = response.get("patch") if isinstance(response, dict) else None
    if not patch:
        return new
    try:
        if new is None:
            raise CallFailed("a webhook cannot change what is deleted")
        if response.get("patchType") != "JSONPatch":
            raise CallFailed(f'unsupported patch type "{response.get("patchType") or ""}"')
        shown = _converted(write.resource, hook.resource, new)
        patched = json_patch(shown, msgspec.json.decode(b64decode(patch, validate=True)))
    except (CallFailed, NotBase64, msgspec.DecodeError, TypeError, ApiFailure) as error:
        raise internal_error(f'webhook "{hook.name}" attempted to patch the object: {error}') from error
    if not isinstance(patched, dict) or any(patched.get(one) != shown[one] for one in ("apiVersion", "kind")):
        raise internal_error(f'webhook "{hook.name}" made another kind of the object')
    return new if patched == shown else _converted(hook.resource, write.resource, patched)


def _response(state: State, write: Write, hook: Hook, case: Case) -> Any:
    """The webhook's response; None where it is not asked, a `CallFailed` where it cannot be."""
    _, new, old = case
    if not concerns(state, hook, write, new, old):
        return None
    request = _request(write, hook, case)
    if not conditions_hold(hook, write, request):
        return None
    if write.dry_run and hook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
        raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
    key = (hook.configuration, hook.name, _encode(request))
    if key not in write.kept:
        call = partial(_ask, _endpoint(state, hook), request, hook.seconds)
        raise Paused([Question(call, partial(write.kept.__setitem__, key))])
    return write.kept[key]


def _endpoint(state: State, hook: Hook) -> Callable[[], Endpoint]:
    return partial(endpoint_of, hook.spec.get("clientConfig") or {}, dict(state.options.webhook_services))


def _ask(endpoint: Callable[[], Endpoint], request: Object, seconds: float) -> Any:
    uid = str(uuid.uuid4())
    body = {"kind": "AdmissionReview", "apiVersion": _API_VERSION, "request": {"uid": uid, **request}}
    try:
        answer = post(endpoint(), body, seconds)
    except CallFailed as error:
        return CallFailed(f"failed to call webhook: {error}")
    response = answer.get("response")
    wrong = ""
    if (answer.get("apiVersion"), answer.get("kind")) != (_API_VERSION, "AdmissionReview"):
        wrong = (
            f"expected webhook response of {_API_VERSION}, Kind=AdmissionReview, got {answer.get('apiVersion') or ''},"
            f" Kind={answer.get('kind') or ''}"
        )
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
    write.warnings.extend(str(text) for text in response.get("warnings") or ())
    if response.get("allowed") is True:
        return
    status = response.get("status") if isinstance(response.get("status"), dict) else {}
    denied = f'admission webhook "{hook.name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    code = status.get("code")
    code = code if isinstance(code, int) and 400 <= code < 600 else 400
    raise ApiFailure(code, status.get("reason") or "", message, details=status.get("details"))


def _request(write: Write, hook: Hook, case: Case) -> Object:
    operation, new, old = case
    options: Object = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
    if write.dry_run:
        options["dryRun"] = ["All"]
    if operation != "DELETE":
        options["fieldManager"] = write.manager
    own = write.resource
    request: Object = {
        "kind": _kind(hook.resource),
        "resource": _resource(hook.resource),
        "subResource": write.subresource,
        "requestKind": _kind(own),
        "requestResource": _resource(own),
        "requestSubResource": write.subresource,
        "name": write.name or ((new or {}).get("metadata") or {}).get("name", ""),
        "namespace": write.namespace,
        "operation": operation,
        "userInfo": write.user.info,
        "object": _converted(own, hook.resource, new) if new is not None else None,
        "oldObject": _converted(own, hook.resource, old) if old is not None else None,
        "dryRun": write.dry_run,
        "options": options,
    }
    return {member: value for member, value in request.items() if value != ""}


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _converted(given: Resource, wanted: Resource, obj: Object) -> Object:
    return obj if given is wanted else from_storage(wanted, to_storage(given, obj))
