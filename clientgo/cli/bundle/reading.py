"""A bundle as it lies in a folder, and what is wrong with the folder itself."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clientgo.cli.bundle.objects import Object, mapping, of_kind, text
from clientgo.meta.yamlio import NotYAML, read_yaml

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule: in one sentence, where it is and what to do. Warnings keep nobody from installing."""

    level: Level
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.level}: {self.where}: {self.text}"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The objects of a bundle by their files, its annotations, and how large it is in bytes, packed."""

    objects: dict[str, Object]
    annotations: Object
    size: int = 0
    labels: dict[str, str] | None = None
    problems: tuple[Finding, ...] = field(default=())

    def of(self, *kinds: str) -> list[Object]:
        """Its objects of these kinds."""
        return of_kind(self.objects.values(), *kinds)

    @property
    def version(self) -> Object:
        """Its ClusterServiceVersion; empty if it has none."""
        return next(iter(self.of("ClusterServiceVersion")), {})

    @property
    def version_file(self) -> str:
        """Where that stands."""
        found = (path for path, one in self.objects.items() if one.get("kind") == "ClusterServiceVersion")
        return next(found, "manifests")


def read(folder: Path) -> Bundle:
    """The bundle in a folder; what can't be read is among its problems."""
    objects: dict[str, Object] = {}
    missing = (part for part in ("manifests", "metadata") if not (folder / part).is_dir())
    problems = [Finding("error", part, "there is no such folder: make bundle writes it") for part in missing]
    packed = 0
    for file in sorted(folder.glob("manifests/*")):
        if file.is_file():
            path = file.relative_to(folder).as_posix()
            content = file.read_bytes()
            packed += len(gzip.compress(content, mtime=0))
            for found in _one_object(path, content):
                if isinstance(found, Finding):
                    problems.append(found)
                else:
                    objects[path] = found
    annotations = _annotations(folder, problems)
    return Bundle(objects, annotations, packed, _labels(folder.parent / "bundle.Dockerfile"), tuple(problems))


def _one_object(path: str, content: bytes) -> Iterator[Object | Finding]:
    try:
        documents = [one for one in read_yaml(content.decode()) if one is not None]
    except (NotYAML, UnicodeDecodeError) as error:
        yield Finding("error", path, f"it is no YAML: {error}")
        return
    if len(documents) != 1 or not isinstance(documents[0], dict):
        yield Finding("error", path, "a file holds one object, and this one does not: part it")
    elif not text(documents[0].get("kind")) or not text(documents[0].get("apiVersion")):
        yield Finding("error", path, "the object says no apiVersion or no kind")
    else:
        yield documents[0]


def _annotations(folder: Path, problems: list[Finding]) -> Object:
    if not (folder / "metadata").is_dir():
        return {}
    for file in sorted(folder.glob("metadata/*.yaml")):
        try:
            [document] = read_yaml(file.read_text(encoding="utf-8"))
        except (NotYAML, ValueError, OSError) as error:
            problems.append(Finding("error", f"metadata/{file.name}", f"it is not one YAML document: {error}"))
            continue
        if isinstance(document, dict) and "annotations" in document:
            return mapping(document["annotations"])
    problems.append(Finding("error", "metadata", "no file says `annotations:`: make bundle writes annotations.yaml"))
    return {}


def _labels(dockerfile: Path) -> dict[str, str] | None:
    """The labels of the bundle's image; None without a Dockerfile, which a bundle that is no folder of ours has not."""
    try:
        lines = dockerfile.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    said = (line.removeprefix("LABEL ").partition("=") for line in lines if line.startswith("LABEL "))
    return {name.strip(): value.strip().strip('"') for name, _, value in said}
