"""The ClusterServiceVersion of a bundle: what a hand wrote in its base, and all that the manifests say."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from clientgo.cli.bundle.objects import OPERATORS, Object, at, mapping, mappings, name_of, text
from clientgo.cli.bundle.owned import owned
from clientgo.cli.bundle.permissions import permissions
from clientgo.cli.bundle.rendered import Rendered
from clientgo.cli.bundle.webhookdefinitions import webhook_definitions, without_certificates
from clientgo.cli.names import Refused

PLACEHOLDER = "controller:latest"
"""The image that the scaffold's Deployment names, until it is told another."""


_TARGETS: Object = {
    "name": "WATCH_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
}


@dataclass(frozen=True, slots=True)
class Release:
    """What of a bundle is different from one release to the next."""

    package: str
    version: str
    image: str = PLACEHOLDER
    digests: bool = False

    @property
    def name(self) -> str:
        """What the ClusterServiceVersion is called."""
        return f"{self.package}.v{self.version}"


def service_version(rendered: Rendered, release: Release) -> Object:
    """The whole ClusterServiceVersion. Nothing in it depends on when it is made.

    Raises:
        Refused: the base is missing, or digests are wanted of images that have none.
    """
    base = rendered.base
    spec = mapping(base.get("spec"))
    deployments = [_deployment(rendered, one, release.image) for one in rendered.deployments]
    allowed, allowed_everywhere = permissions(rendered)
    install: Object = {"deployments": deployments}
    if allowed:
        install["permissions"] = allowed
    if allowed_everywhere:
        install["clusterPermissions"] = allowed_everywhere
    made: Object = {
        "customresourcedefinitions": {
            **mapping(spec.get("customresourcedefinitions")),
            "owned": owned(rendered.definitions, at(spec, "customresourcedefinitions.owned")),
        },
        "install": {"spec": install, "strategy": "deployment"},
        "version": release.version,
    }
    webhooks = webhook_definitions(rendered)
    if webhooks:
        made["webhookdefinitions"] = webhooks
    if release.digests:
        made["relatedImages"] = list(_related(deployments))
    metadata = mapping(base.get("metadata"))
    annotations = {**mapping(metadata.get("annotations")), "alm-examples": _examples(rendered)}
    return {
        "apiVersion": OPERATORS,
        "kind": "ClusterServiceVersion",
        "metadata": {**metadata, "annotations": annotations, "name": release.name},
        "spec": {**spec, **made},
    }


def _examples(rendered: Rendered) -> str:
    return json.dumps(rendered.samples, indent=2, sort_keys=True)


def _deployment(rendered: Rendered, deployment: Object, image: str) -> Object:
    spec = mapping(deployment.get("spec"))
    template = mapping(spec.get("template"))
    pod = without_certificates(rendered, mapping(template.get("spec")))
    pod["containers"] = [_container(one, image) for one in mappings(pod.get("containers"))]
    return {
        "label": mapping(at(deployment, "metadata.labels")),
        "name": name_of(deployment),
        "spec": {**spec, "template": {**template, "spec": pod}},
    }


def _container(container: Object, image: str) -> Object:
    said = {**container, "image": image} if container.get("image") == PLACEHOLDER else container
    if "env" not in said:
        return said
    # A manager that watches some namespaces watches those that OLM installs it for, which OLM notes on its pods.
    return {**said, "env": [_TARGETS if one.get("name") == _TARGETS["name"] else one for one in mappings(said["env"])]}


def _related(deployments: list[Object]) -> Iterator[Object]:
    for deployment in deployments:
        for container in mappings(at(deployment, "spec.template.spec.containers")):
            image = text(container.get("image"))
            if "@sha256:" not in image:
                raise Refused(f"{image} names no digest: give IMG as NAME@sha256:DIGEST, or do without digests")
            yield {"image": image, "name": text(container.get("name"))}
