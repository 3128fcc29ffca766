"""Which webhooks a write concerns: rules, namespaces, labels, conditions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.apiserver.admission.labelselectors import selects
from clientgo.apiserver.admission.namespaces import KEY as NAMESPACES
from clientgo.apiserver.admission.namespaces import is_namespace
from clientgo.apiserver.apiextensions.cel import condition
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden
from clientgo.apiserver.registry.registry import Resource
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
MUTATING: Key = (GROUP, "mutatingwebhookconfigurations")
VALIDATING: Key = (GROUP, "validatingwebhookconfigurations")


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of one configuration, and the version of the resource its rules ask for."""

    configuration: str
    spec: Mapping[str, Any]
    resource: Resource

    @property
    def name(self) -> str:
        """The webhook's name, as messages give it."""
        return str(self.spec.get("name", ""))

    @property
    def lenient(self) -> bool:
        """Whether a failing call lets the write pass."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def seconds(self) -> float:
        """How long an answer may take."""
        return float(self.spec.get("timeoutSeconds") or 10)


def hooks(state: State, key: Key, write: Write, operation: str) -> Iterator[Hook]:
    """The webhooks whose rules name this write, by the names of their configurations."""
    for configuration in state.store.list(key):
        for spec in configuration.get("webhooks") or ():
            resource = _meant(state, spec, write, operation)
            if resource is not None:
                yield Hook(configuration["metadata"]["name"], spec, resource)


def concerns(state: State, hook: Hook, write: Write, new: Object | None, old: Object | None) -> bool:
    """Whether selectors of namespaces and of labels let this write through to the webhook."""
    if not _namespace_selected(state, hook.spec.get("namespaceSelector"), write, new or old):
        return False
    selector = hook.spec.get("objectSelector")
    found = [obj for obj in (new, old) if obj is not None]
    return not selector or any(selects(selector, obj["metadata"].get("labels") or {}) for obj in found)


def conditions_hold(hook: Hook, write: Write, request: Object) -> bool:
    """Whether every matchCondition is true of the AdmissionRequest.

    Raises:
        ApiFailure: 403, one cannot be evaluated, and the webhook's failures count.
    """
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


def _meant(state: State, spec: Mapping[str, Any], write: Write, operation: str) -> Resource | None:
    """The write's resource, or the version of it that a rule names instead, or None."""
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
    if scope != "*" and (scope == "Namespaced") is not resource.namespaced:
        return False
    return any(one in ("*", operation) for one in rule.get("operations") or ())


def _names(rule: Mapping[str, Any], resource: Resource, subresource: str) -> bool:
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if not ({"*", resource.group} & set(groups) and {"*", resource.version} & set(versions)):
        return False
    for one in rule.get("resources") or ():
        plural, _, sub = one.partition("/")
        if plural in ("*", resource.plural) and (sub == subresource or (sub == "*")):
            return True
    return False


def _namespace_selected(state: State, selector: Any, write: Write, obj: Object | None) -> bool:
    if not selector:
        return True
    if is_namespace(write.resource):
        found = obj
    elif write.resource.namespaced:
        found = state.store.get(NAMESPACES, "", write.namespace)
    else:
        return True
    return selects(selector, ((found or {}).get("metadata") or {}).get("labels") or {})
