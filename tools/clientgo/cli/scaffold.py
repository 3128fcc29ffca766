"""Templates and template words of `init` and `create api`."""

import hashlib
import keyword
from collections.abc import Iterable
from pathlib import Path

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, ProjectResource
from clientgo.cli.scaffold_writer import Part, ScaffoldWriter, parts
from clientgo.cli.wheels import install_words

_OWN = frozenset({"controller", "log", "logging", "manager", "name", "rbac", "request", "self"})
"""Names that the scaffolded code uses, besides Python's keywords."""


def begin(writer: ScaffoldWriter, project: Project, root: Path, header: str = "") -> None:
    """Write the files of a new project in the folder `root`; `header` is the header of its generated files."""
    words = {
        **_project_words(project),
        **install_words(root, project.index_url),
        "header": header.removesuffix("\n") or f"# Part of {project.name}.",
    }
    for archive in ("project", "make", "config", *(("namespaced",) if project.namespaced else ())):
        writer.add(*parts(archive, words))


def begin_allowed(root: Path) -> None:
    """Raise `CommandError` unless the folder is empty, except for `.git`."""
    names = sorted(path.name for path in root.iterdir() if path.name != ".git")
    if names:
        raise CommandError(f"{root.resolve()} is not empty ({', '.join(names[:3])}): run init in an empty folder")


def add_api(writer: ScaffoldWriter, project: Project, resource: ProjectResource) -> None:
    """Write the types, the sample and the roles of a kind."""
    add_package(writer, resource, "api", "API types of {}.")
    writer.add(*parts("api", words_of(project, resource)))


def add_definition(writer: ScaffoldWriter, project: Project, resource: ProjectResource, definition: str) -> None:
    """Write the CRD of a third-party kind, and register it with the generator."""
    writer.add(*parts("external", {**words_of(project, resource), "definition": definition}))


def resource_of(project: Project, group: str, version: str, kind: str, plural: str) -> ProjectResource:
    """Return the resource, or a new one, which is not added yet; CommandError if a name is invalid or in conflict."""
    names.group(group), names.version(version), names.kind(kind)
    existing = project.find(group, version, kind)
    if existing is not None:
        return existing
    group = project.without_domain(group)
    resource = ProjectResource(group=group, domain=project.domain, version=version, kind=kind, plural="")
    for other in project.resources:
        check_beside(other, resource, project)
    sibling = next(filter(resource.is_kind_of, project.resources), None)
    resource.plural = names.plural(plural) if plural else sibling.plural if sibling else resource.usual_plural
    served_as = (resource.whole_group, resource.plural)
    for other in project.resources:
        if (other.whole_group, other.plural) == served_as and other.kind != kind:
            message = f"the plural {resource.plural!r} is already used by {other.kind}: choose another with --plural"
            raise CommandError(message)
    # Versions of a kind share a folder, because they share a controller.
    resource.grouped = sibling.grouped if sibling else project.multigroup
    return resource


def check_beside(other: ProjectResource, resource: ProjectResource, project: Project) -> None:
    """Raise `CommandError` if a kind of the project conflicts with a new kind."""
    kind, group, is_in_group = resource.kind, resource.group, other.whole_group == resource.whole_group
    if not (is_in_group or project.multigroup or other.foreign or resource.foreign):
        message = f"the project has the group {other.group}: run clientgo edit --multigroup to allow others"
        raise CommandError(message)
    if not is_in_group and _modules_clash(other, resource):
        raise CommandError(f"the groups {group} and {other.group} map to the same Python package: choose another name")
    if other.kind.lower() != kind.lower():
        return
    if other.is_kind_of(resource) and other.foreign != resource.foreign:
        owner = "another" if other.foreign else "this"
        raise CommandError(f"{kind} of {other.whole_group} belongs to {owner} project with all its versions")
    if not is_in_group and not project.multigroup:
        raise CommandError(
            f"the group {other.group} already has a kind {other.kind}: choose another name, or run clientgo edit"
            " --multigroup, which gives each group folders of its own"
        )
    if other.kind != kind:
        raise CommandError(f"{kind} and {other.kind} differ only in case: their files would have the same name")


def later_group(resource: ProjectResource, resources: Iterable[ProjectResource]) -> str:
    """Return the group if another one had a kind with this name first, else an empty text.

    What is named after a kind alone belongs to the first of them, so that its files stay as they are.
    """
    lower = resource.kind.lower()
    first = next((each for each in resources if each.kind.lower() == lower), resource)
    return resource.group if first.group != resource.group else ""


