"""Scaffolding of controllers, for the project's kinds and for built-in kinds."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, ProjectResource, package_of, types_of
from clientgo.cli.scaffold import add_package, check_beside, later_group, words_of
from clientgo.cli.scaffold_writer import ScaffoldWriter, parts
from clientgo.meta.scheme import ApiType, api_of

_STATUS_RBAC = '@rbac(groups=GROUP, resources="{}/status", verbs=("get", "patch", "update"))\n'
"""Permissions of a controller of a built-in or third-party kind that has a status."""


@dataclass(frozen=True, slots=True)
class Controlling:
    """A controller of a kind; `name` is empty for the one named after the kind."""

    resource: ProjectResource
    name: str = ""

    @property
    def there(self) -> bool:
        """True if the project already has the controller."""
        return self.name in self.resource.named if self.name else self.resource.controller

    def note(self) -> None:
        """Record the controller in the resource."""
        if not self.name:
            self.resource.controller = True
        elif self.name not in self.resource.named:
            self.resource.named.append(self.name)

    def words(self, project: Project) -> dict[str, str]:
        """Return the template words of its files."""
        lower, group = self.resource.kind.lower(), later_group(self.resource, project.resources)
        words = "".join(part.capitalize() for part in re.split("[-.]", f"{group}-{self.name}"))
        name = self.name or (f"{lower}-{group.replace('.', '-')}" if group else "")
        return {
            "module": f"{lower}_{package_of(self.name)}_controller" if self.name else f"{lower}_controller",
            "reconciler": f"{self.resource.kind}{words}Reconciler",
            "named": f', name="{name}"' if name else "",
            "status_rbac": _STATUS_RBAC.format(self.resource.plural) if self.resource.status else "",
        }


def controlling(project: Project, resource: ProjectResource, name: str) -> Controlling:
    """Return the controller of that name; CommandError if it is invalid, or used for another kind."""
    if not name or name == resource.kind.lower():
        _check_class(project, Controlling(resource))
        return Controlling(resource)
    names.controller(name)
    controlled = Controlling(resource, name)
    for other in project.resources:
        if not other.is_kind_of(resource) and name in (other.kind.lower(), *other.named):
            raise CommandError(f"the controller name {name} is already used for {other.kind}: choose another name")
    _check_class(project, controlled)
    return controlled


def _check_class(project: Project, controlled: Controlling) -> None:
    """Reject a second class of the same name: main.py could import only one, such as FooBarReconciler."""
    name = controlled.words(project)["reconciler"]
    for other in () if controlled.there else project.resources:
        for existing in (Controlling(other), *(Controlling(other, named) for named in other.named)):
            is_other = existing.there and not other.is_kind_of(controlled.resource)
            if is_other and existing.words(project)["reconciler"] == name:
                raise CommandError(f"a controller of {other.kind} already has the class {name}: choose another name")


def add_controller(writer: ScaffoldWriter, project: Project, controlled: Controlling) -> None:
    """Write a controller and register it with the manager."""
    resource = controlled.resource
    add_package(writer, resource, "controllers", "Reconcilers of the API types of {}.")
    for archive in ("builtin" if resource.foreign else "controller", "controlled"):
        writer.add(*parts(archive, {**words_of(project, resource), **controlled.words(project)}))


def built_in(project: Project, group: str, version: str, kind: str) -> ProjectResource | None:
    """Return a built-in kind, such as `apps`, `v1`, `Deployment`; None if the library has none of this name.

    Raises:
        CommandError: a kind of another group has the same name, and the project has no folders for each group.
    """
    api = _known(group, version, kind)
    if api is None or project.find(group, version, kind) is not None:
        return None
    full_group = api.group or "core"
    if (existing := project.find(full_group, version, kind)) is not None:
        return existing
    resource = ProjectResource(group=full_group, domain="", version=version, kind=kind, plural=api.plural, core=True)
    resource.namespaced, resource.status, resource.grouped = api.namespaced, api.status, project.multigroup
    for other in project.resources:
        check_beside(other, resource, project)
    return resource


def check_spelling(group: str, version: str, kind: str, *, remedy: str = "to define the kind, add --resource") -> None:
    """Check the names of an unknown kind; CommandError if one is invalid, or close to a built-in kind of the group."""
    names.group(group), names.version(version), names.kind(kind)
    apis_by_kind = {api.kind: api for api in _built_in_types() if _is_group(api, group)}
    for close in get_close_matches(kind, apis_by_kind, n=1, cutoff=0.8):
        raise CommandError(
            f"unknown kind {kind} of {group}/{version}: did you mean {close} of {apis_by_kind[close].api_version}?"
            f" ({remedy})"
        )


def _built_in_types() -> Iterator[ApiType]:
    types = importlib.import_module("clientgo.kubernetes.types")
    for module in pkgutil.iter_modules(types.__path__):
        for member in vars(importlib.import_module(f"{types.__name__}.{module.name}")).values():
            try:
                yield api_of(member)
            except (AttributeError, LookupError, TypeError, ValueError):
                continue  # an import, or a class that is a part of kinds


def _is_group(api: ApiType, group: str) -> bool:
    return (group or "core") in (api.group or "core", api.group.partition(".")[0])


def _known(group: str, version: str, kind: str) -> ApiType | None:
    try:
        # Imported by name: it is one of many modules, and most commands need none.
        module = importlib.import_module(types_of(group or "core", version))
        api = api_of(getattr(module, kind))
    except (ImportError, AttributeError, LookupError, TypeError, ValueError):
        return None
    return api if _is_group(api, group) and (api.version, api.kind) == (version, kind) else None
