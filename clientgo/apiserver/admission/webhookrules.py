"""Validation of webhook configurations, in the real server's words."""

from urllib.parse import urlsplit

from clientgo.apiserver.apiextensions.cel import condition_error
from clientgo.apiserver.http.status import Cause, invalid_value, not_supported, required
from clientgo.apiserver.registry.names import subdomain_errors
from clientgo.apiserver.registry.registry import Object

_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_SEGMENTS = 3


def webhook_errors(configuration: Object, _: Object | None) -> list[Cause]:
    """Return the errors of a configuration's webhooks."""
    found: list[Cause] = []
    seen: list[str] = []
    for index, hook in enumerate(configuration.get("webhooks") or ()):
        where, name = f"webhooks[{index}]", hook.get("name") or ""
        if name in seen:
            found.append(Cause("FieldValueDuplicate", f"{where}.name", f'Duplicate value: "{name}"'))
        seen.append(name)
        found += _one(hook, where, name)
    return found


def _one(hook: Object, where: str, name: str) -> list[Cause]:
    found = _name_errors(name, f"{where}.name")
    if not hook.get("admissionReviewVersions"):
        found.append(required(f"{where}.admissionReviewVersions", "must specify one of v1, v1beta1"))
    elif not {"v1", "v1beta1"} & set(hook["admissionReviewVersions"]):
        why = "must include at least one of v1, v1beta1"
        found.append(invalid_value(f"{where}.admissionReviewVersions", hook["admissionReviewVersions"], why))
    effects = hook.get("sideEffects")
    if effects is None:
        found.append(required(f"{where}.sideEffects", "must specify one of None, NoneOnDryRun"))
    elif effects not in _SIDE_EFFECTS:
        found.append(not_supported(f"{where}.sideEffects", effects, _SIDE_EFFECTS))
    for field, choices in _CHOICES.items():
        if hook.get(field) is not None and hook[field] not in choices:
            found.append(not_supported(f"{where}.{field}", hook[field], choices))
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        found.append(invalid_value(f"{where}.timeoutSeconds", seconds, why))
    for number, one in enumerate(hook.get("matchConditions") or ()):
        if why := condition_error(one.get("expression") or ""):
            field = f"{where}.matchConditions[{number}].expression"
            found.append(invalid_value(field, one.get("expression"), why))
    return found + _client_errors(hook.get("clientConfig") or {}, f"{where}.clientConfig")


def _name_errors(name: str, where: str) -> list[Cause]:
    if not name:
        return [required(where)]
    found = [invalid_value(where, name, why) for why in subdomain_errors(name)]
    if not found and len(name.split(".")) < _SEGMENTS:
        found.append(invalid_value(where, name, "should be a domain with at least three segments separated by dots"))
    return found


def _client_errors(client: Object, where: str) -> list[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(where, "exactly one of url or service is required")]
    if url is None:
        return [
            required(f"{where}.service.{field}") for field in ("name", "namespace") if not (service or {}).get(field)
        ]
    parts = urlsplit(url)
    form = "; desired format: https://host[/path]"
    if parts.scheme != "https":
        why = f"'https' is the only allowed URL scheme{form}"
        return [invalid_value(f"{where}.url", parts.scheme, why)]
    return [] if parts.netloc else [invalid_value(f"{where}.url", parts.netloc, f"host must be specified{form}")]
