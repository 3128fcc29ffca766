"""`clientgo upgrade`: the scaffold of the installed version, merged with the user's changes.

The base of the three-way merge is what the last version wrote, from `.clientgo/scaffold.json`.
"""

import argparse
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.cli.controllers import Controlling, add_controller
from clientgo.cli.creating import say, tell
from clientgo.cli.names import CommandError
from clientgo.cli.project import Project, ProjectResource
from clientgo.cli.scaffold import add_api, add_definition, add_manifests, begin
from clientgo.cli.scaffold_writer import ScaffoldWriter, reordered
from clientgo.cli.webhooks import PREFIXES, SERVER, Asked, add_webhooks
from clientgo.cli.wheels import add_wheels
from clientgo.version import VERSION

_MOST_CONFLICTS = 127
"""Highest exit code of git merge-file that is a number of conflicts; higher ones are errors."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Result for one file."""

    done: str
    content: bytes | None = None
    """Content to write; None leaves the file as it is."""


def upgrade(options: argparse.Namespace, root: Path) -> int:
    """Merge the scaffold of the installed version into the project.

    Raises:
        CommandError: there are conflicts, which are marked in the files; or nothing is written, because the folder has
            no project, or git is missing or cannot merge a file.
    """
    project = Project.read(root)
    if options.clientgo_from:
        for wheel in add_wheels(root, options.clientgo_from):
            tell("created", wheel)
    if options.clientgo_from or options.index_url:
        project.index_url = options.index_url or ""
    project.certificates = options.certificates or project.certificates
    writer = ScaffoldWriter(root, tell=tell)
    new = _scaffold(project, root, writer.written)
    labels = ("yours", f"clientgo {project.cli_version}", f"clientgo {VERSION}")
    # Nothing is written before every file is merged.
    merged = {path: _merged(writer.place(path), writer.written.get(path), text, labels) for path, text in new.items()}
    for path in sorted(writer.written.keys() - new.keys()):
        # Forgotten: if the file is deleted now and scaffolded again later, it is created.
        del writer.written[path]
        writer.note("kept", f"{path} (no longer scaffolded; delete it unless you use it)")
    for path, result in merged.items():
        writer.replace(path, result.content, written=new[path])
        if result.done != "kept":
            writer.note(result.done, path)
    before, project.cli_version = project.cli_version, VERSION
    project.write(root)
    writer.close()
    conflicts = [path for path, result in merged.items() if result.done == "conflict"]
    say(f"Upgraded from clientgo {before} to {VERSION}.")
    if conflicts:
        raise CommandError(f"resolve the conflicts, marked by <<<<<<<, in {', '.join(conflicts)}; then run make test")
    say("Next: make manifests generate test")
    return 0


def _scaffold(project: Project, root: Path, written: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return the files that the commands recorded in PROJECT write with the installed version."""
    with TemporaryDirectory() as folder:
        writer = ScaffoldWriter(Path(folder), tell=lambda *_: None)
        begin(writer, project, root, _text(root, written, "hack/boilerplate.py.txt"))
        fresh = replace(project, resources=[])
        for resource in project.resources:
            _add_kind(writer, fresh, resource, root, written)
        # After all kinds: a conversion is between several.
        for recorded, resource in zip(project.resources, fresh.resources, strict=True):
            if recorded.webhooks:
                add_webhooks(writer, fresh, resource, _asked(fresh, recorded), _decoded(written, SERVER))
        if any(path.startswith("config/manifests/") for path in written):
            add_manifests(writer, project)
        # The commands may have run in another order than that of PROJECT.
        ordered = {
            path: reordered(writer.written[path].decode(), insertions, _decoded(written, path)).encode()
            for path, insertions in writer.insertions.items()
        }
        return {**writer.written, **ordered}


def _add_kind(
    writer: ScaffoldWriter, project: Project, recorded: ProjectResource, root: Path, written: Mapping[str, bytes]
) -> None:
    resource = replace(recorded, webhooks={})
    project.resources.append(resource)
    if resource.external:
        file = f"config/crd/external/{resource.whole_group}_{resource.plural}.yaml"
        add_definition(writer, project, resource, _text(root, written, file).rstrip())
    if resource.api:
        add_api(writer, project, resource)
    for name in [*([""] if resource.controller else []), *resource.named]:
        add_controller(writer, project, Controlling(resource, name))


def _asked(project: Project, recorded: ProjectResource) -> Asked:
    has = recorded.webhooks
    sorts = tuple(sort for sort in PREFIXES if has.get(sort))
    paths = {sort: has[f"{sort}Path"] for sort in sorts if has.get(f"{sort}Path")}
    spokes = (project.find(recorded.group, version, recorded.kind) for version in has.get("spoke", ()))
    return Asked(sorts, paths, tuple(spoke for spoke in spokes if spoke), force=False)


def _decoded(written: Mapping[str, bytes], path: str) -> str:
    return written.get(path, b"").decode()


def _text(root: Path, written: Mapping[str, bytes], path: str) -> str:
    """Return a file that the command cannot write by itself: as it was written, or else as it is."""
    content = written.get(path) or (root / path).read_bytes()
    return content.decode()


def _merged(path: Path, base: bytes | None, new: bytes, labels: tuple[str, str, str]) -> Merged:
    if not path.exists():
        # A file that the user has deleted stays deleted.
        return Merged("created", new) if base is None else Merged("kept")
    yours = path.read_bytes()
    if new in (yours, base):
        return Merged("kept")
    if yours == base:
        return Merged("updated", new)
    with TemporaryDirectory() as folder:
        files = list(_files(Path(folder), yours, base or b"", new))
        names = [argument for label in labels for argument in ("-L", label)]
        command = ["git", "merge-file", "-p", *names, *files]
        try:
            done = subprocess.run(command, capture_output=True, check=False)  # nosec B603  # a fixed command
        except FileNotFoundError as error:
            raise CommandError("git not found: install it, or put it on PATH") from error
    if not 0 <= done.returncode <= _MOST_CONFLICTS:
        raise CommandError(f"cannot merge {path}: {done.stderr.decode(errors='replace').strip()}")
    return Merged("conflict" if done.returncode else "merged", done.stdout)


def _files(folder: Path, *contents: bytes) -> Iterator[str]:
    for number, content in enumerate(contents):
        (folder / str(number)).write_bytes(content)
        yield str(folder / str(number))
