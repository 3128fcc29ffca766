"""`clientgo chart`: a Helm chart generated from `config/default`.

With its default values and the namespace of `make deploy`, it installs the same objects. Settings that differ between
clusters are values; everything else stays in `config/`. Templates use only values, `if` and `toJson`, so that they read
like the manifests.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.internal.files import path_below, write_files
from clientgo.meta.yamlio import to_scalar
from clientgo_olm.files import dumped
from clientgo_olm.objects import Object, at, mapping, mappings, name_of, text
from clientgo_olm.rendered import render
from clientgo_olm.rules import SEMVER
from clientgo_olm.serviceversion import PLACEHOLDER

FOLDER = Path("dist", "chart")
DEFAULT = "config/default"

# Placeholders, replaced by expressions after the manifest is written as YAML.
_MARK = "CLIENTGO-"
_EXPRESSIONS = {
    # Quoted, because a namespace may be named 123.
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
# Image of the manager.
image: {image}
imagePullPolicy: {pull}
# Only one replica is active at a time.
replicas: {replicas}
resources:
{resources}\
# Scheduling of the pods.
nodeSelector: {{}}
tolerations: []
affinity: {{}}
crd:
  # Install the CRDs with the manager.
  enable: true
  # Keep the CRDs and their objects when the chart is uninstalled.
  keep: true
"""


def make_chart(options: argparse.Namespace, root: Path, *, say: Callable[[str], object]) -> int:
    """Write `dist/chart`, replacing its templates.

    Raises:
        CommandError: the folder has no project, the version is invalid, or config/default cannot be rendered.
    """
    project = Project.read(root)
    if not SEMVER.fullmatch(options.version):
        raise CommandError(f"invalid version {options.version!r}: expected a semantic version such as 0.1.0")
    objects = render(root, os.environ.get("KUBECTL") or "kubectl", DEFAULT).objects
    files = chart_files(project.name, options.version, options.image, objects)
    write_chart(root, files)
    say(f"{FOLDER} has {len(files)} files: helm install {project.name} {FOLDER} --namespace {project.name}-system")
    return 0


def write_chart(root: Path, files: Mapping[str, str]) -> None:
    """Write the files of the chart, and remove other templates from it.

    Raises:
        ConfigError: a path leads out of the project.
    """
    places = {path_below(root, FOLDER / path): content.encode() for path, content in files.items()}
    for old in path_below(root, FOLDER / "templates").glob("*.yaml"):
        if old not in places:
            old.unlink()
    write_files(places)


def chart_files(name: str, version: str, image: str, objects: tuple[Object, ...]) -> dict[str, str]:
    """Return all files of the chart by path."""
    manager = next((obj for obj in objects if obj.get("kind") == "Deployment"), {})
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
    for item in objects:
        # Helm creates the namespace on request.
        if item.get("kind") == "Namespace":
            continue
        obj = _configured(item) if item.get("kind") == "Deployment" else item
        content = _as_template(dumped(_general(obj, namespace)))
        if item.get("kind") == "CustomResourceDefinition":
            content = _optional(content)
        yield f"templates/{text(item.get('kind')).lower()}-{name_of(item)}.yaml", content


def _configured(deployment: Object) -> Object:
    spec = mapping(deployment.get("spec"))
    template = mapping(spec.get("template"))
    pod = mapping(template.get("spec"))
    containers = mappings(pod.get("containers"))
    if not containers:
        return deployment
    first, *sidecars = containers
    manager = {**first, "resources": f"{_MARK}RESOURCES", "imagePullPolicy": f"{_MARK}PULL"}
    if first.get("image") == PLACEHOLDER:
        manager["image"] = f"{_MARK}IMAGE"
    placed = {
        "containers": [manager, *sidecars],
        "nodeSelector": f"{_MARK}SELECTOR",
        "tolerations": f"{_MARK}TOLERATIONS",
        "affinity": f"{_MARK}AFFINITY",
    }
    template = {**template, "spec": {**pod, **placed}}
    return {**deployment, "spec": {**spec, "replicas": f"{_MARK}REPLICAS", "template": template}}


def _general(value: Any, namespace: str) -> Any:
    """Replace the namespace and the managed-by label with expressions."""
    if isinstance(value, dict):
        members = {name: _general(inner, namespace) for name, inner in value.items()}
        if members.get("app.kubernetes.io/managed-by") == "kustomize":
            members["app.kubernetes.io/managed-by"] = f"{_MARK}SERVICE"
        return members
    if isinstance(value, list):
        return [_general(inner, namespace) for inner in value]
    if value == namespace:
        return f"{_MARK}WHOLE-NAMESPACE"
    return value.replace(namespace, f"{_MARK}NAMESPACE") if isinstance(value, str) else value


def _as_template(manifest: str) -> str:
    # Escape braces in the manifest itself.
    escaped = manifest.replace("{{", '{{ "{{" }}')
    for mark, expression in _EXPRESSIONS.items():
        escaped = escaped.replace(mark, expression)
    return escaped


def _optional(manifest: str) -> str:
    keep = "  {{- if .Values.crd.keep }}\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    if "\n  annotations:\n" in manifest:
        annotated = manifest.replace("\n  annotations:\n", f"\n  annotations:\n{keep}", 1)
    else:
        annotated = manifest.replace("\nmetadata:\n", f"\nmetadata:\n  annotations:\n{keep}", 1)
    return f"{{{{- if .Values.crd.enable }}}}\n{annotated}{{{{- end }}}}\n"
