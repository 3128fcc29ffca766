"""`clientgo chart`: a Helm chart of what `config/default` renders to.

With the values it comes with, and in the namespace that `make deploy` uses, it installs what `make deploy` does. What
differs from one cluster to the next is a value; everything else is said once, in `config/`. Templates use nothing but
values, `if` and `toJson`, so that whoever reads one sees the manifest.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clientgo.cli.bundle.files import dumped
from clientgo.cli.bundle.objects import Object, at, mapping, mappings, name_of, text
from clientgo.cli.bundle.rendered import render
from clientgo.cli.bundle.rules import SEMVER
from clientgo.cli.bundle.serviceversion import PLACEHOLDER
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.meta.yamlio import to_scalar

FOLDER = Path("dist", "chart")
DEFAULT = "config/default"

# Stand where an expression shall, until the manifest is text: no YAML writer has to know what Helm reads.
_MARK = "CLIENTGO-"
_EXPRESSIONS = {
    # A namespace may be called 123, and what it is called is known when the chart is installed.
    f"{_MARK}WHOLE-NAMESPACE": '"{{ .Release.Namespace }}"',
    f"{_MARK}NAMESPACE": "{{ .Release.Namespace }}",
    f"{_MARK}SERVICE": "{{ .Release.Service }}",
    f"{_MARK}IMAGE": "{{ toJson .Values.image }}",
    f"{_MARK}PULL": "{{ toJson .Values.imagePullPolicy }}",
    f"{_MARK}REPLICAS": "{{ toJson .Values.replicas }}",
    f"{_MARK}RESOURCES": "{{ toJson .Values.resources }}",
    f"{_MARK}SELECTOR": "{{ toJson .Values.nodeSelector }}",
    f"{_MARK}TOLERATIONS": "{{ toJson .Values.tolerations }}",
    f"{_MARK}AFFINITY": "{{ toJson .Values.affinity }}",
}
_VALUES = """\
# The manager's image.
image: {image}
imagePullPolicy: {pull}
# Of several managers one works at a time.
replicas: {replicas}
resources:
{resources}\
# Where its pods may run.
nodeSelector: {{}}
tolerations: []
affinity: {{}}
crd:
  # Whether the kinds are installed with the manager,
  enable: true
  # and stay, with every object of theirs, when it is uninstalled.
  keep: true
"""


def make_chart(options: argparse.Namespace, root: Path, *, say: Callable[[str], object]) -> int:
    """Write `dist/chart` anew.

    Raises:
        CommandError: there is no project, the version is none, or config/default can't be rendered.
    """
    project = Project.read(root)
    if not SEMVER.fullmatch(options.version):
        raise CommandError(f"{options.version!r} is no semantic version: write one like 0.1.0")
    objects = render(root, os.environ.get("KUBECTL") or "kubectl", DEFAULT).objects
    files = chart_files(project.name, options.version, options.image, objects)
    for old in sorted((root / FOLDER / "templates").glob("*.yaml")):
        old.unlink()
    for path, content in files.items():
        place = root / FOLDER / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    say(f"{FOLDER} has {len(files)} files: helm install {project.name} {FOLDER} --namespace {project.name}-system")
    return 0


def chart_files(name: str, version: str, image: str, objects: tuple[Object, ...]) -> dict[str, str]:
    """Every file of the chart by its path in it."""
    manager = next((one for one in objects if one.get("kind") == "Deployment"), {})
    [container, *_] = [*mappings(at(manager, "spec.template.spec.containers")), {}]
    chart = {"apiVersion": "v2", "name": name, "type": "application", "version": version, "appVersion": version}
    resources = dumped(mapping(container.get("resources")))
    files = {
        "Chart.yaml": dumped({**chart, "description": f"The controllers of {name}."}),
        "values.yaml": _VALUES.format(
            image=to_scalar(image),
            pull=to_scalar(text(container.get("imagePullPolicy")) or "IfNotPresent"),
            replicas=at(manager, "spec.replicas") or 1,
            resources="".join(f"  {line}\n" for line in resources.splitlines()),
        ),
    }
    for path, content in _templates(f"{name}-system", objects):
        files[path] = f"{files[path]}---\n{content}" if path in files else content
    return files


def _templates(namespace: str, objects: tuple[Object, ...]) -> Iterator[tuple[str, str]]:
    for one in objects:
        # Helm makes the namespace, if it is told to.
        if one.get("kind") == "Namespace":
            continue
        obj = _configured(one) if one.get("kind") == "Deployment" else one
        content = _text(dumped(_general(obj, namespace)))
        if one.get("kind") == "CustomResourceDefinition":
            content = _optional(content)
        yield f"templates/{text(one.get('kind')).lower()}-{name_of(one)}.yaml", content


def _configured(deployment: Object) -> Object:
    spec = mapping(deployment.get("spec"))
    template = mapping(spec.get("template"))
    pod = mapping(template.get("spec"))
    containers = mappings(pod.get("containers"))
    if not containers:
        return deployment
    first, *others = containers
    manager = {**first, "resources": f"{_MARK}RESOURCES", "imagePullPolicy": f"{_MARK}PULL"}
    if first.get("image") == PLACEHOLDER:
        manager["image"] = f"{_MARK}IMAGE"
    placed = {
        "containers": [manager, *others],
        "nodeSelector": f"{_MARK}SELECTOR",
        "tolerations": f"{_MARK}TOLERATIONS",
        "affinity": f"{_MARK}AFFINITY",
    }
    template = {**template, "spec": {**pod, **placed}}
    return {**deployment, "spec": {**spec, "replicas": f"{_MARK}REPLICAS", "template": template}}


def _general(value: Any, namespace: str) -> Any:
    """The same for any namespace, managed by whoever installs it."""
    if isinstance(value, dict):
        said = {name: _general(inner, namespace) for name, inner in value.items()}
        if said.get("app.kubernetes.io/managed-by") == "kustomize":
            said["app.kubernetes.io/managed-by"] = f"{_MARK}SERVICE"
        return said
    if isinstance(value, list):
        return [_general(inner, namespace) for inner in value]
    if value == namespace:
        return f"{_MARK}WHOLE-NAMESPACE"
    return value.replace(namespace, f"{_MARK}NAMESPACE") if isinstance(value, str) else value


def _text(manifest: str) -> str:
    # What the manifest itself has of Helm's signs is text to Helm.
    escaped = manifest.replace("{{", '{{ "{{" }}')
    for mark, expression in _EXPRESSIONS.items():
        escaped = escaped.replace(mark, expression)
    return escaped


def _optional(manifest: str) -> str:
    """A CRD that is installed, and kept, if the values say so."""
    keep = "  {{- if .Values.crd.keep }}\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    if "\n  annotations:\n" in manifest:
        kept = manifest.replace("\n  annotations:\n", f"\n  annotations:\n{keep}", 1)
    else:
        kept = manifest.replace("\nmetadata:\n", f"\nmetadata:\n  annotations:\n{keep}", 1)
    return f"{{{{- if .Values.crd.enable }}}}\n{kept}{{{{- end }}}}\n"
