"""Generation and validation of a bundle in `bundle/`."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.cli.scaffold import add_manifests
from clientgo.cli.scaffold_writer import ScaffoldWriter
from clientgo_olm.files import Channels, bundle_files, write
from clientgo_olm.reading import read
from clientgo_olm.rendered import render
from clientgo_olm.rules import SEMVER, required
from clientgo_olm.serviceversion import Release
from clientgo_olm.suites import SUITES
from clientgo_olm.webhookdefinitions import dropped_filters

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
    rendered = render(root, os.environ.get("KUBECTL") or "kubectl")
    for sentence in dropped_filters(rendered, own_namespace=project.namespaced):
        say(f"{'warning':<8} {sentence}")
    files = bundle_files(rendered, release, channels)
    for done, path in write(root, files):
        say(f"{done:<8} {path}")
    return 0


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
