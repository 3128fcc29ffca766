"""Admission policies: which bindings match a write, and what they reject, warn about or change."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.errors import Restorable
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.admission.expressions import (
    PolicyError,
    Values,
    admission_values,
    conditions_hold,
    evaluated,
    evaluated_within,
    with_variables,
)
from clientgo_apiserver.admission.matching import (
    GROUP,
    MUTATING_POLICIES,
    VALIDATING_POLICIES,
    Case,
    admission_request,
    converted,
    matched_resource,
    object_name,
    selected,
)
from clientgo_apiserver.admission.mutations import applied, json_patched
from clientgo_apiserver.api.limits import CONDITIONS_COST, MAX_MESSAGE_BYTES, RULES_COST
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import ApiFailure, details_of
from clientgo_apiserver.cel.admission import BOOL, NULL, OBJECT, PATCHES, STRING, AdmissionScope
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.http.steps import run_rules
from clientgo_apiserver.registry.validation.expressions import composed_variables
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key

VALIDATING: tuple[Key, Key] = (VALIDATING_POLICIES, (GROUP, "validatingadmissionpolicybindings"))
MUTATING: tuple[Key, Key] = (MUTATING_POLICIES, (GROUP, "mutatingadmissionpolicybindings"))
_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_MOST_VALUE = 10 << 10


@dataclass(frozen=True, slots=True)
class Invocation:
    """A policy with a binding that matches a write, and the version of the resource that it requests."""

    policy: Object
    binding: Object
    resource: Resource

    @property
    def spec(self) -> Object:
        """The spec of the policy."""
        spec: Object = self.policy["spec"]
        return spec

    @property
    def strict(self) -> bool:
        """True if errors of the policy reject the write."""
        return self.spec.get("failurePolicy") != "Ignore"

    @property
    def names(self) -> tuple[str, str]:
        """Names of the policy and the binding."""
        return self.policy["metadata"]["name"], self.binding["metadata"]["name"]


def _invocations(state: State, keys: tuple[Key, Key], write: Write, case: Case) -> Iterator[Invocation]:
    policies, bindings = keys
    if write.resource.storage in (*VALIDATING, *MUTATING):
        return
    for policy in state.store.list(policies):
        resource = _matched(state, policy["spec"].get("matchConstraints") or {}, write, case)
        if resource is None:
            continue
        for binding in state.store.list(bindings):
            spec = binding["spec"]
            named = spec.get("policyName") == policy["metadata"]["name"]
            if named and _matched(state, spec.get("matchResources") or {}, write, case) is not None:
                yield Invocation(policy, binding, resource)


def _matched(state: State, match: Object, write: Write, case: Case) -> Resource | None:
    if not selected(state, match, write, *case[1:]):
        return None
    exact = match.get("matchPolicy") == "Exact"
    if matched_resource(state, match.get("excludeResourceRules") or (), write, case, exact=exact) is not None:
        return None
    rules = match.get("resourceRules")
    return matched_resource(state, rules, write, case, exact=exact) if rules else write.resource


class UnknownParams(Restorable, PolicyError):
    """Failure of a policy and all of its bindings: the kind of its parameters is not served."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"failed to configure policy: failed to find resource referenced by paramKind: '{kind}'")


