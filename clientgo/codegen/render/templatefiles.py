"""Templates of generated modules, and the layout of the generated package."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from clientgo.codegen.render.source import import_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Names of the modules of a generated package."""

    package: str
    clients: str = "clientset"
    """Subpackage with the clients of each group version."""
    clientset: str = "clientset.clientset"
    scheme: str = "clientset.scheme"
    fake: str = ""
    """Full name of the module of the fake clientset (default: `clientset.fake` of the package)."""
    lazy: bool = False
    """Import groups on first use, for packages with more groups than one program uses."""
    beside_runtime: bool = False
    """True if clientgo is part of the same project, so that import sorters place it with the project's modules."""

    def module(self, *parts: str) -> str:
        """Return the full name of a module of the package."""
        return ".".join([self.package, *parts])

    @property
    def fake_module(self) -> str:
        """Full name of the fake clientset's module."""
        return self.fake or self.module("clientset", "fake")


@dataclass(frozen=True, slots=True)
class Text:
    """A generated module: its full name, its source without header, and its inputs."""

    module: str
    body: str
    sources: tuple[str, ...]
    is_package: bool = False

    @property
    def path(self) -> str:
        """Path of its file, relative to the import path."""
        return self.module.replace(".", "/") + ("/__init__.py" if self.is_package else ".py")


def fill(template: str, **values: str) -> str:
    """Return a template with its placeholders replaced; extra values are ignored."""
    return _template(template).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template((files("clientgo.codegen.render.templates") / f"{name}.tmpl").read_text(encoding="utf-8"))


def joined(texts: Iterable[str], *, blank_lines: int = 1) -> str:
    """Join texts with blank lines between them."""
    return ("\n" * (blank_lines + 1)).join(text.rstrip("\n") for text in texts)


Import = tuple[str, Iterable[str]]


def import_of(place: str) -> list[Import]:
    """Return the import of a class given as `module:class`, or none if empty."""
    module, _, name = place.partition(":")
    return [(module, [name])] if place else []


def import_block(imports: Iterable[Import], layout: Layout, *, indent: str = "", whole: Iterable[str] = ()) -> str:
    """Return sorted imports, third-party before the project's own; `whole` are modules imported by name."""
    merged: dict[str, set[str]] = {}
    for module, names in imports:
        merged.setdefault(module, set()).update(names)
    lines = {module: import_line(module, names) for module, names in sorted(merged.items()) if names}
    foreign = ("msgspec",) if layout.beside_runtime else ("msgspec", "clientgo")
    theirs = [line for module, line in lines.items() if module.split(".")[0] in foreign]
    own = [line for module, line in lines.items() if module.split(".")[0] not in foreign]
    first = [f"import {module}" for module in whole]
    block = "\n\n".join(part for part in ("\n".join([*first, *theirs]), "\n".join(own)) if part)
    return "\n".join(indent + line if line else "" for line in block.splitlines())
