"""Templates of generated modules, and the layout of the generated package."""

import re
from collections.abc import Iterable, Mapping
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

    def module(self, *names: str) -> str:
        """Return the full name of a module of the package."""
        return ".".join([self.package, *names])

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


def import_of(target: str) -> list[Import]:
    """Return the import of a class given as `module:class`, or none if empty."""
    module, _, name = target.partition(":")
    return [(module, [name])] if target else []


_STRING = re.compile(r'"""[^\n]*|"(?:[^"\\\n]|\\.)*"?' + r"|'(?:[^'\\\n]|\\.)*'?")
_STANDARD = {"collections.abc": ("Mapping", "Sequence"), "datetime": ("datetime",), "typing": ("Any",)}


def import_block(imports: Iterable[Import], layout: Layout, *, modules: Iterable[str] = ()) -> str:
    """Return sorted imports: standard library, third-party, project; `modules` are modules imported by name."""
    merged: dict[str, set[str]] = {}
    for module, names in imports:
        merged.setdefault(module, set()).update(names)
    foreign = ("msgspec",) if layout.beside_runtime else ("msgspec", "clientgo")
    sections: tuple[list[str], list[str], list[str]] = ([], [f"import {module}" for module in modules], [])
    for module, names in sorted(merged.items()):
        if names:
            part = 0 if module in _STANDARD else 1 if module.split(".")[0] in foreign else 2
            sections[part].append(import_line(module, names))
    return "\n\n".join("\n".join(part) for part in sections if part)


def group_imports(groups: Iterable[Import], needed: Iterable[Import], layout: Layout) -> str:
    """Return the imports of a module that offers `groups`, which it imports on first use if the layout is lazy."""
    if not layout.lazy:
        return import_block([*groups, *needed], layout)
    lines = import_block(groups, layout).splitlines()
    indented = "\n".join(f"    {line}" if line else "" for line in lines)
    return fill("lazy_imports", imports=import_block(needed, layout), groups=indented).rstrip("\n")


def load(module: str, name: str, layout: Layout) -> str:
    """Return the statement that imports a group in its accessor, if the layout is lazy."""
    line = f"        from {module} import {name}  # noqa: PLC0415  # loads only this group\n\n"
    return line if layout.lazy else ""


def used_imports(
    code: str,
    places: Mapping[str, Iterable[str]],
    layout: Layout,
    *,
    more: Iterable[Import],
    modules: Iterable[str] = (),
) -> str:
    """Return the imports of the names in `places` that a source uses, by module, and of all names in `more`."""
    more = [(module, set(names)) for module, names in more]
    extra_names = set[str]().union(*(names for _, names in more))
    words = set(re.findall(r"\w+", _STRING.sub("", code))) - extra_names
    used = [(module, words.intersection(names)) for module, names in (*_STANDARD.items(), *places.items())]
    return import_block([*used, *more], layout, modules=modules)
