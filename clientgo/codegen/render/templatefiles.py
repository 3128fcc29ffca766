"""Texts to be files: templates filled in, and where each goes."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from clientgo.codegen.render.source import import_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the modules of a generated package are called."""

    package: str
    clients: str = "clientset"
    """The subpackage with the clients of each group version."""
    clientset: str = "clientset.clientset"
    scheme: str = "clientset.scheme"
    fake: str = ""
    """The module of the fake clientset, by its full name; `clientset.fake` of the package when empty."""
    lazy: bool = False
    """Whether a group is imported only when it is asked for: for packages of more groups than one program uses."""
    beside_runtime: bool = False
    """Whether clientgo is part of the same project: then import sorters have it in one block with the project's own."""

    def module(self, *parts: str) -> str:
        """The full name of a module of the package."""
        return ".".join([self.package, *parts])

    @property
    def fake_module(self) -> str:
        """The full name of the fake clientset's module."""
        return self.fake or self.module("clientset", "fake")


@dataclass(frozen=True, slots=True)
class Text:
    """One module: its full name, its text without header, and what it was made from."""

    module: str
    body: str
    sources: tuple[str, ...]
    is_package: bool = False

    @property
    def path(self) -> str:
        """Its file, below the folder that is on the import path."""
        return self.module.replace(".", "/") + ("/__init__.py" if self.is_package else ".py")


def fill(template: str, **values: str) -> str:
    """A template with its places filled; values it has no place for are not used."""
    return _template(template).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template((files("clientgo.codegen.render.templates") / f"{name}.tmpl").read_text(encoding="utf-8"))


def joined(texts: Iterable[str], *, blank_lines: int = 1) -> str:
    """Texts one below the other, with blank lines between."""
    return ("\n" * (blank_lines + 1)).join(text.rstrip("\n") for text in texts)


Import = tuple[str, Iterable[str]]


def import_of(place: str) -> list[Import]:
    """The import of a class that is named as `module:class`, if one is."""
    module, _, name = place.partition(":")
    return [(module, [name])] if place else []


def import_block(imports: Iterable[Import], layout: Layout, *, indent: str = "", whole: Iterable[str] = ()) -> str:
    """One import of each module, sorted; others' before the project's own. `whole` are modules imported as such."""
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
