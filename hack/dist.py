"""Archives for a release: python -m hack.dist [--output dist]; `make dist` runs it.

For each distribution a source archive is built from the files of the commit, and the wheel from that
archive. The same commit results in the same bytes on every machine: build tools are locked with hashes, and times,
owners and permissions are fixed. Everything is built twice and compared, then metadata and README are checked, and
`hack.smoke` uses the wheels in fresh environments. Nothing is published.
"""

import argparse
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.metadata import Metadata
from readme_renderer import markdown

from hack.checkout import DISTRIBUTIONS, ROOT, version
from hack.smoke import SmokeFailed, smoke

SUMS = "SHA256SUMS"

BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
"""Program that builds an archive of the project in the working directory, as pip does."""

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#:\s]+)([^):\s]*\))")
"""Markdown link or image with a relative target, and perhaps a heading of it."""


class DistError(Exception):
    """An archive cannot be built, or is not fit to be published."""


def run(command: Sequence[str | Path], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command and return its output.

    Raises:
        DistError: it failed; the message has the end of its output.
    """
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise DistError(f"{' '.join(map(str, command))} failed in {cwd}:\n{tail}")
    return done.stdout.strip()


def export(commit: str, into: Path) -> None:
    """Write the files of a commit into a folder: what is not committed is not released."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout  # nosec B607
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        unpack(tar, into)


def unpack(tar: tarfile.TarFile, into: Path) -> None:
    """Unpack an archive of this repository's files."""
    tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.0 to 3.11.3 have none
    tar.extractall(into)  # nosec B202


def locate_links(tree: Path, url: str) -> None:
    """Make the READMEs' links to files lead to the repository at `url`, since an index page has no files beside it."""
    for below in map(Path, DISTRIBUTIONS.values()):
        readme = tree / below / "README.md"

        def absolute(match: re.Match[str], below: Path = below) -> str:
            path = os.path.normpath(below / match[2])
            return f"{match[1]}{url}/{'raw' if match[1].startswith('!') else 'blob'}/HEAD/{path}{match[3]}"

        readme.write_text(LINK.sub(absolute, readme.read_text(encoding="utf-8")), encoding="utf-8")
        with (tree / below / "setup.cfg").open("r+", encoding="utf-8") as file:
            text = file.read().replace("[metadata]\n", f"[metadata]\nproject_urls =\n    Source = {url}\n", 1)
            file.seek(0)
            file.write(text)


def build(
    tree: Path, into: Path, epoch: int, *, names: Iterable[str] = DISTRIBUTIONS, tools: Path | None = None
) -> None:
    """Build source archive and wheel of distributions of a tree, with the build tools of a folder."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"SOURCE_DATE_EPOCH": str(epoch), **({"PYTHONPATH": str(tools)} if tools else {})}

    def built(kind: str, folder: Path, to: Path) -> Path:
        command = [sys.executable, "-c", f"import os; os.umask(0o022); {BUILD}", f"build_{kind}", str(to)]
        return to / run(command, cwd=folder, env=environment).splitlines()[-1]

    into.mkdir(parents=True, exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            raw = built("sdist", tree / DISTRIBUTIONS[name], Path(scratch))
            source = into / raw.name
            repack(raw, source, epoch)
            with tarfile.open(source) as tar:
                unpack(tar, Path(scratch))
            built("wheel", Path(scratch) / source.name.removesuffix(".tar.gz"), into)


def repack(raw: Path, to: Path, epoch: int) -> None:
    """Write a source archive again without the owners, permissions and times of this machine."""
    with (
        tarfile.open(raw) as old,
        to.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=epoch) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, epoch
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            new.addfile(entry, old.extractfile(member) if member.isfile() else None)


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every archive of a folder, by name."""
    archives = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


def metadata_of(archive: Path) -> bytes:
    """Return the metadata of a wheel or source archive."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return wheel.read(name)
    with tarfile.open(archive) as tar:
        file = tar.extractfile(f"{archive.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert file is not None  # a regular file
        return file.read()


def problems(archive: Path) -> Iterator[str]:
    """Yield what is wrong with the metadata of an archive, or with its README as an index renders it."""
    content = metadata_of(archive)
    try:
        Metadata.from_email(content, validate=True)
    except ExceptionGroup as group:
        yield from (f"{archive.name}: {error}" for error in group.exceptions)
        return
    message = HeaderParser().parsestr(content.decode())
    for field in ("Summary", "License-File", "License-Expression", "Requires-Python", "Description-Content-Type"):
        if not message[field]:
            yield f"{archive.name}: the metadata have no {field}"
    if not (rendered := markdown.render(str(message.get_payload()))):
        yield f"{archive.name}: the README cannot be rendered"
    elif "<h1" not in rendered:
        yield f"{archive.name}: the README has no heading"


def check(folder: Path) -> None:
    """Check that every distribution has a source archive and a wheel, and the metadata of each.

    Raises:
        DistError: with every problem.
    """
    names = digests(folder)
    stems = [name.replace("-", "_") for name in DISTRIBUTIONS]
    missing = [
        f"no {stem}{end}"
        for stem in stems
        for end in (".tar.gz", ".whl")
        if not any(name.startswith(f"{stem}-") and name.endswith(end) for name in names)
    ]
    if errors := [*missing, *(problem for name in names for problem in problems(folder / name))]:
        raise DistError("\n".join(errors))


def compare(first: Mapping[str, str], second: Mapping[str, str]) -> None:
    """Compare the digests of two builds.

    Raises:
        DistError: they differ, with the names of the archives.
    """
    if differing := sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name)):
        raise DistError(f"a second build has other bytes: {', '.join(differing)}")


def locked_tools(into: Path) -> Path:
    """Install the locked build tools into a folder."""
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--require-hashes", "--no-compile"]
    lock = ROOT / "hack" / "requirements-build.lock"
    run([sys.executable, "-m", "pip", "install", *options, "--target", into, "--requirement", lock])
    return into


def say(line: str) -> None:
    """Print a line of progress."""
    sys.stderr.write(f"{line}\n")


def create(output: Path, *, tag: str = "", url: str = "", run_smoke: bool = True) -> dict[str, str]:
    """Build, compare and check the archives of the current commit; return their digests.

    Raises:
        DistError: the tree is not clean, the tag is not its version's, or an archive is not fit to be published.
        SmokeFailed: the wheels do not work in a fresh environment.
    """
    if changed := run(["git", "status", "--porcelain"]):
        count = len(changed.splitlines())
        raise DistError(f"{count} files are not committed, and archives contain what is: commit or stash them")
    for name in DISTRIBUTIONS:
        if tag and tag != f"v{version(name)}":
            raise DistError(f"the tag is {tag}, and the version of {name} {version(name)}: make release writes both")
    commit, epoch = run(["git", "log", "-1", "--format=%H %ct"]).split()
    with tempfile.TemporaryDirectory() as scratch:
        tools = locked_tools(Path(scratch) / "tools")
        builds = []
        for name in ("first", "second"):
            say(f"building commit {commit[:12]}, the {name} time")
            tree = Path(scratch) / f"tree-{name}"
            export(commit, tree)
            if url:
                locate_links(tree, url)
            build(tree, Path(scratch) / name, int(epoch), tools=tools)
            builds.append(digests(Path(scratch) / name))
        compare(*builds)
        check(Path(scratch) / "first")
        if run_smoke:
            smoke(Path(scratch) / "first", say)
        collect(Path(scratch) / "first", output, builds[0])
    return builds[0]


def collect(built: Path, output: Path, sums: Mapping[str, str]) -> None:
    """Copy the archives into the output folder, in place of older ones, with their digests."""
    output.mkdir(parents=True, exist_ok=True)
    for old in digests(output):
        (output / old).unlink()
    for name in sums:
        (output / name).write_bytes((built / name).read_bytes())
    (output / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")


def main(arguments: Iterable[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m hack.dist", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the archives (dist)")
    parser.add_argument("--repo-url", default="", help="address of the repository, for the READMEs' links to files")
    parser.add_argument("--tag", default="", help="fail unless this is the tag of the version, such as v0.2.0")
    parser.add_argument("--no-smoke", action="store_true", help="do not install the wheels")
    options = parser.parse_args([*arguments])
    try:
        url = options.repo_url.rstrip("/")
        sums = create(options.output, tag=options.tag, url=url, run_smoke=not options.no_smoke)
    except (DistError, SmokeFailed) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for name, digest in sums.items():
        size = (options.output / name).stat().st_size
        sys.stdout.write(f"{digest[:16]}  {size / 1e6:5.2f} MB  {options.output / name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
