"""Validation of admission policies, their bindings, and the rules that they have in common with webhooks."""

from collections.abc import Iterator

from clientgo_apiserver.api.names import label_1035_errors, subdomain_errors
from clientgo_apiserver.api.status import Cause, duplicate, invalid_value, not_supported, required
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

Causes = Iterator[Cause]

_ACTIONS = ("Audit", "Deny", "Warn")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and"
    " headers serves no purpose)"
)


@rule(absent=True)
def validation_actions(actions: list[str] | None, _: FieldScope) -> Causes:
    """Check the actions of a binding."""
    for index, action in enumerate(actions or ()):
        if action not in _ACTIONS:
            yield not_supported(f"[{index}]", action, _ACTIONS)
        if action in (actions or ())[:index]:
            yield duplicate(f"[{index}]", action)
    if {"Deny", "Warn"} <= set(actions or ()):
        yield invalid_value("", actions, _BOTH)
    if not actions:
        yield required("", "at least one validation action is required")


@rule()
def param_version(value: str, _: FieldScope) -> Causes:
    """Check the group and version of parameters."""
    if not value:
        return
    if value.count("/") > 1:
        yield invalid_value("", value, f"unexpected GroupVersion string: {value}")
        return
    group, _slash, version = value.rpartition("/")
    errors = subdomain_errors(group) if group else []
    if errors:
        yield invalid_value("", group, ",".join(errors))
    if not version:
        yield invalid_value("", value, "version must be specified")
    elif errors := label_1035_errors(version):
        yield invalid_value("", version, ",".join(errors))


@rule()
def param_kind(value: str, _: FieldScope) -> Causes:
    """Check the kind of parameters."""
    if value and (errors := label_1035_errors(value.lower())):
        yield invalid_value("", value, f"may have mixed case, but should otherwise match: {','.join(errors)}")


@rule()
def rule_resources(resources: list[str], _: FieldScope) -> Causes:
    """Check the resources of a rule, of a policy or a webhook: none is covered by another."""
    yield from _covered_errors(resources)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value("", resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any(name and name != "*" and "/" not in name for name in resources):
        reason = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value("", resources, reason)


def _covered_errors(resources: list[str]) -> Causes:
    all_parts: set[str] = set()
    all_resources: set[str] = set()
    for index, resource in enumerate(resources):
        field_path, (plural, slash, part) = f"[{index}]", resource.partition("/")
        if not resource:
            yield required(field_path)
        if not slash:
            continue
        if plural in all_parts:
            yield invalid_value(field_path, resource, f"if '{plural}/*' is present, must not specify {resource}")
        if part in all_resources:
            yield invalid_value(field_path, resource, f"if '*/{part}' is present, must not specify {resource}")
        if part == "*":
            all_parts.add(plural)
        if plural == "*":
            all_resources.add(part)
