"""What `create webhook` is asked for, and what it writes: admission webhooks, and conversion between versions.

Of a kind's versions one is the hub; each other, a spoke, is converted to it and from it. PROJECT remembers all this.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, Resource
from clientgo.cli.scaffold import add_package, words_of
from clientgo.cli.scaffold_writer import ScaffoldWriter
from clientgo.cli.template_files import parts

_PATH = re.compile(r"/[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?")

_FLAGS = {"defaulting": "--defaulting", "validation": "--programmatic-validation"}
_PREFIXES = {"defaulting": "mutate", "validation": "validate"}

_IGNORE = """\
    # With "Fail" the manager's own pods could not start while it does not answer.
    failure_policy="Ignore",
"""

_OF_A_SPOKE = ("version", "api", "webhooks", "webhooks_folder")
"""Words of a version that the files of a spoke need beside the hub's; there they begin with `spoke_`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which webhooks a version of a kind is to have, and at which paths those are that have one of their own."""

    sorts: tuple[str, ...]
    paths: Mapping[str, str]
    spokes: tuple[Resource, ...]
    force: bool

    def present(self, resource: Resource) -> list[tuple[str, bool]]:
        """What each is called, and whether the resource has it already."""
        known = _known_spokes(resource)
        sorts = [(f"a webhook for {sort}", bool(resource.webhooks.get(sort))) for sort in self.sorts]
        return [*sorts, *((f"a conversion of {spoke.version}", spoke.version in known) for spoke in self.spokes)]


def asked(project: Project, resource: Resource, options: argparse.Namespace) -> Asked:
    """What the options ask for.

    Raises:
        CommandError: it is nothing, or nothing that can be.
    """
    chosen = {"defaulting": options.defaulting, "validation": options.programmatic_validation}
    given = {"defaulting": options.defaulting_path, "validation": options.validation_path}
    for sort, path in given.items():
        _check_path(sort, path, wanted=chosen[sort])
    if options.spoke and not options.conversion:
        raise CommandError("--spoke names the versions that are converted: say --conversion too")
    if not any(chosen.values()) and not options.conversion:
        raise CommandError(
            "there is nothing to create: say --defaulting, --programmatic-validation, --conversion, or several of them"
        )
    if options.conversion and resource.core:
        raise CommandError(f"{resource.kind} is a kind of Kubernetes' own: the API server converts it by itself")
    spokes = _spokes(project, resource, options.spoke, force=options.force) if options.conversion else []
    sorts = tuple(sort for sort, wanted in chosen.items() if wanted)
    return Asked(sorts, {sort: path for sort, path in given.items() if path}, tuple(spokes), options.force)


def add_webhooks(writer: ScaffoldWriter, project: Project, resource: Resource, wanted: Asked) -> None:
    """Write the webhooks of a kind, with the project's first their server, and have the resource remember them."""
    # Of Kubernetes' kinds there are no samples that a test could take.
    tests = "served" if resource.core else "test"
    archives = [*_shared(project, resource, wanted)]
    archives += [archive for sort in wanted.sorts for archive in (sort, f"{sort}{tests}")]
    if wanted.spokes and (wanted.force or not resource.webhooks.get("conversion")):
        archives.append("hub")
    _remember(resource, wanted)
    words = _words(project, resource)
    add_package(writer, resource, "webhooks", "Webhooks of {}.")
    for archive in archives:
        for part in parts(archive, words):
            writer.add(part)
    for spoke in wanted.spokes:
        theirs = words_of(project, spoke)
        for part in parts("spoke", {**words, **{f"spoke_{name}": theirs[name] for name in _OF_A_SPOKE}}):
            writer.add(part)


def _shared(project: Project, resource: Resource, wanted: Asked) -> Iterator[str]:
    """What comes once in a project, with the first webhook, and with the first conversion."""
    if not any(one.webhooks for one in project.resources):
        yield "webhook"
    if wanted.spokes and not any(one.webhooks.get("conversion") for one in project.resources):
        yield "conversion"


def _remember(resource: Resource, wanted: Asked) -> None:
    resource.webhooks |= dict.fromkeys(wanted.sorts, True)
    resource.webhooks |= {f"{sort}Path": path for sort, path in wanted.paths.items()}
    if wanted.spokes:
        versions = dict.fromkeys([*_known_spokes(resource), *(one.version for one in wanted.spokes)])
        resource.webhooks |= {"conversion": True, "spoke": list(versions)}


def _words(project: Project, resource: Resource) -> dict[str, str]:
    words = words_of(project, resource)
    own = f"\nfrom {words['api']}.{words['lower']}_types import {resource.kind}\n"
    words |= {"types_above": "", "types_below": own, "hook_domain": resource.whole_group, "policy": ""}
    if resource.core:
        # Above, because it is the library's; and the name of a webhook is one of the project's.
        words |= {"types_above": f"from {words['api']} import {resource.kind}\n", "types_below": ""}
        words |= {"hook_domain": f"{project.name}.{project.domain}", "policy": _IGNORE}
    group = "" if resource.core and resource.group == "core" else words["dashed"]
    for sort, prefix in _PREFIXES.items():
        usual = f"/{prefix}-{group}-{resource.version}-{words['lower']}"
        words[f"{sort}_path"] = str(resource.webhooks.get(f"{sort}Path") or usual)
    return words


def _check_path(sort: str, path: str, *, wanted: bool) -> None:
    if path and not wanted:
        raise CommandError(f"--{sort}-path is where {_FLAGS[sort]} puts a webhook: say that too")
    if path and not _PATH.fullmatch(path):
        raise CommandError(f"{path!r} can't be a webhook's path: write one like /{_PREFIXES[sort]}-foo")


def _spokes(project: Project, hub: Resource, versions: Sequence[str], *, force: bool) -> list[Resource]:
    """The spokes of these versions, or, if none is named, every other version of the kind that is none yet.

    With `force` those that the hub has come with them: what is written anew names them all.
    """
    others = [one for one in project.resources if _is_kind_of(one, hub) and one.api and one is not hub]
    for other in others:
        if other.webhooks.get("conversion"):
            raise CommandError(f"{other.version} is the hub of {hub.kind} already: a kind has one")
    if not others:
        raise CommandError(
            f"there is nothing to convert: {hub.version} is the only version of {hub.kind}; clientgo create api"
            " makes another"
        )
    known = _known_spokes(hub)
    wanted = list(versions) or [one.version for one in others if one.version not in known] or known
    return [_version(others, hub, one) for one in dict.fromkeys([*known, *wanted] if force else wanted)]


def _version(others: Iterable[Resource], hub: Resource, version: str) -> Resource:
    if version == hub.version:
        raise CommandError(f"{version} is the hub and can't be a spoke too: name other versions with --spoke")
    found = next((one for one in others if one.version == version), None)
    if found is None:
        raise CommandError(f"{version} is no version of {hub.kind} in this project: clientgo create api makes it one")
    return found


def _known_spokes(hub: Resource) -> list[str]:
    return list(hub.webhooks.get("spoke", ()))


def _is_kind_of(one: Resource, other: Resource) -> bool:
    return (one.group, one.kind) == (other.group, other.kind)
