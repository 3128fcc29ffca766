"""Data files of `[sections]` of lines, which may have several names; `#` begins a comment."""

from pathlib import Path


def read_sections(file: Path) -> dict[str, list[str]]:
    """Return the lines of each section of a file, in its order."""
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = []
            sections.update(dict.fromkeys(line.strip("[]").split(), section))
        elif line and not line.startswith("#"):
            section.append(line)
    return sections
