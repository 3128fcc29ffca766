"""`clientgo create webhook`: admission webhooks, and conversion between versions.

One version of a kind is the hub; the others, the spokes, are converted to and from it.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clientgo.cli import names
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, ProjectResource
from clientgo.cli.scaffold import add_package, words_of
from clientgo.cli.scaffold_writer import ScaffoldWriter, import_order, parts

SERVER = "webhooks/server.py"
"""Module that registers all webhooks."""

CONVERSION_PATH = "/convert"

_CLASSES = {"defaulting": "Defaulter", "validation": "Validator", "conversion": "Conversion"}
_FLAGS = {"defaulting": "--defaulting", "validation": "--programmatic-validation"}
_CONFIGURATIONS = {"defaulting": "MutatingWebhookConfiguration", "validation": "ValidatingWebhookConfiguration"}
PREFIXES = {"defaulting": "mutate", "validation": "validate"}
"""Sorts of admission webhooks, and the beginnings of their paths."""

_IGNORE = """\
    # While the webhook is down, "Fail" would reject all writes of the kind, also those that the manager's start needs.
    failure_policy="Ignore",
"""

_OF_A_SPOKE = ("version", "api", "webhooks", "webhooks_folder")
"""Template words of a spoke, passed with the prefix `spoke_` besides those of the hub."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Webhooks requested for a version of a kind, and their custom paths."""

    sorts: tuple[str, ...]
    paths: Mapping[str, str]
    spokes: tuple[ProjectResource, ...]
    force: bool

    def present(self, resource: ProjectResource) -> list[tuple[str, bool]]:
        """Return the name of each, and whether the resource already has it."""
        spokes = _known_spokes(resource)
        sorts = [(f"a webhook for {sort}", bool(resource.webhooks.get(sort))) for sort in self.sorts]
        return [*sorts, *((f"a conversion of {spoke.version}", spoke.version in spokes) for spoke in self.spokes)]


def asked(project: Project, resource: ProjectResource, options: argparse.Namespace) -> Asked:
    """Return the webhooks that the options request; CommandError if there are none, or the options are invalid."""
    chosen = {"defaulting": options.defaulting, "validation": options.programmatic_validation}
    paths = {"defaulting": options.defaulting_path, "validation": options.validation_path}
    for sort, path in paths.items():
        if path and not chosen[sort]:
            raise CommandError(f"--{sort}-path requires {_FLAGS[sort]}")
        if path:
            names.webhook_path(path)
    _check_unused(project, resource, {sort: paths[sort] or _path_of(resource, sort) for sort in chosen if chosen[sort]})
    if options.spoke and not options.conversion:
        raise CommandError("--spoke requires --conversion")
    if not any(chosen.values()) and not options.conversion:
        fix = "give --defaulting, --programmatic-validation, --conversion, or several of them"
        raise CommandError(f"nothing to create: {fix}")
    if options.conversion and resource.foreign:
        raise CommandError(f"{resource.kind} is not defined in this project: its owner converts it")
    spokes = _spokes(project, resource, options.spoke, force=options.force) if options.conversion else []
    sorts = tuple(sort for sort, is_chosen in chosen.items() if is_chosen)
    return Asked(sorts, {sort: path for sort, path in paths.items() if path}, tuple(spokes), options.force)


def add_webhooks(
    writer: ScaffoldWriter, project: Project, resource: ProjectResource, requested: Asked, server: str = ""
) -> None:
    """Write the webhooks of a kind and record them; the first webhook of a project adds the server.

    Classes are imported as the module `server` does; by default the present one of the project.
    """
    # Built-in and third-party kinds have no samples for tests.
    tests = "served" if resource.foreign else "test"
    archives = [*_shared(project, requested)]
    archives += [archive for sort in requested.sorts for archive in (sort, f"{sort}{tests}")]
    source = project.certificates.replace("-", "")
    if requested.spokes and (requested.force or not resource.webhooks.get("conversion")):
        archives += ["hub", f"{source}crd"]
    _remember(resource, requested)
    words = _words(project, resource) | _imported(resource, server or writer.text_of(SERVER))
    add_package(writer, resource, "webhooks", "Webhooks of {}.")
    for archive in archives:
        writer.add(*parts(archive, words))
    for sort in requested.sorts:
        writer.add(*parts(f"{source}hook", {"configuration": _CONFIGURATIONS[sort]}))
    confine_webhooks(writer, project)
    for spoke in requested.spokes:
        theirs = words_of(project, spoke)
        lines = [f"from {each['api']} import {each['lower']}_types as {each['version']}" for each in (words, theirs)]
        both = {"types_of_both": "\n".join(sorted(lines, key=import_order))}
        writer.add(*parts("spoke", {**words, **both, **{f"spoke_{name}": theirs[name] for name in _OF_A_SPOKE}}))


