"""ClusterServiceVersion of a bundle: the user's base, completed from the manifests."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clientgo.cli.bundle.objects import OPERATORS, Object, at, mapping, mappings, name_of, of_kind, text
from clientgo.cli.bundle.rendered import Rendered
from clientgo.cli.bundle.webhookdefinitions import webhook_definitions, without_certificates
from clientgo.cli.names import CommandError

PLACEHOLDER = "controller:latest"
"""Default image of the scaffolded Deployment."""


_TARGETS: Object = {
    "name": "WATCH_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
}


@dataclass(frozen=True, slots=True)
class Release:
    """Settings of one release of the operator."""

    package: str
    version: str
    image: str = PLACEHOLDER
    digests: bool = False

    @property
    def name(self) -> str:
        """Name of the ClusterServiceVersion."""
        return f"{self.package}.v{self.version}"


def service_version(rendered: Rendered, release: Release) -> Object:
    """Return the complete ClusterServiceVersion, without timestamps, so that it is reproducible.

    Raises:
        CommandError: the base is missing, or an image has no digest although digests are required.
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
    # OLM notes the target namespaces on the pods of a manager that watches only some namespaces.
    return {**said, "env": [_TARGETS if one.get("name") == _TARGETS["name"] else one for one in mappings(said["env"])]}


def _related(deployments: list[Object]) -> Iterator[Object]:
    for deployment in deployments:
        for container in mappings(at(deployment, "spec.template.spec.containers")):
            image = text(container.get("image"))
            if "@sha256:" not in image:
                raise CommandError(f"image {image} has no digest: give IMG as NAME@sha256:DIGEST, or disable digests")
            yield {"image": image, "name": text(container.get("name"))}


_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def owned(definitions: Iterable[Object], said: object) -> list[Object]:
    """Return one description for each served version of each CRD.

    Descriptions `said` in the base win; missing names, descriptions and descriptors come from the schema, which takes
    them from docstrings and `Meta(description=...)`.
    """
    known = {_key(one): one for one in mappings(said)}
    made = [one for definition in definitions for one in _versions(definition)]
    return [_merged(one, known.get(_key(one), {})) for one in sorted(made, key=_key)]


def words(name: str) -> str:
    """Split a name into words: `availableReplicas` to `Available Replicas`, `IPPool` to `IP Pool`."""
    parts = _WORDS.findall(name)
    return " ".join(f"{part[0].upper()}{part[1:]}" for part in parts) or name


def _versions(definition: Object) -> Iterator[Object]:
    kind = text(at(definition, "spec.names.kind"))
    for version in mappings(at(definition, "spec.versions")):
        if not version.get("served"):
            continue
        schema = mapping(at(version, "schema.openAPIV3Schema"))
        fields = mapping(schema.get("properties"))
        yield {
            "description": text(schema.get("description")) or f"{words(kind)} is managed by this operator.",
            "displayName": words(kind),
            "kind": kind,
            "name": text(at(definition, "metadata.name")),
            "specDescriptors": list(_descriptors(fields.get("spec"))),
            "statusDescriptors": list(_descriptors(fields.get("status"))),
            "version": text(version.get("name")),
        }


def _descriptors(schema: object) -> Iterator[Object]:
    for name, field in sorted(mapping(mapping(schema).get("properties")).items()):
        described = {"description": field["description"]} if mapping(field).get("description") else {}
        yield {**described, "displayName": words(name), "path": name}


def _merged(made: Object, said: Object) -> Object:
    result = {**made, **said}
    for name in ("specDescriptors", "statusDescriptors"):
        own = {text(one.get("path")): one for one in mappings(said.get(name))}
        others = [{**one, **own.pop(one["path"], {})} for one in made[name]]
        result[name] = [*others, *own.values()]
        if not result[name]:
            del result[name]
    return result


def _key(description: Object) -> tuple[str, str, str]:
    return text(description.get("name")), text(description.get("kind")), text(description.get("version"))


def permissions(rendered: Rendered) -> tuple[list[Object], list[Object]]:
    """Return the permissions of each account as (namespaced, cluster-wide)."""
    roles = {(one["kind"], name_of(one)): mappings(one.get("rules")) for one in _roles(rendered)}
    bindings = rendered.bindings()
    return (
        _by_account(of_kind(bindings, "RoleBinding"), roles),
        _by_account(of_kind(bindings, "ClusterRoleBinding"), roles),
    )


def _roles(rendered: Rendered) -> list[Object]:
    return of_kind(rendered.objects, "Role", "ClusterRole")


def _by_account(bindings: Iterable[Object], roles: dict[tuple[str, str], list[Object]]) -> list[Object]:
    found: dict[str, list[Object]] = {}
    for binding in bindings:
        rules = roles.get((at(binding, "roleRef.kind"), at(binding, "roleRef.name")), [])
        for account in {str(one.get("name")) for one in mappings(binding.get("subjects"))}:
            found.setdefault(account, []).extend(rules)
    return [{"serviceAccountName": account, "rules": rules} for account, rules in sorted(found.items()) if rules]
