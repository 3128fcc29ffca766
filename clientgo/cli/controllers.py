"""Controllers: of the project's own kinds, of Kubernetes' kinds, and more than one for a kind."""

import importlib
from dataclasses import dataclass

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, Resource, package_of, types_of
from clientgo.cli.scaffold import add_package, check_beside, words_of
from clientgo.cli.scaffold_writer import ScaffoldWriter
from clientgo.cli.template_files import parts
from clientgo.meta.scheme import ApiType, api_of


@dataclass(frozen=True, slots=True)
class Controlling:
    """A controller of a kind; `name` is empty for the one that is called as the kind is."""

    resource: Resource
    name: str = ""

    @property
    def there(self) -> bool:
        """Whether the project has it already."""
        return self.name in self.resource.named if self.name else self.resource.controller

    def note(self) -> None:
        """Have PROJECT remember it."""
        if not self.name:
            self.resource.controller = True
        elif self.name not in self.resource.named:
            self.resource.named.append(self.name)

    def words(self) -> dict[str, str]:
        """What its files are filled in with."""
        lower = self.resource.kind.lower()
        if not self.name:
            return {"module": f"{lower}_controller", "reconciler": f"{self.resource.kind}Reconciler", "named": ""}
        words = "".join(part.capitalize() for part in self.name.split("-"))
        return {
            "module": f"{lower}_{package_of(self.name)}_controller",
            "reconciler": f"{self.resource.kind}{words}Reconciler",
            "named": f'.named("{self.name}")',
        }


def controlling(project: Project, resource: Resource, name: str) -> Controlling:
    """The controller of that name; raises `CommandError` for a name that can't be, or that another kind's has."""
    if not name or name == resource.kind.lower():
        return Controlling(resource)
    names.controller(name)
    for other in project.resources:
        if other.kind != resource.kind and name in (other.kind.lower(), *other.named):
            raise CommandError(f"a controller of {other.kind} is called {name} already: choose another name")
    return Controlling(resource, name)


def add_controller(writer: ScaffoldWriter, project: Project, wanted: Controlling) -> None:
    """Write a controller, and have the manager run it."""
    resource = wanted.resource
    add_package(writer, resource, "controllers", "What is done about the kinds of {}.")
    for archive in ("builtin" if resource.core else "controller", "controlled"):
        for part in parts(archive, {**words_of(project, resource), **wanted.words()}):
            writer.add(part)


def built_in(project: Project, group: str, version: str, kind: str) -> Resource | None:
    """One of Kubernetes' kinds: `apps`, `v1`, `Deployment`; None if there is none of these names in the library.

    Raises:
        CommandError: a kind of the project would be in its way.
    """
    api = _known(group, version, kind)
    if api is None or project.find(group, version, kind) is not None:
        return None
    whole = api.group or "core"
    known = project.find(whole, version, kind)
    if known is not None:
        return known
    made = Resource(group=whole, domain="", version=version, kind=kind, plural=api.plural, core=True)
    made.namespaced, made.grouped = api.namespaced, project.multigroup
    for other in project.resources:
        if other.kind.lower() == kind.lower():
            check_beside(other, project, whole, kind)
            raise CommandError(f"{kind} is a kind of this project already: its controllers would have one name")
    return made


def _known(group: str, version: str, kind: str) -> ApiType | None:
    try:
        # By its name, because it is one of many, and most commands need none.
        module = importlib.import_module(types_of(group or "core", version))
        api = api_of(getattr(module, kind))
    except (ImportError, AttributeError, LookupError, TypeError, ValueError):
        return None
    is_it = (group or "core") in (api.group or "core", api.group.partition(".")[0])
    return api if is_it and (api.version, api.kind) == (version, kind) else None
