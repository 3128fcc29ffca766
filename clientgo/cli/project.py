"""The file PROJECT: what a project is made of, by kubebuilder's words (project version 3)."""

import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.meta.scheme import plural_of
from clientgo.meta.yamlio import NotYAML, read_yaml, to_yaml
from clientgo.version import VERSION

FILE = Path("PROJECT")
LAYOUT = "python.clientgo.dev/v1"
"""Which scaffold it is, in the form of kubebuilder's plug-ins."""

_HEAD = "# What clientgo has made in this project. The command reads and writes this file; leave it to it.\n"


@dataclass(slots=True, kw_only=True)
class Resource:
    """One version of a kind, and what the project has for it."""

    group: str
    domain: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    api: bool = False
    controller: bool = False
    webhooks: dict[str, Any] = field(default_factory=dict)
    named: list[str] = field(default_factory=list)
    """Controllers beside the one that is called by the kind."""
    core: bool = False
    """Whether it is one of Kubernetes' own kinds: `group` is its whole group then, `core` where that is empty."""
    grouped: bool = False
    """Whether its files lie below folders of its group; a kind stays where it was begun, whatever others do."""

    @property
    def package(self) -> str:
        """The group as a Python package."""
        return package_of(self.group)

    @property
    def path(self) -> str:
        """The package of its types."""
        if self.core:
            return types_of(self.group, self.version)
        return f"api.{self.package}.{self.version}" if self.grouped else f"api.{self.version}"

    @property
    def usual_plural(self) -> str:
        """The plural that the kind has if it names none."""
        return plural_of(self.kind.lower())

    @property
    def whole_group(self) -> str:
        """The API group."""
        return self.group if self.core else f"{self.group}.{self.domain}"

    def as_yaml(self) -> dict[str, Any]:
        """By kubebuilder's words."""
        said: dict[str, Any] = {"group": self.group, "kind": self.kind, "path": self.path, "version": self.version}
        if self.domain:
            said["domain"] = self.domain
        if self.core:
            said["core"] = True
        if self.api:
            said["api"] = {"crdVersion": "v1", "namespaced": self.namespaced}
        if self.named:
            names = [*([self.kind.lower()] if self.controller else []), *self.named]
            said["controllers"] = [{"name": name} for name in names]
        elif self.controller:
            said["controller"] = True
        if self.plural != self.usual_plural:
            said["plural"] = self.plural
        if self.webhooks:
            said["webhooks"] = {**self.webhooks, "webhookVersion": "v1"}
        return said


@dataclass(slots=True, kw_only=True)
class Project:
    """What a project is made of."""

    name: str
    domain: str
    repo: str = ""
    multigroup: bool = False
    namespaced: bool = False
    cli_version: str = VERSION
    resources: list[Resource] = field(default_factory=list)

    def find(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of that name."""
        wanted = (group, version, kind)
        return next((one for one in self.resources if (one.group, one.version, one.kind) == wanted), None)

    def write(self, root: Path) -> None:
        """Write PROJECT."""
        said: dict[str, Any] = {
            "cliVersion": self.cli_version,
            "domain": self.domain,
            "layout": [LAYOUT],
            "projectName": self.name,
        }
        if self.repo:
            said["repo"] = self.repo
        for word, holds in (("multigroup", self.multigroup), ("namespaced", self.namespaced)):
            if holds:
                said[word] = True
        if self.resources:
            said["resources"] = [one.as_yaml() for one in self.resources]
        # The version is a text, which YAML would take for a number.
        text = _HEAD + to_yaml(said, sort_keys=True) + 'version: "3"\n'
        (root / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, root: Path) -> "Project":
        """What the PROJECT file of a folder says.

        Raises:
            CommandError: there is none, or it can't be understood.
        """
        try:
            [said] = read_yaml((root / FILE).read_text(encoding="utf-8"))
            layout = said["layout"]
            if LAYOUT not in layout:
                raise CommandError(f"unknown layout {', '.join(map(str, layout))} in PROJECT: expected {LAYOUT}")
            return cls(
                name=_checked(names.project_name, str(said["projectName"])),
                domain=_checked(names.domain, str(said["domain"])),
                repo=str(said.get("repo", "")),
                multigroup=bool(said.get("multigroup")),
                namespaced=bool(said.get("namespaced")),
                # What began the project, which an older one was not asked to tell.
                cli_version=str(said.get("cliVersion", VERSION)),
                resources=[_resource(one) for one in said.get("resources", [])],
            )
        except FileNotFoundError:
            raise CommandError(
                "there is no project in this folder: begin one with clientgo init, or change to its folder"
            ) from None
        except NotYAML as error:
            raise CommandError(
                f"invalid PROJECT, line {error.line}: {error}: restore it from version control"
            ) from error
        except (OSError, LookupError, TypeError, AttributeError, ValueError) as error:
            raise CommandError("invalid PROJECT: restore it from version control") from error


def package_of(group: str) -> str:
    """A group as a Python package; what a package's name can't hold becomes `_`."""
    name = re.sub(r"[-.]", "_", group)
    return f"{name}_" if keyword.iskeyword(name) else f"_{name}" if name[0].isdigit() else name


def types_of(group: str, version: str) -> str:
    """The module of the library that has the types of a group of Kubernetes' own."""
    return f"clientgo.kubernetes.types.{group.partition('.')[0]}_{version}"


def _checked(check: Callable[[str], str], name: str) -> str:
    # Names become parts of paths and of programs.
    try:
        return check(name)
    except CommandError as error:
        raise CommandError(f"invalid PROJECT: {error}") from error


def _resource(said: dict[str, Any]) -> Resource:
    api = said.get("api")
    core = bool(said.get("core"))
    if not core:
        _checked(names.group, said["group"])
        _checked(names.kind, said["kind"])
    _checked(names.version, said["version"])
    if not isinstance(said.get("webhooks", {}).get("spoke", []), list):
        raise TypeError("spoke")
    controllers = [str(one["name"]) for one in said.get("controllers", [])]
    usual = said["kind"].lower()
    return Resource(
        group=said["group"],
        domain=said.get("domain", ""),
        version=said["version"],
        kind=said["kind"],
        plural=said.get("plural") or plural_of(usual),
        namespaced=bool(api["namespaced"]) if api else True,
        api=bool(api),
        controller=bool(said.get("controller")) or usual in controllers,
        named=[name for name in controllers if name != usual],
        core=core,
        grouped=said.get("path") == f"api.{package_of(said['group'])}.{said['version']}",
        webhooks={name: value for name, value in said.get("webhooks", {}).items() if name != "webhookVersion"},
    )
