"""What each `init` and `create` writes: which archives, filled in with which words."""

import hashlib
import keyword
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli import names
from clientgo.cli.archive import parts
from clientgo.cli.names import Refused
from clientgo.cli.project import Project, Resource
from clientgo.cli.tree import Tree
from clientgo.version import VERSION

_OWN = frozenset({"controller", "log", "logging", "manager", "name", "rbac", "request", "self"})
"""Words that the scaffold's code has a use for, besides Python's."""


def begin(tree: Tree, project: Project) -> None:
    """The files of a project that has no kinds yet."""
    for archive in ("project", "config"):
        for part in parts(archive, _project_words(project)):
            tree.add(part)


def begin_allowed(root: Path) -> None:
    """Raises `Refused` unless a project may begin in this folder: one that is empty, but for version control's."""
    there = sorted(path.name for path in root.iterdir() if path.name != ".git")
    if there:
        raise Refused(f"{root.resolve()} is not empty ({', '.join(there[:3])}): a project begins in an empty folder")


def add_api(tree: Tree, project: Project, resource: Resource) -> None:
    """The types, sample and roles of a kind."""
    for part in parts("api", _words(project, resource)):
        tree.add(part)


def add_controller(tree: Tree, project: Project, resource: Resource) -> None:
    """The controller of a kind."""
    for part in parts("controller", _words(project, resource)):
        tree.add(part)


def add_webhooks(tree: Tree, project: Project, resource: Resource, sorts: Iterable[str]) -> None:
    """The webhooks of a kind, of the sorts `defaulting` and `validation`; with the project's first, their server."""
    words = _words(project, resource)
    first = () if any(one.webhooks for one in project.resources) else ("webhook",)
    for archive in (*first, *sorts):
        for part in parts(archive, words):
            tree.add(part)


def resource_of(project: Project, group: str, version: str, kind: str, plural: str) -> Resource:
    """The resource of these names in the project, or a new one that is not in it yet.

    Raises:
        Refused: a name can't be used.
    """
    names.group(group), names.version(version), names.kind(kind)
    known = project.find(group, version, kind)
    if known is not None:
        return known
    for other in project.resources:
        if other.group != group:
            raise Refused(
                f"this project's group is {other.group}: kinds of the group {group} belong in a project of their own"
            )
        if other.kind.lower() == kind.lower() and other.kind != kind:
            raise Refused(f"{kind} differs from {other.kind} by its case alone: their files would have one name")
    made = Resource(group=group, domain=project.domain, version=version, kind=kind, plural="")
    sibling = next((one for one in project.resources if one.kind == kind), None)
    made.plural = names.plural(plural) if plural else sibling.plural if sibling else made.usual_plural
    return made


def _project_words(project: Project) -> dict[str, str]:
    # Other programs may use a Lease of the same domain in one namespace: what the project is called tells them apart.
    unique = hashlib.sha256(f"{project.repo or project.name}".encode()).hexdigest()[:8]
    return {
        "project": project.name,
        "domain": project.domain,
        "lease": f"{unique}.{project.domain}",
        "clientgo": VERSION,
    }


def _words(project: Project, resource: Resource) -> dict[str, str]:
    lower = resource.kind.lower()
    return {
        **_project_words(project),
        "group": resource.group,
        "whole_group": resource.whole_group,
        "dashed": resource.whole_group.replace(".", "-"),
        "version": resource.version,
        "kind": resource.kind,
        "lower": lower,
        "variable": lower if not keyword.iskeyword(lower) and lower not in _OWN else f"{lower}_",
        "plural": resource.plural,
        "namespace": '"default"' if resource.namespaced else '""',
        "api_arguments": "\n".join(f"    {argument}," for argument in _api_arguments(project, resource)),
    }


def _api_arguments(project: Project, resource: Resource) -> list[str]:
    said = [f'group="{resource.whole_group}"', f'version="{resource.version}"']
    if resource.plural != resource.usual_plural:
        said.append(f'plural="{resource.plural}"')
    if not resource.namespaced:
        said.append('scope="Cluster"')
    # One version of a kind is what is stored: the one that was there first, until a hand says otherwise.
    first = next(
        (one for one in project.resources if (one.group, one.kind) == (resource.group, resource.kind)), resource
    )
    if first.version != resource.version:
        said.append("storage=False")
    return said
