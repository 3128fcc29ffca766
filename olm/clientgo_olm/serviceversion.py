"""ClusterServiceVersion of a bundle: the user's base, completed from the manifests."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clientgo.cli.names import CommandError
from clientgo_olm.objects import OPERATORS, Object, at, mapping, mappings, name_of, of_kind, text
from clientgo_olm.rendered import Rendered
from clientgo_olm.webhookdefinitions import webhook_definitions, without_certificates

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
    deployments = [_deployment(rendered, deployment, release.image) for deployment in rendered.deployments]
    allowed, allowed_everywhere = permissions(rendered)
    install: Object = {"deployments": deployments}
    if allowed:
        install["permissions"] = allowed
    if allowed_everywhere:
        install["clusterPermissions"] = allowed_everywhere
    csv: Object = {
        "customresourcedefinitions": {
            **mapping(spec.get("customresourcedefinitions")),
            "owned": owned(rendered.definitions, at(spec, "customresourcedefinitions.owned")),
        },
        "install": {"spec": install, "strategy": "deployment"},
        "version": release.version,
    }
    webhooks = webhook_definitions(rendered)
    if webhooks:
        csv["webhookdefinitions"] = webhooks
    if release.digests:
        csv["relatedImages"] = list(_related(deployments))
    metadata = mapping(base.get("metadata"))
    examples = json.dumps(rendered.samples, indent=2, sort_keys=True)
    annotations = {**mapping(metadata.get("annotations")), "alm-examples": examples}
    return {
        "apiVersion": OPERATORS,
        "kind": "ClusterServiceVersion",
        "metadata": {**metadata, "annotations": annotations, "name": release.name},
        "spec": {**spec, **csv},
    }


def _deployment(rendered: Rendered, deployment: Object, image: str) -> Object:
    spec = mapping(deployment.get("spec"))
    template = mapping(spec.get("template"))
    pod = without_certificates(rendered, mapping(template.get("spec")))
    pod["containers"] = [_container(container, image) for container in mappings(pod.get("containers"))]
    return {
        "label": mapping(at(deployment, "metadata.labels")),
        "name": name_of(deployment),
        "spec": {**spec, "template": {**template, "spec": pod}},
    }


def _container(container: Object, image: str) -> Object:
    copied = {**container, "image": image} if container.get("image") == PLACEHOLDER else container
    if "env" not in copied:
        return copied
    # OLM notes the target namespaces on the pods of a manager that watches only some namespaces.
    return {
        **copied,
        "env": [
            _TARGETS if variable.get("name") == _TARGETS["name"] else variable for variable in mappings(copied["env"])
        ],
    }


def _related(deployments: list[Object]) -> Iterator[Object]:
    for deployment in deployments:
        for container in mappings(at(deployment, "spec.template.spec.containers")):
            image = text(container.get("image"))
            if "@sha256:" not in image:
                raise CommandError(f"image {image} has no digest: give IMG as NAME@sha256:DIGEST, or disable digests")
            yield {"image": image, "name": text(container.get("name"))}


_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def owned(definitions: Iterable[Object], declared: object) -> list[Object]:
    """Return one description for each served version of each CRD.

    Descriptions `declared` in the base win; missing names, descriptions and descriptors come from the schema, which
    takes them from docstrings and `Meta(description=...)`.
    """
    declared_by_key = {_key(item): item for item in mappings(declared)}
    descriptions = [item for definition in definitions for item in _versions(definition)]
    return [_merged(item, declared_by_key.get(_key(item), {})) for item in sorted(descriptions, key=_key)]


def words(name: str) -> str:
    """Split a name into words: `availableReplicas` to `Available Replicas`, `IPPool` to `IP Pool`."""
    matches = _WORDS.findall(name)
    return " ".join(f"{part[0].upper()}{part[1:]}" for part in matches) or name


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


def _merged(generated: Object, declared: Object) -> Object:
    result = {**generated, **declared}
    for name in ("specDescriptors", "statusDescriptors"):
        declared_by_path = {text(item.get("path")): item for item in mappings(declared.get(name))}
        merged = [{**item, **declared_by_path.pop(item["path"], {})} for item in generated[name]]
        result[name] = [*merged, *declared_by_path.values()]
        if not result[name]:
            del result[name]
    return result


def _key(description: Object) -> tuple[str, str, str]:
    return text(description.get("name")), text(description.get("kind")), text(description.get("version"))


def permissions(rendered: Rendered) -> tuple[list[Object], list[Object]]:
    """Return the permissions of each account as (namespaced, cluster-wide)."""
    roles = {
        (role["kind"], name_of(role)): mappings(role.get("rules"))
        for role in of_kind(rendered.objects, "Role", "ClusterRole")
    }
    bindings = rendered.bindings()
    return (
        _by_account(of_kind(bindings, "RoleBinding"), roles),
        _by_account(of_kind(bindings, "ClusterRoleBinding"), roles),
    )


def _by_account(bindings: Iterable[Object], roles: dict[tuple[str, str], list[Object]]) -> list[Object]:
    rules_by_account: dict[str, list[Object]] = {}
    for binding in bindings:
        rules = roles.get((at(binding, "roleRef.kind"), at(binding, "roleRef.name")), [])
        for account in {str(subject.get("name")) for subject in mappings(binding.get("subjects"))}:
            rules_by_account.setdefault(account, []).extend(rules)
    return [
        {"serviceAccountName": account, "rules": rules} for account, rules in sorted(rules_by_account.items()) if rules
    ]
