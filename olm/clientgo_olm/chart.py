"""`clientgo chart`: a Helm chart generated from `config/default`.

With its default values, released under the project's name into the namespace of `make deploy`, it installs the same
objects. Settings that differ between clusters are values, names follow the release, everything else stays in `config/`.
Templates use only values, `if`, `index` and `toJson`, so that they read like the manifests.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.internal.files import path_below, write_files
from clientgo.meta.yamlio import to_scalar
from clientgo_olm.files import dumped
from clientgo_olm.objects import Object, at, is_certificate, mapping, mappings, name_of, text, texts
from clientgo_olm.releasenames import MARK, ReleaseNames, lease_flags, selectors_of
from clientgo_olm.rendered import render
from clientgo_olm.rules import SEMVER
from clientgo_olm.serviceversion import PLACEHOLDER

FOLDER = Path("dist", "chart")
DEFAULT = "config/default"

_EXPRESSIONS = {
    # Quoted, because a namespace or a release may be named 123.
    f"{MARK}WHOLE-NAMESPACE": '"{{ .Release.Namespace }}"',
    f"{MARK}WHOLE-RELEASE": '"{{ .Release.Name }}"',
    f"{MARK}RELEASE": "{{ .Release.Name }}",
    f"{MARK}NAMESPACE": "{{ .Release.Namespace }}",
    f"{MARK}SERVICE": "{{ .Release.Service }}",
    f"{MARK}IMAGE": "{{ toJson .Values.image }}",
    f"{MARK}PULL": "{{ toJson .Values.imagePullPolicy }}",
    f"{MARK}REPLICAS": "{{ toJson .Values.replicas }}",
    f"{MARK}RESOURCES": "{{ toJson .Values.resources }}",
    f"{MARK}SELECTOR": "{{ toJson .Values.nodeSelector }}",
    f"{MARK}TOLERATIONS": "{{ toJson .Values.tolerations }}",
    f"{MARK}AFFINITY": "{{ toJson .Values.affinity }}",
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
_WEBHOOKS = """\
# Namespaces and objects for which the webhooks are called.
webhooks:
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
    if any(map(is_certificate, objects)):
        raise CommandError(
            "the chart would contain the key of the webhooks' certificate: it needs cert-manager, which clientgo"
            " upgrade --certificates=cert-manager selects"
        )
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
    names = ReleaseNames(name, objects)
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
            resources=_indented(resources),
        )
        + _webhook_values(objects, names),
    }
    for path, content in _templates(objects, names):
        files[path] = f"{files[path]}---\n{content}" if path in files else content
    return files


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def _webhook_values(objects: Iterable[Object], names: ReleaseNames) -> str:
    values = dict[str, Object]()
    for webhook, field, selector in (each for obj in objects for each in selectors_of(obj, names)):
        values.setdefault(webhook, {})[field] = selector
    return _WEBHOOKS + _indented(dumped(values)) if values else ""


def _templates(objects: Iterable[Object], names: ReleaseNames) -> Iterator[tuple[str, str]]:
    for item in objects:
        # Helm creates the namespace on request.
        if item.get("kind") == "Namespace":
            continue
        obj = _configured(item, names) if item.get("kind") == "Deployment" else item
        obj, expressions = _selectable(names.applied(obj), selectors_of(item, names))
        content = _as_template(dumped(obj), expressions)
        if item.get("kind") == "CustomResourceDefinition":
            content = _optional(content)
        yield f"templates/{text(item.get('kind')).lower()}-{name_of(item)}.yaml", content


def _selectable(configuration: Object, selectors: Iterable[tuple[str, str, Object]]) -> tuple[Object, dict[str, str]]:
    """Return a webhook configuration with placeholders for its selectors, and their expressions."""
    expressions = dict[str, str]()
    webhooks = {text(webhook.get("name")): webhook for webhook in mappings(configuration.get("webhooks"))}
    for name, field, _ in selectors:
        webhooks[name] = {**webhooks[name], field: (mark := f"{MARK}{name}-{field}")}
        expressions[mark] = f'{{{{ toJson (index .Values.webhooks "{name}").{field} }}}}'
    return ({**configuration, "webhooks": [*webhooks.values()]} if expressions else configuration), expressions


def _configured(deployment: Object, names: ReleaseNames) -> Object:
    spec = mapping(deployment.get("spec"))
    template = mapping(spec.get("template"))
    pod = mapping(template.get("spec"))
    containers = mappings(pod.get("containers"))
    if not containers:
        return deployment
    first, *sidecars = containers
    manager = {**first, "resources": f"{MARK}RESOURCES", "imagePullPolicy": f"{MARK}PULL"}
    if flags := lease_flags(texts(first.get("args")), names.lease):
        manager["args"] = [*first["args"], *flags]
    if first.get("image") == PLACEHOLDER:
        manager["image"] = f"{MARK}IMAGE"
    placed = {
        "containers": [manager, *sidecars],
        "nodeSelector": f"{MARK}SELECTOR",
        "tolerations": f"{MARK}TOLERATIONS",
        "affinity": f"{MARK}AFFINITY",
    }
    template = {**template, "spec": {**pod, **placed}}
    return {**deployment, "spec": {**spec, "replicas": f"{MARK}REPLICAS", "template": template}}


def _as_template(manifest: str, expressions: Mapping[str, str]) -> str:
    # Escape braces in the manifest itself.
    escaped = manifest.replace("{{", '{{ "{{" }}')
    for mark, expression in {**expressions, **_EXPRESSIONS}.items():
        escaped = escaped.replace(mark, expression)
    return escaped


def _optional(manifest: str) -> str:
    keep = "  {{- if .Values.crd.keep }}\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    if "\n  annotations:\n" in manifest:
        annotated = manifest.replace("\n  annotations:\n", f"\n  annotations:\n{keep}", 1)
    else:
        annotated = manifest.replace("\nmetadata:\n", f"\nmetadata:\n  annotations:\n{keep}", 1)
    return f"{{{{- if .Values.crd.enable }}}}\n{annotated}{{{{- end }}}}\n"
