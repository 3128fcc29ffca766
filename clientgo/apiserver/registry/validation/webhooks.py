"""Validation of webhook configurations."""

from clientgo.apiserver.http.status import Cause, duplicate, invalid_value, not_supported, required
from clientgo.apiserver.registry.names import subdomain_errors
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.validation.policies import match_conditions, operation_rule
from clientgo.apiserver.registry.validation.scopes import FieldScope, within
from clientgo.apiserver.registry.webhookclients import client_errors

_CHOICES = {
    "sideEffects": ("None", "NoneOnDryRun"),
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_SEGMENTS = 3


def webhook_errors(configuration: Object, scope: FieldScope) -> list[Cause]:
    """Return the errors of a configuration's webhooks."""
    found: list[Cause] = []
    seen: list[str] = []
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", hook.get("name") or ""
        if name in seen:
            found.append(duplicate(f"{where}.name", name))
        seen.append(name)
        found += _hook_errors(hook, where, name)
        for number, rule in enumerate(hook.get("rules") or ()):
            found += within(f"{where}.rules[{number}]", operation_rule(rule, scope))
        found += within(where, match_conditions(hook, scope))
    return found


def _hook_errors(hook: Object, where: str, name: str) -> list[Cause]:
    found = [invalid_value(f"{where}.name", name, why) for why in subdomain_errors(name)] if name else []
    if not name:
        found.append(required(f"{where}.name"))
    elif not found and len(name.split(".")) < _SEGMENTS:
        why = "should be a domain with at least three segments separated by dots"
        found.append(invalid_value(f"{where}.name", name, why))
    versions, effects, seconds = (hook.get(one) for one in ("admissionReviewVersions", "sideEffects", "timeoutSeconds"))
    if not versions:
        found.append(required(f"{where}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(versions):
        why = "must include at least one of v1, v1beta1"
        found.append(invalid_value(f"{where}.admissionReviewVersions", versions, why))
    if effects is None:
        found.append(required(f"{where}.sideEffects", "must specify one of None, NoneOnDryRun"))
    for field, choices in _CHOICES.items():
        if hook.get(field) is not None and hook[field] not in choices:
            found.append(not_supported(f"{where}.{field}", hook[field], choices))
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid_value(f"{where}.timeoutSeconds", seconds, why))
    return found + client_errors(hook.get("clientConfig") or {}, f"{where}.clientConfig")
