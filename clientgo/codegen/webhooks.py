"""Webhook declarations to configurations (admissionregistration.k8s.io/v1): an object of each sort and name."""

from collections.abc import Iterable
from typing import Any

from clientgo.meta.declarations import WebhookDeclaration

Manifest = dict[str, Any]


def webhook_configurations(declared: Iterable[WebhookDeclaration]) -> list[Manifest]:
    """The MutatingWebhookConfigurations and then the ValidatingWebhookConfigurations, each sort by name."""
    hooks = sorted(declared, key=lambda hook: hook.name)
    made = []
    for sort, mutating in (("Mutating", True), ("Validating", False)):
        objects: dict[str, list[Manifest]] = {}
        for hook in hooks:
            if hook.mutating is mutating:
                name = hook.configuration or f"{sort.lower()}-webhook-configuration"
                objects.setdefault(name, []).append(_webhook(hook))
        made += [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{sort}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": mine,
            }
            for name, mine in sorted(objects.items())
        ]
    return made


def _webhook(hook: WebhookDeclaration) -> Manifest:
    made: Manifest = {
        "admissionReviewVersions": list(hook.admission_review_versions),
        "clientConfig": {"url": hook.url} if hook.url else {"service": _service(hook)},
        "failurePolicy": hook.failure_policy,
    }
    if hook.match_policy:
        made["matchPolicy"] = hook.match_policy
    made["name"] = hook.name
    if hook.reinvocation_policy:
        made["reinvocationPolicy"] = hook.reinvocation_policy
    made["rules"] = [
        {
            "apiGroups": ["" if group == "core" else group for group in hook.groups],
            "apiVersions": list(hook.versions),
            "operations": [verb.upper() for verb in hook.verbs],
            "resources": list(hook.resources),
        }
    ]
    made["sideEffects"] = hook.side_effects
    if hook.timeout_seconds:
        made["timeoutSeconds"] = hook.timeout_seconds
    return made


def _service(hook: WebhookDeclaration) -> Manifest:
    service: Manifest = {"name": hook.service_name, "namespace": hook.service_namespace, "path": hook.path}
    if hook.service_port:
        service["port"] = hook.service_port
    return service
