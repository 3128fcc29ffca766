"""Data files: YAML, or `[sections]` of lines, which may have several names; `#` begins a comment."""

from functools import cache
from importlib.resources import files
from typing import Any

from clientgo.meta.yamlio import read_yaml


def read_sections(package: str, name: str) -> dict[str, list[str]]:
    """Return the lines of each section of a package's data file, in the order of the file."""
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in (files(package) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = []
            sections.update(dict.fromkeys(line.strip("[]").split(), section))
        elif line and not line.startswith("#"):
            section.append(line)
    return sections


@cache
def read_data(package: str, name: str) -> dict[str, Any]:
    """Return the document of a package's YAML file, the same each time."""
    document: dict[str, Any] = read_yaml((files(package) / name).read_text(encoding="utf-8"))[0]
    return document
