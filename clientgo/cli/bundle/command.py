"""The commands `clientgo bundle` and `clientgo bundle validate`."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from clientgo.cli.bundle.files import Channels, bundle_files, write
from clientgo.cli.bundle.reading import read
from clientgo.cli.bundle.rendered import render
from clientgo.cli.bundle.rules import SEMVER, required
from clientgo.cli.bundle.serviceversion import Release
from clientgo.cli.bundle.suites import SUITES
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.cli.scaffold_writer import ScaffoldWriter
from clientgo.cli.template_files import parts

Say = Callable[[str], object]


def make_bundle(options: argparse.Namespace, root: Path, *, say: Say) -> int:
    """Write `bundle/` and `bundle.Dockerfile` from config/manifests, which is scaffolded if missing.

    Raises:
        CommandError: the folder has no project, the project has no kinds, or it cannot be rendered.
    """
    project = Project.read(root)
    if not any(resource.api for resource in project.resources):
        raise CommandError("nothing to bundle yet: add a kind with clientgo create api")
    if not SEMVER.fullmatch(options.version):
        raise CommandError(f"invalid version {options.version!r}: expected a semantic version such as 0.1.0")
    writer = ScaffoldWriter(root, tell=lambda done, path: done != "kept" and say(f"{done:<8} {path}"))
    add_manifests(writer, project)
    writer.close()
    release = Release(options.package or project.name, options.version, options.image, options.use_image_digests)
    channels = Channels(tuple(options.channels.split(",")), options.default_channel)
    files = bundle_files(render(root, os.environ.get("KUBECTL") or "kubectl"), release, channels)
    for done, path in write(root, files):
        say(f"{done:<8} {path}")
    return 0


def add_manifests(writer: ScaffoldWriter, project: Project) -> None:
    """Write config/manifests, the source of the bundle, and config/scorecard."""
    for part in parts("olm", _words(project)):
        writer.add(part)


def validate_bundle(options: argparse.Namespace, root: Path, *, say: Say) -> int:
    """Print all violations, one per line; return 1 if there are errors.

    Raises:
        CommandError: the folder does not exist.
    """
    folder = root / options.folder
    if not folder.is_dir():
        raise CommandError(f"folder {options.folder} not found: generate it with clientgo bundle")
    bundle = read(folder)
    findings = list(required(bundle))
    if bundle.version:
        findings += [finding for suite in options.suite for finding in SUITES[suite](bundle)]
    for finding in findings:
        say(str(finding))
    errors = sum(finding.level == "error" for finding in findings)
    if errors:
        say(f"{options.folder}: {errors} errors: OLM would reject the bundle")
        return 1
    say(f"{options.folder} is valid")
    return 0


def _words(project: Project) -> dict[str, str | bool]:
    namespaced = project.namespaced
    return {
        "project": project.name,
        "domain": project.domain,
        "title": " ".join(part[:1].upper() + part[1:] for part in project.name.split("-")),
        "watches": "its own namespace" if namespaced else "all namespaces",
        "own": namespaced,
        "all": not namespaced,
    }