def _modules_clash(resource: ProjectResource, other: ProjectResource) -> bool:
    # The generated modules of a group have the name of its first label, and `external` records it.
    if resource.external or other.external:
        return not (resource.core or other.core) and resource.group.partition(".")[0] == other.group.partition(".")[0]
    return resource.package == other.package


def _project_words(project: Project) -> dict[str, str]:
    # The hash distinguishes Leases of projects with the same domain in one namespace.
    unique = hashlib.sha256((project.repo or project.name).encode()).hexdigest()[:8]
    return {"project": project.name, "domain": project.domain, "lease": f"{unique}.{project.domain}"}


def words_of(project: Project, resource: ProjectResource) -> dict[str, str]:
    """Return the template words of a kind."""
    lower = resource.kind.lower()
    return {
        **_project_words(project),
        "group": resource.group,
        "whole_group": resource.whole_group,
        "dashed": resource.whole_group.replace(".", "-"),
        "version": resource.version,
        "kind": resource.kind,
        "a_kind": f"{'an' if resource.kind[0] in 'AEIO' else 'a'} {resource.kind}",
        "lower": lower,
        **_imports(resource),
        "variable": lower if not keyword.iskeyword(lower) and lower not in _OWN else f"{lower}_",
        "plural": resource.plural,
        "role": f"{resource.whole_group}_{lower}" if later_group(resource, _local(project)) else lower,
        "patch": _patch_of(project, resource),
        **_places(resource),
        "namespace": '"default"' if resource.namespaced else '""',
        "api_arguments": "\n".join(f"    {argument}," for argument in _api_arguments(project, resource)),
    }


def _local(project: Project) -> list[ProjectResource]:
    return [resource for resource in project.resources if not resource.foreign]


def _patch_of(project: Project, resource: ProjectResource) -> str:
    # As for roles: kinds of several groups may have the same plural.
    first = next((each for each in _local(project) if each.plural == resource.plural), resource)
    return resource.plural if first.group == resource.group else f"{resource.whole_group}_{resource.plural}"


def _imports(resource: ProjectResource) -> dict[str, str]:
    """Return the import of the kind's class: above those of the library if it is a built-in kind, else below."""
    module = resource.path if resource.foreign else f"{resource.path}.{resource.kind.lower()}_types"
    line = f"from {module} import {resource.kind}\n"
    above, last = (line, "") if resource.core else ("", line)
    return {"types_above": above, "types_below": f"\n{last}" if last else "", "types_last": last}


def add_package(writer: ScaffoldWriter, resource: ProjectResource, package: str, what: str) -> None:
    """Write the package of a kind's group, if it has one; `what` is the docstring, with `{}` for the group."""
    if resource.grouped:
        text = f'"""{what.format(resource.whole_group)}"""\n'
        name = resource.package if package == "api" else resource.folder
        writer.add(Part(f"{package}/{name}/__init__.py", text))


def _places(resource: ProjectResource) -> dict[str, str]:
    """Return the packages and folders of a kind's files."""
    group = f".{resource.folder}" if resource.grouped else ""
    packages = {
        "api": resource.path,
        "webhooks": f"webhooks{group}.{resource.version}",
        "controllers": f"controllers{group}",
        "tests": f"tests{group}",
    }
    return {**packages, **{f"{word}_folder": package.replace(".", "/") for word, package in packages.items()}}


def _api_arguments(project: Project, resource: ProjectResource) -> list[str]:
    arguments = [f'group="{resource.whole_group}"', f'version="{resource.version}"']
    if resource.plural != resource.usual_plural:
        arguments.append(f'plural="{resource.plural}"')
    if not resource.namespaced:
        arguments.append('scope="Cluster"')
    # The first version of a kind is the storage version by default.
    first = next(filter(resource.is_kind_of, project.resources), resource)
    if first.version != resource.version:
        arguments.append("storage=False")
    return arguments


def add_manifests(writer: ScaffoldWriter, project: Project) -> None:
    """Write config/manifests, the source of the bundle, and config/scorecard."""
    words = {
        **_project_words(project),
        "title": " ".join(part[:1].upper() + part[1:] for part in project.name.split("-")),
        "watches": "its own namespace" if project.namespaced else "all namespaces",
        "own": project.namespaced,
        "all": not project.namespaced,
    }
    writer.add(*parts("olm", words))
