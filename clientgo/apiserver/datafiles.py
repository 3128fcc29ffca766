"""Data files: `[sections]` of lines; `#` begins a comment. A section may have several names."""

from importlib.resources import files


def read_sections(package: str, name: str) -> dict[str, list[str]]:
    """Return the lines of each section of a package's data file, in the order of the file."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in (files(package) / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = []
            found.update(dict.fromkeys(line.strip("[]").split(), section))
        elif line and not line.startswith("#"):
            section.append(line)
    return found
