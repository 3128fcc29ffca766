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

from clientgo.apiserver.admission.defaulting import keep_policy_defaults, set_policy_defaults
from clientgo.apiserver.admission.namespaces import KEY as NAMESPACES
from clientgo.apiserver.admission.namespaces import is_namespace
from clientgo.apiserver.admission.plugins import check_policies
from clientgo.apiserver.admission.quota import check_quota
from clientgo.apiserver.admission.webhookcalls import CallFailed, endpoint_of, post
from clientgo.apiserver.apiextensions.cel import condition
from clientgo.apiserver.auth.authorization import Attributes, authorize
from clientgo.apiserver.handlers.patches import json_patch
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import ApiFailure, bad_request, forbidden, internal_error
from clientgo.apiserver.registry.registry import Object, Resource
from clientgo.apiserver.registry.views import from_storage, to_storage
from clientgo.apiserver.state import State, WebhookEndpoint
from clientgo.apiserver.storage.selection import selects
from clientgo.apiserver.storage.stored import Key
from clientgo.apiserver.suspension import ExternalCall, Paused

GROUP = "admissionregistration.k8s.io"
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


def _hooks(state: State, key: Key, write: Write, operation: str) -> Iterator[Hook]:
    """Yield the webhooks whose rules match this write, by the names of their configurations."""
    for configuration in state.store.list(key):
        for spec in configuration.get("webhooks") or ():
            resource = _matched_resource(state, spec, write, operation)
            if resource is not None:
                yield Hook(configuration["metadata"]["name"], spec, resource)


def _conditions_hold(hook: Hook, write: Write, request: Object) -> bool:
    values = {"object": request.get("object"), "oldObject": request.get("oldObject"), "request": request}
    errors = []
    for one in hook.spec.get("matchConditions") or ():
        result, error = condition(one.get("expression") or "", values)
        if error:
            errors.append(f"expression '{one.get('expression')}' resulted in error: {error}")
        elif not result:
            return False
    if errors and not hook.lenient:
        raise forbidden(write.resource, write.name, ", ".join(errors))
    return not errors


def _matched_resource(state: State, spec: Mapping[str, Any], write: Write, operation: str) -> Resource | None:
    """Return the write's resource, or the version of it that a rule names instead, or None."""
    resource = write.resource
    rules = [rule for rule in spec.get("rules") or () if _operation_and_scope(rule, resource, operation)]
    if any(_names(rule, resource, write.subresource) for rule in rules):
        return resource
    if spec.get("matchPolicy") == "Exact":
        return None
    others = [other for other in state.registry.of_storage(resource.storage) if other is not resource]
    return next((other for other in others for rule in rules if _names(rule, other, write.subresource)), None)


def _operation_and_scope(rule: Mapping[str, Any], resource: Resource, operation: str) -> bool:
    scope = rule.get("scope") or "*"
    scoped = scope == "*" or (scope == "Namespaced") is resource.namespaced
    return scoped and bool({"*", operation} & set(rule.get("operations") or ()))


def _names(rule: Mapping[str, Any], resource: Resource, subresource: str) -> bool:
    if not {"*", resource.group} & set(rule.get("apiGroups") or ()):
        return False
    if not {"*", resource.version} & set(rule.get("apiVersions") or ()):
        return False
    parts = (one.partition("/")[::2] for one in rule.get("resources") or ())
    return any(plural in ("*", resource.plural) and part in (subresource, "*") for plural, part in parts)


def _namespace_selected(state: State, selector: Any, write: Write, obj: Object | None) -> bool:
    if not selector or not (is_namespace(write.resource) or write.resource.namespaced):
        return True
    found = obj if is_namespace(write.resource) else state.store.get(NAMESPACES, "", write.namespace)
    return selects(selector, ((found or {}).get("metadata") or {}).get("labels") or {})


_API_VERSION = "admission.k8s.io/v1"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}
_encode = msgspec.json.Encoder().encode


def mutate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> Object | None:
    """Return the object after the policies and mutating webhooks; the same object if unchanged."""
    if operation == "CREATE" and new is not None and not write.subresource:
        new = set_policy_defaults(state, write, new)
    elif operation == "UPDATE" and new is not None and old is not None:
        new = keep_policy_defaults(write, new, old)
    if _exempt(state, MUTATING, write):
        return new
    called: list[Hook] = []
    again: list[Hook] = []
    for hook in _hooks(state, MUTATING, write, operation):
        changed = _mutated(state, write, hook, (operation, new, old))
        if changed != new:
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
    if not _exempt(state, VALIDATING, write):
        _call_all(state, write, operation, new, old)
    if new is not None and write.subresource in ("", "resize"):
        check_quota(state, write, new, old)


def _call_all(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    pending: list[ExternalCall] = []
    judged: list[tuple[Hook, Any]] = []
    for hook in _hooks(state, VALIDATING, write, operation):
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


def _exempt(state: State, key: tuple[str, str], write: Write) -> bool:
    return write.request.internal or not state.store.count(key) or write.resource.group == GROUP


Case = tuple[str, Object | None, Object | None]  # the operation, the object, what it replaces


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
        shown = _converted(write.resource, hook.resource, new)
        patched = json_patch(shown, msgspec.json.decode(b64decode(patch, validate=True)))
    except (CallFailed, NotBase64, msgspec.DecodeError, TypeError, ApiFailure) as error:
        raise internal_error(f'webhook "{hook.name}" attempted to patch the object: {error}') from error
    if not isinstance(patched, dict) or any(patched.get(one) != shown[one] for one in ("apiVersion", "kind")):
        raise internal_error(f'webhook "{hook.name}" made another kind of the object')
    return new if patched == shown else _converted(hook.resource, write.resource, patched)


def _response(state: State, write: Write, hook: Hook, case: Case) -> Any:
    """Return the webhook's response; None if it is not called, a `CallFailed` if the call failed."""
    _, new, old = case
    if not _namespace_selected(state, hook.spec.get("namespaceSelector"), write, new or old):
        return None
    selector, objects = hook.spec.get("objectSelector"), [obj for obj in (new, old) if obj is not None]
    if selector and not any(selects(selector, obj["metadata"].get("labels") or {}) for obj in objects):
        return None
    request = _request(write, hook, case)
    if not _conditions_hold(hook, write, request):
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


def _request(write: Write, hook: Hook, case: Case) -> Object:
    operation, new, old = case
    options: Object = {"kind": _OPTIONS[operation], "apiVersion": "meta.k8s.io/v1"}
    if write.dry_run:
        options["dryRun"] = ["All"]
    if operation != "DELETE":
        options["fieldManager"] = write.manager
    own = write.resource
    shown = _converted(own, hook.resource, new) if new is not None else None
    request: Object = {
        "kind": _kind(shown, hook.resource),
        "resource": _named(hook.resource, resource=hook.resource.plural),
        "subResource": write.subresource,
        "requestKind": _kind(new, own),
        "requestResource": _named(own, resource=own.plural),
        "requestSubResource": write.subresource,
        "name": write.name or ((new or {}).get("metadata") or {}).get("name", ""),
        "namespace": write.namespace,
        "operation": operation,
        "userInfo": write.request.user.info,
        "object": shown,
        "oldObject": _converted(own, hook.resource, old) if old is not None else None,
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


def _converted(given: Resource, wanted: Resource, obj: Object) -> Object:
    return obj if given is wanted else from_storage(wanted, to_storage(given, obj))