def _params(state: State, invocation: Invocation, namespace: str) -> list[Object | None]:
    """Return the parameters of a binding; one None if it has none.

    Raises:
        PolicyError: the parameters are misconfigured or missing.
    """
    kind, reference = invocation.spec.get("paramKind"), invocation.binding["spec"].get("paramRef")
    if kind is None or reference is None:
        return [None]
    group, _, version = kind["apiVersion"].rpartition("/")
    served = [
        resource
        for resource in state.registry.resources()
        if (resource.group, resource.version, resource.kind) == (group, version, kind["kind"])
    ]
    if not served:
        raise UnknownParams(f"{group}/{version}, Kind={kind['kind']}")
    params = _referenced(state, served[0], reference, namespace)
    if not params and reference.get("parameterNotFoundAction") == "Deny":
        raise PolicyError(
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return list(params)


def _referenced(state: State, resource: Resource, reference: Object, namespace: str) -> list[Object]:
    params_namespace = (reference.get("namespace") or namespace) if resource.namespaced else ""
    if resource.namespaced and not params_namespace:
        reason = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        raise PolicyError(f"failed to configure binding: {reason}")
    if not resource.namespaced and reference.get("namespace"):
        reason = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
        raise PolicyError(f"failed to configure binding: {reason}")
    if reference.get("name"):
        params = state.store.get(resource.storage, params_namespace, reference["name"])
        return [] if params is None else [params]
    listed = (
        candidate
        for candidate in state.store.list(resource.storage)
        if candidate["metadata"].get("namespace", "") == params_namespace
    )
    return [
        candidate
        for candidate in listed
        if selects(reference.get("selector"), candidate["metadata"].get("labels") or {})
    ]


@dataclass(frozen=True, slots=True)
class _Subject:
    """Variables of the expressions of an invocation, for one parameter."""

    invocation: Invocation
    values: Values
    composed: tuple[tuple[str, ExprType], ...] | None

    def scope(self, *, authorizer: bool = True, patches: bool = False) -> AdmissionScope:
        """Return the scope of expressions in the policy."""
        return AdmissionScope("paramKind" in self.invocation.spec, authorizer, patches, self.composed)

    def matches(self) -> bool:
        """Return whether the matchConditions hold; they do not see the policy's variables."""
        scope = AdmissionScope("paramKind" in self.invocation.spec)
        conditions = self.invocation.spec.get("matchConditions") or ()
        return evaluated_within(CONDITIONS_COST, conditions_hold, conditions, scope, self.values)


async def _subjects(state: State, write: Write, invocation: Invocation, case: Case) -> list[_Subject]:
    operation, new, old = case
    source, target = write.resource, invocation.resource
    new, old = [None if obj is None else await converted(source, target, obj) for obj in (new, old)]
    request = await admission_request(write, target, case)
    values = admission_values(state, write, request, (operation, new, old))
    composed = composed_variables(invocation.spec)
    return [
        _Subject(invocation, with_variables({**values, "params": params}, invocation.spec, composed), composed)
        for params in _params(state, invocation, write.namespace)
    ]


@dataclass(frozen=True, slots=True)
class _Failure:
    message: str
    reason: str = "Invalid"
    index: int = 0
    unbound: bool = False
    """True for a failure of the policy without its binding."""
    certain: bool = False
    """True for errors of a strict policy, which reject the write regardless of the binding's actions."""


async def validate(state: State, write: Write, case: Case) -> None:
    """Evaluate the validating policies (403, 413, 422)."""
    denied: tuple[str, str] | None = None
    for invocation in _invocations(state, VALIDATING, write, case):
        policy, binding = invocation.names
        for failure in await _failures(state, write, invocation, case):
            bound = "" if failure.unbound else f" with binding '{binding}'"
            message = f"ValidatingAdmissionPolicy '{policy}'{bound} denied request: {failure.message}"
            actions = ["Deny"] if failure.certain else invocation.binding["spec"].get("validationActions") or []
            if "Deny" in actions and denied is None:
                denied = message, failure.reason
            if "Warn" in actions:
                violation = f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}'"
                write.request.warnings.append(f"{violation}: {failure.message}")
            if "Audit" in actions:
                _audit(write, _FAILURE, _audited(failure, invocation))
    if denied is not None:
        raise _rejected(write, object_name(write, case), *denied)


def _rejected(write: Write, name: str, message: str, reason: str, *, code: int = 0) -> ApiFailure:
    """Return the error of a policy; one of a mutating policy has a code that its reason does not imply."""
    name = name or "Unknown"  # in a collection
    details = {**details_of(write.resource, name), "causes": [{"message": message}]}
    text = message if code else f'{write.resource.qualified} "{name}" is forbidden: {message}'
    return ApiFailure(code or _CODES.get(reason, 422), reason, text, details=details)


def _audit(write: Write, key: str, value: str) -> None:
    write.request.annotations[key] = value


def _audited(failure: _Failure, invocation: Invocation) -> str:
    policy, binding = invocation.names
    details = {"message": failure.message, "policy": policy, "binding": binding, "expressionIndex": failure.index}
    actions = invocation.binding["spec"].get("validationActions")
    return msgspec.json.encode([{**details, "validationActions": actions}]).decode()


async def _failures(state: State, write: Write, invocation: Invocation, case: Case) -> list[_Failure]:
    failures: list[_Failure] = []
    try:
        for subject in await _subjects(state, write, invocation, case):
            try:
                failures += await run_rules(write.request, 0, _violations, write, subject)
            except PolicyError as error:
                if invocation.strict:
                    failures.append(_Failure(str(error)))
    except PolicyError as error:
        if invocation.strict:
            failures.append(_Failure(str(error), certain=True, unbound=isinstance(error, UnknownParams)))
    return failures


