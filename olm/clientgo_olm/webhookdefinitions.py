"""Webhook definitions of a ClusterServiceVersion; OLM provides the certificates."""

from collections.abc import Iterable, Iterator, Mapping

from clientgo_olm.objects import Object, at, is_certificate, mapping, mappings, name_of, of_kind, text, texts
from clientgo_olm.rendered import Rendered

CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"  # nosec B108  # where OLM mounts them, by contract
"""Folder where OLM mounts tls.crt and tls.key."""

_PORT = 443
"""Default port of a webhook's Service."""

_TYPES = {
    "MutatingWebhookConfiguration": "MutatingAdmissionWebhook",
    "ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}
_TAKEN_OVER = (
    "admissionReviewVersions",
    "failurePolicy",
    "matchPolicy",
    "objectSelector",
    "reinvocationPolicy",
    "rules",
    "sideEffects",
    "timeoutSeconds",
)


def webhook_definitions(rendered: Rendered) -> list[Object]:
    """Return a definition for each admission webhook and each conversion endpoint."""
    definitions = [*_admission(rendered), *_conversion(rendered)]
    return sorted(definitions, key=lambda definition: (definition["generateName"], definition["type"]))


def dropped_filters(rendered: Rendered, *, own_namespace: bool) -> Iterator[str]:
    """Yield a sentence for each filter of a webhook that a bundle cannot express.

    In a bundle for its own namespace, OLM selects that namespace.
    """
    filters = ("matchConditions",) if own_namespace else ("matchConditions", "namespaceSelector")
    for configuration in rendered.webhooks:
        for webhook in mappings(configuration.get("webhooks")):
            for name in filters:
                if webhook.get(name):
                    yield f"OLM has no {name}: check it in the webhook {text(webhook.get('name'))} itself"


def without_certificates(rendered: Rendered, pod: Object) -> Object:
    """Remove certificates from a pod, with the flags that name their folders.

    OLM provides the certificate of the webhooks.
    """
    secrets = {text(at(item, "spec.secretName")) for item in of_kind(rendered.objects, "Certificate")}
    secrets |= {name_of(item) for item in rendered.objects if is_certificate(item)}
    volumes = mappings(pod.get("volumes"))
    gone = {text(item.get("name")) for item in volumes if text(at(item, "secret.secretName")) in secrets}
    containers = []
    for container in mappings(pod.get("containers")):
        mounts = mappings(container.get("volumeMounts"))
        folders = {text(item.get("mountPath")) for item in mounts if text(item.get("name")) in gone} - {CERTIFICATES}
        remaining = [item for item in mounts if text(item.get("name")) not in gone]
        flags = [flag for flag in texts(container.get("args")) if flag.partition("=")[2] not in folders]
        without = {**container, "args": flags} if "args" in container else {**container}
        containers.append(_with(without, "volumeMounts", remaining))
    return _with(
        {**pod, "containers": containers}, "volumes", [item for item in volumes if item.get("name") not in gone]
    )


def _with(obj: Object, name: str, value: list[Object]) -> Object:
    if value:
        return {**obj, name: value}
    obj.pop(name, None)
    return obj


def _admission(rendered: Rendered) -> Iterator[Object]:
    for configuration in rendered.webhooks:
        for webhook in mappings(configuration.get("webhooks")):
            yield {
                **{name: webhook[name] for name in _TAKEN_OVER if name in webhook},
                **_endpoint(rendered, mapping(at(webhook, "clientConfig.service"))),
                "generateName": text(webhook.get("name")),
                "type": _TYPES[configuration["kind"]],
            }


def _conversion(rendered: Rendered) -> Iterator[Object]:
    places: dict[tuple[str, str, int], list[Object]] = {}
    for definition in rendered.definitions:
        if at(definition, "spec.conversion.strategy") == "Webhook":
            service = mapping(at(definition, "spec.conversion.webhook.clientConfig.service"))
            endpoint = text(service.get("name")), text(service.get("path")), int(service.get("port") or _PORT)
            places.setdefault(endpoint, []).append(definition)
    for definitions in places.values():
        names = sorted(name_of(item) for item in definitions)
        webhook = mapping(at(definitions[0], "spec.conversion.webhook"))
        yield {
            **_endpoint(rendered, mapping(at(webhook, "clientConfig.service"))),
            "admissionReviewVersions": texts(webhook.get("conversionReviewVersions")),
            "conversionCRDs": names,
            "generateName": f"c{names[0]}",
            "sideEffects": "None",
            "type": "ConversionWebhook",
        }


def _endpoint(rendered: Rendered, service: Mapping[str, object]) -> Object:
    port = service.get("port") or _PORT
    definition: Object = {"containerPort": port, "webhookPath": text(service.get("path")) or "/"}
    for candidate in of_kind(rendered.objects, "Service"):
        if name_of(candidate) != service.get("name"):
            continue
        for port_entry in mappings(at(candidate, "spec.ports")):
            if port_entry.get("port") == port:
                definition["targetPort"] = port_entry.get("targetPort", port)
        for name in _selected(rendered.deployments, at(candidate, "spec.selector")):
            definition["deploymentName"] = name
    return definition


def _selected(deployments: Iterable[Object], selector: object) -> list[str]:
    required = mapping(selector).items()
    labels = (
        (name_of(deployment), mapping(at(deployment, "spec.template.metadata.labels"))) for deployment in deployments
    )
    return [name for name, has in labels if required and required <= has.items()]
