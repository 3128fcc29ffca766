"""Webhook definitions of a ClusterServiceVersion; OLM provides the certificates."""

from collections.abc import Iterable, Iterator, Mapping

from clientgo.cli.bundle.objects import Object, at, mapping, mappings, name_of, of_kind, text, texts
from clientgo.cli.bundle.rendered import Rendered

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
    made = [*_admission(rendered), *_conversion(rendered)]
    return sorted(made, key=lambda one: (one["generateName"], one["type"]))


def without_certificates(rendered: Rendered, pod: Object) -> Object:
    """Remove certificates of cert-manager from a pod, with the flags that name their folders.

    OLM provides the certificate of the webhooks.
    """
    made = {text(at(one, "spec.secretName")) for one in of_kind(rendered.objects, "Certificate")}
    volumes = mappings(pod.get("volumes"))
    gone = {text(one.get("name")) for one in volumes if text(at(one, "secret.secretName")) in made}
    containers = []
    for container in mappings(pod.get("containers")):
        mounts = mappings(container.get("volumeMounts"))
        folders = {text(one.get("mountPath")) for one in mounts if text(one.get("name")) in gone} - {CERTIFICATES}
        kept = [one for one in mounts if text(one.get("name")) not in gone]
        flags = [flag for flag in texts(container.get("args")) if flag.partition("=")[2] not in folders]
        without = {**container, "args": flags} if "args" in container else {**container}
        containers.append(_with(without, "volumeMounts", kept))
    return _with({**pod, "containers": containers}, "volumes", [one for one in volumes if one.get("name") not in gone])


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
            place = text(service.get("name")), text(service.get("path")), int(service.get("port") or _PORT)
            places.setdefault(place, []).append(definition)
    for definitions in places.values():
        names = sorted(name_of(one) for one in definitions)
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
    said: Object = {"containerPort": port, "webhookPath": text(service.get("path")) or "/"}
    for found in of_kind(rendered.objects, "Service"):
        if name_of(found) != service.get("name"):
            continue
        for one in mappings(at(found, "spec.ports")):
            if one.get("port") == port:
                said["targetPort"] = one.get("targetPort", port)
        for name in _selected(rendered.deployments, at(found, "spec.selector")):
            said["deploymentName"] = name
    return said


def _selected(deployments: Iterable[Object], selector: object) -> list[str]:
    wanted = mapping(selector).items()
    labels = ((name_of(one), mapping(at(one, "spec.template.metadata.labels"))) for one in deployments)
    return [name for name, has in labels if wanted and wanted <= has.items()]
