"""Reader of bundle folders."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clientgo.meta.yamlio import InvalidYAML, read_document, read_yaml
from clientgo_olm.objects import Object, mapping, of_kind, text

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule, with its place and a fix; warnings do not prevent an installation."""

    level: Level
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: its objects by file, its annotations, and its compressed size in bytes."""

    objects: dict[str, Object]
    annotations: Object
    size: int = 0
    labels: dict[str, str] | None = None
    problems: tuple[Finding, ...] = field(default=())

    def of(self, *kinds: str) -> list[Object]:
        """Return the objects of these kinds."""
        return of_kind(self.objects.values(), *kinds)

    @property
    def version(self) -> Object:
        """The ClusterServiceVersion; empty if there is none."""
        return next(iter(self.of("ClusterServiceVersion")), {})

    @property
    def version_file(self) -> str:
        """File of the ClusterServiceVersion."""
        paths = (path for path, obj in self.objects.items() if obj.get("kind") == "ClusterServiceVersion")
        return next(paths, "manifests")


def read(folder: Path) -> Bundle:
    """Read a bundle from a folder; unreadable files are among its problems."""
    objects: dict[str, Object] = {}
    missing = (part for part in ("manifests", "metadata") if not (folder / part).is_dir())
    problems = [Finding("error", part, "folder not found: generate it with make bundle") for part in missing]
    packed = 0
    for file in sorted(folder.glob("manifests/*")):
        if file.is_file():
            path = file.relative_to(folder).as_posix()
            content = file.read_bytes()
            packed += len(gzip.compress(content, mtime=0))
            for finding in _one_object(path, content):
                if isinstance(finding, Finding):
                    problems.append(finding)
                else:
                    objects[path] = finding
    annotations = _annotations(folder, problems)
    return Bundle(objects, annotations, packed, _labels(folder.parent / "bundle.Dockerfile"), tuple(problems))


def _one_object(path: str, content: bytes) -> Iterator[Object | Finding]:
    try:
        documents = [document for document in read_yaml(content.decode()) if document is not None]
    except (InvalidYAML, UnicodeDecodeError) as error:
        yield Finding("error", path, f"invalid YAML: {error}")
        return
    if len(documents) != 1 or not isinstance(documents[0], dict):
        yield Finding("error", path, "expected exactly one object in the file")
    elif not text(documents[0].get("kind")) or not text(documents[0].get("apiVersion")):
        yield Finding("error", path, "the object has no apiVersion or no kind")
    else:
        yield documents[0]


def _annotations(folder: Path, problems: list[Finding]) -> Object:
    if not (folder / "metadata").is_dir():
        return {}
    for file in sorted(folder.glob("metadata/*.yaml")):
        try:
            document = read_document(file.read_text(encoding="utf-8"))
        except (InvalidYAML, ValueError, OSError) as error:
            problems.append(Finding("error", f"metadata/{file.name}", f"expected one YAML document: {error}"))
            continue
        if isinstance(document, dict) and "annotations" in document:
            return mapping(document["annotations"])
    problems.append(
        Finding("error", "metadata", "no file has `annotations`: generate annotations.yaml with make bundle")
    )
    return {}


def _labels(dockerfile: Path) -> dict[str, str] | None:
    """Return the labels of the bundle's image; None without a Dockerfile, as in bundles of other tools."""
    try:
        lines = dockerfile.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    pairs = (line.removeprefix("LABEL ").partition("=") for line in lines if line.startswith("LABEL "))
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}
