"""Link of this checkout into a virtual environment, and the packages that it requires there.

`VENV/bin/python hack/checkout.py EXTRA` writes into VENV what an editable installation of the distributions has:
a path file, metadata with entry points, and the commands. Nothing is built, so no build tool is installed, and the step
takes a tenth of a second instead of three each. The requirements of clientgo[EXTRA] become the files
`requirements.txt` and `requirements-files.txt` in VENV; the second has packages to install without their dependencies.
The new environment has no packages yet: only Python's modules are imported.
"""

import configparser
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTIONS = {"clientgo": ".", "clientgo-apiserver": "apiserver", "clientgo-tools": "tools", "clientgo-olm": "olm"}
"""Folder of each distribution."""

READ_ONLY = frozenset({"kubernetes"})
"""Packages of which `make run` reads files, the descriptions of kinds, and imports nothing: 17 dependencies fewer."""

LEFT_OUT = frozenset({"cel-expr-python"})
"""Packages that `make run` works without: 50 MB for the words of syntax errors in CEL."""

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?")
_VERSION = re.compile(r'^VERSION = "(.+)"$', re.MULTILINE)
_COMMAND = """#!{python}
import sys
from {module} import {function}

sys.exit({function}())
"""


def declared(name: str) -> configparser.ConfigParser:
    """Return the packaging metadata of a distribution."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / DISTRIBUTIONS[name] / "setup.cfg", encoding="utf-8")
    return parser


def version_file(name: str, root: Path = ROOT) -> Path:
    """Return the file that has the version of a distribution."""
    *folders, module, _ = _version_attribute(name)
    return root.joinpath(DISTRIBUTIONS[name], *folders, f"{module}.py")


def _version_attribute(name: str) -> list[str]:
    return declared(name)["metadata"]["version"].removeprefix("attr: ").split(".")


def version(name: str, root: Path = ROOT) -> str:
    """Return the version of a distribution."""
    match = _VERSION.search(version_file(name, root).read_text(encoding="utf-8"))
    assert match is not None, f"{name} has no version"
    return match[1]


def requirements(name: str, *extras: str) -> Iterator[str]:
    """Yield the requirements of a distribution with extras, those of this checkout replaced by what they require."""
    metadata = declared(name)
    blocks = [metadata["options"]["install_requires"]]
    blocks += [metadata["options.extras_require"][extra] for extra in extras]
    for line in "\n".join(blocks).splitlines():
        match = _REQUIREMENT.match(line)
        if match is None:  # an empty line or a comment
            continue
        if match[1] not in DISTRIBUTIONS:
            yield line
        elif match[1] != name or match[2]:
            yield from requirements(match[1], *(match[2] or "").split(",") if match[2] else ())


def write_requirements(extra: str, venv: Path) -> None:
    """Write the requirements of clientgo with an extra into two files."""
    names = {line: match[1] for line in requirements("clientgo", extra) if (match := _REQUIREMENT.match(line))}
    read_only, left_out = (READ_ONLY, LEFT_OUT) if extra == "embedded" else (frozenset(), frozenset())
    full = [line for line, name in names.items() if name not in read_only | left_out]
    files = [line for line, name in names.items() if name in read_only]
    for file, lines in (("requirements.txt", full), ("requirements-files.txt", files)):
        (venv / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def link(name: str, packages: Path, scripts: Path) -> None:
    """Make a distribution of this checkout importable, with its entry points and commands."""
    stem, folder = name.replace("-", "_"), ROOT / DISTRIBUTIONS[name]
    # What an installation by pip leaves would hide the checkout: copied packages, the hooks of an editable one.
    for old in (packages / stem, *packages.glob(f"{stem}-*.dist-info")):
        shutil.rmtree(old, ignore_errors=not old.exists())
    for hook in packages.glob(f"__editable__*{stem}*"):
        hook.unlink()
    info = packages / f"{stem}-{version(name)}.dist-info"
    info.mkdir()
    points = declared(name)
    groups = points["options.entry_points"].items() if points.has_section("options.entry_points") else ()
    written = {
        packages / f"{stem}.pth": f"{folder}\n",
        info / "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version(name)}\n",
        info / "INSTALLER": "hack/checkout.py\n",
        info / "top_level.txt": f"{_version_attribute(name)[0]}\n",
        info / "entry_points.txt": "".join(f"[{group}]{lines}\n" for group, lines in groups),
    }
    for group, lines in groups:
        for command, module, function in re.findall(r"^([\w-]+) = ([\w.]+):(\w+)$", lines, re.MULTILINE):
            if group == "console_scripts":
                written[scripts / command] = _COMMAND.format(python=sys.executable, module=module, function=function)
    # Lets pip replace or remove it like any other installation.
    record = info / "RECORD"
    written[record] = "".join(f"{path},,\n" for path in (*written, record))
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
        if path.parent == scripts:
            path.chmod(0o755)


def main(extra: str) -> None:
    """Link all distributions, and write the requirements."""
    for name in DISTRIBUTIONS:
        link(name, Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("scripts")))
    write_requirements(extra, Path(sys.prefix))


if __name__ == "__main__":
    main(*sys.argv[1:])
