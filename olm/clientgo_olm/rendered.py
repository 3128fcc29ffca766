"""Rendered manifests of a kustomization, sorted by their place in a bundle."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clientgo.cli.certificates import FOLDER as CERTIFICATES
from clientgo.cli.names import CommandError
from clientgo.meta.yamlio import InvalidYAML, read_yaml
from clientgo.serving.certificates import CERTIFICATE
from clientgo_olm.objects import Object, at, group_of, is_certificate, mapping, mappings, name_of, of_kind, text

MANIFESTS = "config/manifests"
"""Kustomization of the bundle, at the same path as operator-sdk's."""

SCORECARD = "Configuration"
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
# Created by OLM, part of the ClusterServiceVersion, or needed only without OLM.
_ELSEWHERE = ("Namespace", "Deployment", "ClusterServiceVersion", SCORECARD, "CustomResourceDefinition", *_WEBHOOKS)
_CERT_MANAGER = "cert-manager.io"


@dataclass(frozen=True, slots=True)
class Rendered:
    """Objects of one kustomization."""

    objects: tuple[Object, ...]

    @property
    def base(self) -> Object:
        """The user's ClusterServiceVersion; raises `CommandError` unless there is exactly one."""
        bases = of_kind(self.objects, "ClusterServiceVersion")
        if len(bases) != 1:
            raise CommandError(f"expected one ClusterServiceVersion in {MANIFESTS}/bases, got {len(bases)}")
        return bases[0]

    @property
    def definitions(self) -> list[Object]:
        """The CustomResourceDefinitions."""
        return of_kind(self.objects, "CustomResourceDefinition")

    @property
    def deployments(self) -> list[Object]:
        """The Deployments."""
        return of_kind(self.objects, "Deployment")

    @property
    def webhooks(self) -> list[Object]:
        """The admission webhook configurations."""
        return of_kind(self.objects, *_WEBHOOKS)

    @property
    def samples(self) -> list[Object]:
        """The objects of the project's own kinds."""
        kinds = {(at(obj, "spec.group"), at(obj, "spec.names.kind")) for obj in self.definitions}
        return [obj for obj in self.objects if (group_of(obj), obj.get("kind")) in kinds]

    @property
    def scorecard(self) -> Object | None:
        """The scorecard configuration, or None."""
        configurations = [
            obj for obj in of_kind(self.objects, SCORECARD) if group_of(obj) == "scorecard.operatorframework.io"
        ]
        return configurations[0] if configurations else None

    @property
    def accounts(self) -> set[str]:
        """The service accounts of the Deployments, which OLM creates."""
        names = (at(item, "spec.template.spec.serviceAccountName") for item in self.deployments)
        return {text(item) or "default" for item in names}

    def bindings(self) -> list[Object]:
        """Return the bindings whose subjects are all accounts of Deployments: OLM creates these."""
        accounts = self.accounts
        return [
            binding
            for binding in of_kind(self.objects, *_BINDINGS)
            if _subjects(binding) and _subjects(binding) <= accounts
        ]

    def others(self) -> list[Object]:
        """Return the objects that OLM applies unchanged, such as services, roles for users, monitors and policies."""
        bound = self.bindings()
        roles = {(at(item, "roleRef.kind"), at(item, "roleRef.name")) for item in bound}
        bindings = of_kind(self.objects, *_BINDINGS)
        roles -= {(at(item, "roleRef.kind"), at(item, "roleRef.name")) for item in bindings if item not in bound}
        samples = self.samples
        return [
            item
            for item in self.objects
            if item.get("kind") not in _ELSEWHERE
            and group_of(item) != _CERT_MANAGER
            and not is_certificate(item)
            and item not in bound
            and item not in samples
            and (item.get("kind"), name_of(item)) not in roles
            and not (item.get("kind") == "ServiceAccount" and name_of(item) in self.accounts)
        ]


def render(root: Path, kubectl: str, folder: str = MANIFESTS) -> Rendered:
    """Render a kustomization with kubectl.

    Raises:
        CommandError: kubectl is missing or fails, its output is not YAML, or the webhooks' certificate is missing.
    """
    if (root / CERTIFICATES).is_dir() and not (root / CERTIFICATES / CERTIFICATE).is_file():
        raise CommandError(f"{CERTIFICATES} has no certificate of the webhooks: run clientgo certificates")
    command = [kubectl, "kustomize", folder]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # nosec B603  # as asked
    except OSError as error:
        raise CommandError(f"cannot run {kubectl} to render {folder}: {error.strerror or error}") from error
    if done.returncode:
        raise CommandError(
            f"{' '.join(command)} failed: {' '.join(done.stderr.split()) or f'exit code {done.returncode}'}"
        )
    return parse(done.stdout, folder)


def parse(rendered: str, folder: str = MANIFESTS) -> Rendered:
    """Parse rendered manifests; raises `CommandError`."""
    try:
        documents: Iterable[object] = read_yaml(rendered)
    except InvalidYAML as error:
        raise CommandError(f"{folder} rendered invalid YAML: line {error.line}: {error}") from error
    return Rendered(tuple(mappings(list(documents))))


def _subjects(binding: Object) -> set[str]:
    # A subject of another kind makes the binding one that OLM has to apply.
    return {
        text(subject.get("name"))
        if subject.get("kind") == "ServiceAccount"
        else f"{subject.get('kind')}/{subject.get('name')}"
        for subject in mappings(mapping(binding).get("subjects"))
    }
