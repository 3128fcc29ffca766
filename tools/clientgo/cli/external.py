"""Third-party kinds of a project: their types are generated from a copy of their CRD."""

from pathlib import Path
from typing import Any

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, ProjectResource
from clientgo.cli.scaffold import check_beside
from clientgo.codegen.inputs.crds import ForeignKind, definitions_in, read_definitions
from clientgo.codegen.model import short_name
from clientgo.codegen.names import identifier
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.schematypes import class_name
from clientgo.meta.objects import LAST_APPLIED, GroupVersionKind
from clientgo.meta.yamlio import read_yaml, to_yaml


def read_definition(project: Project, file: Path, group: str, version: str, kind: str) -> tuple[ProjectResource, str]:
    """Return a kind of the CRDs in a file, and the text of its CRD.

    Raises:
        CommandError: the file is invalid or has no such kind, or the kind conflicts with one of the project.
    """
    problems = Problems()
    kinds = {foreign.api.gvk: foreign for foreign in read_definitions([file], problems)}
    for message in problems:
        raise CommandError(f"--from-crd {message}")
    whole_groups = (group, f"{group}.{project.domain}")
    match = next((kinds[gvk] for each in whole_groups if (gvk := GroupVersionKind(each, version, kind)) in kinds), None)
    if match is None:
        contents = ", ".join(sorted(map(str, kinds)))
        if not (group and version and kind):
            raise CommandError(f"--from-crd needs --group, --version and --kind: {file} has {contents}")
        raise CommandError(f"{kind} of {group}/{version} not found in {file}: it has {contents}")
    resource = project.find(match.api.group, version, kind)
    if resource is None or not resource.external:
        resource = _new(project, match)
    return resource, _text(file, match.api.group, kind)


def _new(project: Project, kind: ForeignKind) -> ProjectResource:
    api = kind.api
    names.version(api.version)
    if names.kind(api.kind) != class_name(api.kind):
        raise CommandError(f"invalid kind {api.kind!r}: the generated files import a class of that name")
    group = project.without_domain(api.group)
    domain = "" if group == api.group else project.domain
    resource = ProjectResource(group=group, domain=domain, version=api.version, kind=api.kind, plural=api.plural)
    resource.external = f"generated.types.{short_name(api.group)}_{identifier(api.version)}"
    resource.namespaced, resource.status, resource.grouped = api.namespaced, api.status, project.multigroup
    for other in project.resources:
        check_beside(other, resource, project)
    return resource


def _text(file: Path, group: str, kind: str) -> str:
    for document in definitions_in(read_yaml(file.read_text(encoding="utf-8"))):
        if (document["spec"]["group"], document["spec"]["names"]["kind"]) == (group, kind):
            # Neither the state that a cluster has added, nor a conversion webhook, which a test server cannot call.
            spec = {name: value for name, value in document["spec"].items() if name != "conversion"}
            head = {"apiVersion": document["apiVersion"], "kind": document["kind"]}
            return to_yaml({**head, "metadata": _metadata(document["metadata"]), "spec": spec}).rstrip()
    raise AssertionError(f"{file} had the kind when it was first read")


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the name, the labels, and the annotations, of which a group such as `x.k8s.io` needs its approval."""
    annotations = metadata.get("annotations") or {}
    written = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
    fields = {"name": metadata["name"], "labels": metadata.get("labels"), "annotations": written}
    return {name: value for name, value in fields.items() if value}