def _violations(write: Write, subject: _Subject) -> list[_Failure]:
    if not subject.matches():
        return []
    return evaluated_within(RULES_COST, lambda: [*_validated(subject), *_annotated(write, subject)])


def _validated(subject: _Subject) -> Iterator[_Failure]:
    for index, validation in enumerate(subject.invocation.spec.get("validations") or ()):
        try:
            holds = evaluated(validation["expression"], subject.scope(), subject.values, BOOL)
        except PolicyError as error:
            if subject.invocation.strict:
                yield _Failure(str(error), index=index)
            continue
        if holds is not True:
            yield _Failure(_message(subject, validation), validation.get("reason") or "Invalid", index)


def _message(subject: _Subject, validation: Object) -> str:
    text = ""
    if validation.get("messageExpression"):
        try:
            scope = subject.scope(authorizer=False)
            text = str(evaluated(validation["messageExpression"], scope, subject.values, STRING)).strip()
        except PolicyError:
            text = ""  # Kubernetes falls back to the message, too.
    if "\n" in text or len(text.encode()) > MAX_MESSAGE_BYTES:
        text = ""
    return (
        text or str(validation.get("message") or "").strip() or f"failed expression: {validation['expression'].strip()}"
    )


def _annotated(write: Write, subject: _Subject) -> Iterator[_Failure]:
    policy, _ = subject.invocation.names
    for annotation in subject.invocation.spec.get("auditAnnotations") or ():
        try:
            value = evaluated(annotation["valueExpression"].strip(), subject.scope(), subject.values, STRING, NULL)
        except PolicyError as error:
            if subject.invocation.strict:
                yield _Failure(str(error), certain=True)
            continue
        if value is not None and value.strip():
            _audit(write, f"{policy}/{annotation['key']}", value.strip()[:_MOST_VALUE])


async def mutate(state: State, write: Write, case: Case) -> Object | None:
    """Return the object after the mutating policies (403); the same object if they change nothing."""
    operation, new, old = case
    if new is None:
        return new
    again: list[Invocation] = []
    called: list[Invocation] = []
    for invocation in _invocations(state, MUTATING, write, case):
        changed = await _mutated(state, write, invocation, (operation, new, old))
        if not same(changed, new):
            again += [
                earlier
                for earlier in called
                if earlier.spec.get("reinvocationPolicy") == "IfNeeded" and earlier not in again
            ]
        called.append(invocation)
        new = changed
    for invocation in again:
        new = await _mutated(state, write, invocation, (operation, new, old))
    return new


async def _mutated(state: State, write: Write, invocation: Invocation, case: Case) -> Object:
    new = case[1]
    assert new is not None
    patched: Object | None = None
    reason = "Forbidden"  # of a wrong policy or binding
    try:
        subjects = await _subjects(state, write, invocation, case)
        reason = "Invalid"
        for subject in subjects:
            if patched is not None:
                subject.values["object"] = patched
            try:
                patched = await run_rules(write.request, 0, _all_patched, subject) or patched
            except PolicyError:
                if invocation.strict:
                    raise
    except PolicyError as error:
        if invocation.strict:
            policy, binding = invocation.names
            message = f"policy '{policy}' with binding '{binding}' denied request: {error}"
            raise _rejected(write, object_name(write, case), message, reason, code=403) from None
    return new if patched is None else await converted(invocation.resource, write.resource, patched)


def _all_patched(subject: _Subject) -> Object | None:
    return evaluated_within(RULES_COST, _patched_by_all, subject) if subject.matches() else None


def _patched_by_all(subject: _Subject) -> Object:
    patched: Object = subject.values["object"]
    for mutation in subject.invocation.spec.get("mutations") or ():
        try:
            patched = _patched(subject, mutation, patched)
        except PolicyError:  # the other mutations are not undone
            if subject.invocation.strict:
                raise
    return patched


def _patched(subject: _Subject, mutation: Object, current: Any) -> Object:
    values = {**subject.values, "object": current}
    if subject.composed is not None:
        values = with_variables(values, subject.invocation.spec, subject.composed)
    scope = subject.scope(patches=True)
    if mutation["patchType"] == "JSONPatch":
        return json_patched(current, evaluated(mutation["jsonPatch"]["expression"].strip(), scope, values, PATCHES))
    patch = evaluated(mutation["applyConfiguration"]["expression"].strip(), scope, values, OBJECT)
    return applied(subject.invocation.resource, current, patch)
