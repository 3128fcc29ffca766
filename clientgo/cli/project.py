"""The file PROJECT: what a project is made of, by kubebuilder's words (project version 3)."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from clientgo.cli.names import Refused
from clientgo.meta.plural import plural_of

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

    @property
    def usual_plural(self) -> str:
        """The plural that the kind has if it names none."""
        return plural_of(self.kind.lower())

    @property
    def whole_group(self) -> str:
        """The API group."""
        return f"{self.group}.{self.domain}"

    def as_yaml(self) -> dict[str, Any]:
        """By kubebuilder's words."""
        said: dict[str, Any] = {
            "domain": self.domain,
            "group": self.group,
            "kind": self.kind,
            "path": f"api.{self.version}",
            "version": self.version,
        }
        if self.api:
            said["api"] = {"crdVersion": "v1", "namespaced": self.namespaced}
        if self.controller:
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
    resources: list[Resource] = field(default_factory=list)

    def find(self, group: str, version: str, kind: str) -> Resource | None:
        """The resource of that name."""
        wanted = (group, version, kind)
        return next((one for one in self.resources if (one.group, one.version, one.kind) == wanted), None)

    def write(self, root: Path) -> None:
        """Write PROJECT."""
        said: dict[str, Any] = {"domain": self.domain, "layout": [LAYOUT], "projectName": self.name}
        if self.repo:
            said["repo"] = self.repo
        if self.resources:
            said["resources"] = [one.as_yaml() for one in self.resources]
        # The version is a text, which YAML would take for a number.
        text = _HEAD + yaml.safe_dump(said, sort_keys=True) + 'version: "3"\n'
        (root / FILE).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, root: Path) -> "Project":
        """What the PROJECT file of a folder says.

        Raises:
            Refused: there is none, or it can't be understood.
        """
        try:
            said = yaml.safe_load((root / FILE).read_text(encoding="utf-8"))
            layout = said["layout"]
            if LAYOUT not in layout:
                raise Refused(f"PROJECT is of another tool: its layout is {', '.join(map(str, layout))}, not {LAYOUT}")
            name, repo = str(said["projectName"]), str(said.get("repo", ""))
            resources = [_resource(one) for one in said.get("resources", [])]
            return cls(name=name, domain=str(said["domain"]), repo=repo, resources=resources)
        except FileNotFoundError:
            raise Refused(
                "there is no project in this folder: begin one with clientgo init, or change to its folder"
            ) from None
        except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise Refused("PROJECT can't be understood: restore it from version control") from error


def _resource(said: dict[str, Any]) -> Resource:
    api = said.get("api")
    return Resource(
        group=said["group"],
        domain=said["domain"],
        version=said["version"],
        kind=said["kind"],
        plural=said.get("plural") or plural_of(said["kind"].lower()),
        namespaced=bool(api["namespaced"]) if api else True,
        api=bool(api),
        controller=bool(said.get("controller")),
        webhooks={name: value for name, value in said.get("webhooks", {}).items() if name != "webhookVersion"},
    )
