"""What `config/manifests` renders to, and which part of it goes where in a bundle."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from clientgo.cli.bundle.objects import Object, at, group_of, mapping, mappings, name_of, of_kind, text
from clientgo.cli.names import CommandError
from clientgo.meta.yamlio import NotYAML, read_yaml

MANIFESTS = "config/manifests"
"""The kustomization that a bundle is made of (operator-sdk's place for it)."""

SCORECARD = "Configuration"
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
# Made by OLM itself (the namespace), said in the ClusterServiceVersion, or needed without OLM alone.
_ELSEWHERE = ("Namespace", "Deployment", "ClusterServiceVersion", SCORECARD, "CustomResourceDefinition", *_WEBHOOKS)
_CERT_MANAGER = "cert-manager.io"


@dataclass(frozen=True, slots=True)
class Rendered:
    """The objects of one kustomization, sorted out."""

    objects: tuple[Object, ...]

    @property
    def base(self) -> Object:
        """The ClusterServiceVersion that a hand wrote; raises `CommandError` unless there is one."""
        found = of_kind(self.objects, "ClusterServiceVersion")
        if len(found) != 1:
            raise CommandError(f"{MANIFESTS} has {len(found)} ClusterServiceVersions: it needs one, below bases/")
        return found[0]

    @property
    def definitions(self) -> list[Object]:
        """The kinds."""
        return of_kind(self.objects, "CustomResourceDefinition")

    @property
    def deployments(self) -> list[Object]:
        """What runs."""
        return of_kind(self.objects, "Deployment")

    @property
    def webhooks(self) -> list[Object]:
        """The configurations of admission webhooks."""
        return of_kind(self.objects, *_WEBHOOKS)

    @property
    def samples(self) -> list[Object]:
        """Objects of the kinds."""
        kinds = {(at(one, "spec.group"), at(one, "spec.names.kind")) for one in self.definitions}
        return [one for one in self.objects if (group_of(one), one.get("kind")) in kinds]

    @property
    def scorecard(self) -> Object | None:
        """What the scorecard is to test."""
        found = [one for one in of_kind(self.objects, SCORECARD) if group_of(one) == "scorecard.operatorframework.io"]
        return found[0] if found else None

    @property
    def accounts(self) -> set[str]:
        """The service accounts that the Deployments run as, which OLM makes."""
        found = (at(one, "spec.template.spec.serviceAccountName") for one in self.deployments)
        return {text(one) or "default" for one in found}

    def bindings(self) -> list[Object]:
        """The bindings for nobody but the Deployments' accounts: OLM binds what they grant."""
        accounts = self.accounts
        return [one for one in of_kind(self.objects, *_BINDINGS) if _subjects(one) and _subjects(one) <= accounts]

    def others(self) -> list[Object]:
        """What OLM is to apply as it is: services, roles for people, monitors, policies and the like."""
        bound = self.bindings()
        roles = {(at(one, "roleRef.kind"), at(one, "roleRef.name")) for one in bound}
        kept = of_kind(self.objects, *_BINDINGS)
        roles -= {(at(one, "roleRef.kind"), at(one, "roleRef.name")) for one in kept if one not in bound}
        samples = self.samples
        return [
            one
            for one in self.objects
            if one.get("kind") not in _ELSEWHERE
            and group_of(one) != _CERT_MANAGER
            and one not in bound
            and one not in samples
            and (one.get("kind"), name_of(one)) not in roles
            and not (one.get("kind") == "ServiceAccount" and name_of(one) in self.accounts)
        ]


def render(root: Path, kubectl: str, folder: str = MANIFESTS) -> Rendered:
    """Render a kustomization with kubectl.

    Raises:
        CommandError: there is no kubectl, or it can't render the folder, or what comes out is no YAML.
    """
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


def parse(said: str, folder: str = MANIFESTS) -> Rendered:
    """The objects in a rendered text; raises `CommandError`."""
    try:
        documents: Iterable[object] = read_yaml(said)
    except NotYAML as error:
        raise CommandError(f"what {folder} renders to is no YAML: line {error.line}: {error}") from error
    return Rendered(tuple(mappings(list(documents))))


def _subjects(binding: Object) -> set[str]:
    # Whoever is no service account makes the binding one that OLM has to apply.
    return {
        text(one.get("name")) if one.get("kind") == "ServiceAccount" else f"{one.get('kind')}/{one.get('name')}"
        for one in mappings(mapping(binding).get("subjects"))
    }