def confine_webhooks(writer: ScaffoldWriter, project: Project) -> None:
    """Limit the admission webhooks of a namespaced project to its namespace."""
    sorts = [sort for sort in _CONFIGURATIONS if any(resource.webhooks.get(sort) for resource in project.resources)]
    for sort in sorts if project.namespaced else ():
        writer.add(*parts("confined", {"configuration": _CONFIGURATIONS[sort]}))


def _shared(project: Project, requested: Asked) -> Iterator[str]:
    # Once in a project: with the first webhook, and with the first conversion.
    if not any(existing.webhooks for existing in project.resources):
        yield "webhook"
        yield project.certificates.replace("-", "")
    if requested.spokes and not any(existing.webhooks.get("conversion") for existing in project.resources):
        yield "conversion"


def _remember(resource: ProjectResource, requested: Asked) -> None:
    resource.webhooks |= dict.fromkeys(requested.sorts, True)
    resource.webhooks |= {f"{sort}Path": path for sort, path in requested.paths.items()}
    if requested.spokes:
        versions = dict.fromkeys([*_known_spokes(resource), *(spoke.version for spoke in requested.spokes)])
        resource.webhooks |= {"conversion": True, "spoke": list(versions)}


def _words(project: Project, resource: ProjectResource) -> dict[str, str]:
    return {
        **words_of(project, resource),
        # The name of a webhook for a kind of others has the project's domain.
        "hook_domain": f"{project.name}.{project.domain}" if resource.foreign else resource.whole_group,
        "policy": _IGNORE if resource.core else "",
        **{f"{sort}_path": _path_of(resource, sort) for sort in PREFIXES},
    }


def _imported(resource: ProjectResource, server: str) -> dict[str, str]:
    """Return, for each webhook, the line that imports it and the name by which the server's module then knows it.

    Each version and group has classes of the same names. Later ones are imported by their module, with the version.
    """
    words = dict[str, str]()
    package = f"webhooks.{resource.folder}" if resource.grouped else "webhooks"
    for sort, suffix in _CLASSES.items():
        name, module = f"{resource.kind}{suffix}", f"{resource.kind.lower()}_{suffix.lower()}"
        alias = f"{resource.package}_" * resource.grouped + f"{module}_{resource.version}"
        line = f"from {package}.{resource.version}.{module} import {name}"
        aliased = f"from {package}.{resource.version} import {module} as {alias}"
        if f"{aliased}\n" in server or (f"{line}\n" not in server and f" import {name}\n" in server):
            line, name = aliased, f"{alias}.{name}"
        words |= {f"{sort}_import": line, f"{sort}_class": name}
    return words


def _path_of(resource: ProjectResource, sort: str) -> str:
    group = "" if resource.core and resource.group == "core" else resource.whole_group.replace(".", "-")
    usual = f"/{PREFIXES[sort]}-{group}-{resource.version}-{resource.kind.lower()}"
    return str(resource.webhooks.get(f"{sort}Path") or usual)


def _check_unused(project: Project, resource: ProjectResource, paths: Mapping[str, str]) -> None:
    """Reject paths that are in use: the server would not start."""
    used = {
        _path_of(existing, sort): f"{existing.kind} of {existing.version}"
        for existing in project.resources
        for sort in PREFIXES
        if existing.webhooks.get(sort) and not (existing is resource and sort in paths)
    }
    used[CONVERSION_PATH] = "conversions"
    for path in paths.values():
        if path in used:
            raise CommandError(f"the webhook path {path} is already used by {used[path]}: choose another one")
        used[path] = "another webhook of this command"


def _spokes(project: Project, hub: ProjectResource, versions: Sequence[str], *, force: bool) -> list[ProjectResource]:
    """Return the spokes of these versions; by default all other versions of the kind that are not spokes yet.

    With `force`, the existing spokes are included, because the rewritten hub names all of them.
    """
    candidates = [item for item in project.resources if item.is_kind_of(hub) and item.api and item is not hub]
    for other in candidates:
        if other.webhooks.get("conversion"):
            raise CommandError(f"{hub.kind} already has the hub {other.version}: a kind has only one")
    if not candidates:
        problem = f"nothing to convert: {hub.version} is the only version of {hub.kind}"
        raise CommandError(f"{problem}; add another with clientgo create api")
    existing = _known_spokes(hub)
    requested = list(versions) or [item.version for item in candidates if item.version not in existing] or existing
    return [_version(candidates, hub, item) for item in dict.fromkeys([*existing, *requested] if force else requested)]


def _version(candidates: Iterable[ProjectResource], hub: ProjectResource, version: str) -> ProjectResource:
    if version == hub.version:
        raise CommandError(f"{version} is the hub and cannot be a spoke: give other versions to --spoke")
    for candidate in candidates:
        if candidate.version == version:
            return candidate
    raise CommandError(f"version {version} of {hub.kind} not found in this project: add it with clientgo create api")


def _known_spokes(hub: ProjectResource) -> list[str]:
    return list(hub.webhooks.get("spoke", ()))
