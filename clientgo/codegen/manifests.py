"""Generated manifests: roles, webhook configurations, OpenAPI documents, and their kustomization."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clientgo.codegen.crd.manifest import top_schema
from clientgo.codegen.crd.schema import SchemaMaker
from clientgo.codegen.files import Header
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.declarations import Declared
from clientgo.codegen.model import non_empty
from clientgo.codegen.rbac import limited, roles, user_roles
from clientgo.meta.declarations import RbacRule, WebhookDeclaration
from clientgo.meta.yamlio import to_yaml

Documents = Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Manifests:
    """Files of one folder, with their contents and inputs."""

    folder: Path
    header: Header
    texts: dict[Path, str] = field(default_factory=dict)
    _sources: set[str] = field(default_factory=set)

    def add(self, name: str, documents: Documents, sources: Iterable[str]) -> None:
        """Add a file of YAML documents."""
        self.add_text(name, "---\n".join(to_yaml(document) for document in documents), sources)

    def add_text(self, name: str, text: str, sources: Iterable[str]) -> None:
        """Add a file with the given text."""
        sources = sorted(set(sources))
        self._sources.update(sources)
        self.texts[self.folder / name] = self.header.of(sources) + text

    def close(self) -> dict[Path, str]:
        """Return the files, with a kustomization.yaml that lists them.

        A hand-written kustomization.yaml is kept.
        """
        place = self.folder / "kustomization.yaml"
        if not self.texts or (place.exists() and not self.header.marks(place)):
            return self.texts
        kustomization = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": sorted(path.name for path in self.texts),
        }
        self.add("kustomization.yaml", [kustomization], self._sources)
        return self.texts


def role_files(
    files: Manifests, declared: Iterable[Declared], kinds: Sequence[OwnKind], role_name: str, namespace: str
) -> None:
    """Add `role.yaml` for the declarations, and admin, editor and viewer roles for each kind.

    With a `namespace`, declarations without one are restricted to it if they are for namespaced resources.
    """
    rules = [(each.declaration, each.source) for each in declared if isinstance(each.declaration, RbacRule)]
    if rules:
        wanted: Iterable[RbacRule] = (rule for rule, _ in rules)
        if namespace:
            wanted = limited(wanted, namespace, {own.kind.api.gvr.group_resource: own.kind.api for own in kinds})
        made = roles(wanted, role_name)
        files.add("role.yaml", made, (source for _, source in rules))
    stored = [own.kind for own in kinds if own.kind.api.storage and own.kind.has_client]
    names = [kind.api.kind for kind in stored]
    for kind in stored:
        for name, role in user_roles(kind, whole_name=names.count(kind.api.kind) > 1).items():
            files.add(name, [role], [kind.source])


def webhook_files(files: Manifests, declared: Iterable[Declared]) -> None:
    """Add `manifests.yaml` with the webhook configurations."""
    hooks = [(each.declaration, each.source) for each in declared if isinstance(each.declaration, WebhookDeclaration)]
    if hooks:
        made = webhook_configurations(hook for hook, _ in hooks)
        files.add("manifests.yaml", made, (source for _, source in hooks))


def openapi_files(files: Manifests, kinds: Iterable[OwnKind], maker: SchemaMaker) -> None:
    """Add an OpenAPI v3 document for each group version, with the schemas of its kinds."""
    groups: dict[tuple[str, str], list[OwnKind]] = {}
    for own in kinds:
        groups.setdefault((own.kind.api.group, own.kind.api.version), []).append(own)
    for (group, version), members in sorted(groups.items()):
        reverse = ".".join(reversed(group.split(".")))
        schemas = {
            f"{reverse}.{version}.{own.kind.api.kind}": {
                **top_schema(maker.of_class(own.cls)),
                "x-kubernetes-group-version-kind": [{"group": group, "kind": own.kind.api.kind, "version": version}],
            }
            for own in sorted(members, key=lambda own: own.kind.api.kind)
        }
        document = {
            "openapi": "3.0.0",
            "info": {"title": f"{group}/{version}", "version": version},
            "paths": {},
            "components": {"schemas": schemas},
        }
        files.add(f"{group}_{version}.yaml", [document], (own.kind.source for own in members))


Manifest = dict[str, Any]


def webhook_configurations(declared: Iterable[WebhookDeclaration]) -> list[Manifest]:
    """Return the MutatingWebhookConfigurations, then the ValidatingWebhookConfigurations, sorted by name."""
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
    service = {
        "name": hook.service_name,
        "namespace": hook.service_namespace,
        "path": hook.path,
        **non_empty({"port": hook.service_port}),
    }
    rule = {
        "apiGroups": ["" if group == "core" else group for group in hook.groups],
        "apiVersions": list(hook.versions),
        "operations": [verb.upper() for verb in hook.verbs],
        "resources": list(hook.resources),
    }
    return {
        "admissionReviewVersions": list(hook.admission_review_versions),
        "clientConfig": {"url": hook.url} if hook.url else {"service": service},
        "failurePolicy": hook.failure_policy,
        **non_empty({"matchPolicy": hook.match_policy}),
        "name": hook.name,
        **non_empty({"reinvocationPolicy": hook.reinvocation_policy}),
        "rules": [rule],
        "sideEffects": hook.side_effects,
        **non_empty({"timeoutSeconds": hook.timeout_seconds}),
    }
