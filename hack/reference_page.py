"""Generator of build/reference.md, the public names of the library; run by `make reference-page`.

The modules are those of the API reference in mkdocs.yml, of which the site has a page each.
"""

import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "build" / "reference.md"
HEAD = """\
# API reference

Public names by module, with their arguments (`name=` is optional, those after `*` are keyword-only) and the public
members of classes. The heading of a module links to its source;
the documentation site (`make docs`) has a page of each, with types and full texts.
"""


def modules() -> Iterator[tuple[str, list[str]]]:
    """Yield each section of the API reference with its modules."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!ENV ", "")
    [sections] = [item["API reference"] for item in yaml.safe_load(settings)["nav"] if "API reference" in item]
    for section in sections:
        for title, pages in section.items():
            yield title, [page.removeprefix("reference/").removesuffix(".md") for page in pages]


def public_names(module: ModuleType) -> list[str]:
    """Return the names in `__all__`, or what the module defines itself."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    defined = _definitions(Path(module.__file__ or ""))
    return [name for name in defined if not name.startswith("_") and not name.isupper() and name != "log"]


def page() -> str:
    """Return the text of the page."""
    sections = [HEAD]
    for title, names in modules():
        sections.append(f"\n## {title}\n")
        sections += map(_module, names)
    return "".join(sections)


def _module(name: str) -> str:
    module = importlib.import_module(name)
    path = Path(module.__file__ or "").resolve().relative_to(ROOT)
    entries = "".join(f"- {_entry(module, public)}\n" for public in public_names(module))
    return f"\n### [{name}](../{path.as_posix()})\n\n{_sentence(module.__doc__)}\n\n{entries}"


def _entry(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    text = f"`{name}{_arguments(value)}`"
    if sentence := _sentence(_docstring(module, name, value)):
        text += f": {sentence}"
    if members := ", ".join(_members(value)):
        text += f" Members: {members}."
    return text


def _members(value: object) -> Iterator[str]:
    """Yield the public members of a class, and the public classes that it inherits further ones from."""
    if not inspect.isclass(value):
        return
    for base in reversed(value.__mro__):
        if base is value or base.__name__.startswith("_"):
            yield from (_member(name, member) for name, member in vars(base).items() if _is_member(name, member))
        elif base.__module__.startswith("clientgo") and any(_is_member(*item) for item in vars(base).items()):
            yield f"those of `{base.__name__}`"


def _is_member(name: str, member: object) -> bool:
    return not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(_function(member)))


def _member(name: str, member: object) -> str:
    return f"`{name}`" if isinstance(member, property) else f"`{name}{_arguments(_function(member))}`"


def _function(member: object) -> object:
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def _has_arguments(value: object) -> bool:
    """Return whether a name is called: not a Protocol, an enumeration, or an exception without arguments of its own."""
    if not inspect.isclass(value):
        return inspect.isroutine(value)
    initializer = next(base for base in value.__mro__ if "__init__" in vars(base) or base is object)
    is_plain_error = issubclass(value, BaseException) and not initializer.__module__.startswith("clientgo")
    return not (is_plain_error or issubclass(value, Enum) or getattr(value, "_is_protocol", False))


def _arguments(value: Any) -> str:
    """Return the names of the arguments, in parentheses; nothing for what is not called."""
    if not _has_arguments(value):
        return ""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return ""
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    result = [_argument(parameter) for parameter in parameters]
    keyword_only = [parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters]
    if any(keyword_only) and not any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        result.insert(keyword_only.index(True), "*")
    return f"({', '.join(result)})"


def _argument(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case parameter.VAR_KEYWORD:
            return f"**{parameter.name}"
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}="


def _docstring(module: ModuleType, name: str, value: object) -> str | None:
    """Return the docstring of a class or function, or the text below the definition of another name."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return None if isinstance(value, type) and value.__doc__ in (None, Exception.__doc__) else inspect.getdoc(value)
    texts = _definitions(Path(module.__file__ or ""))
    if name not in texts:
        origins = [other for other in sys.modules.values() if other.__name__.startswith(f"{module.__name__}.")]
        texts = {key: text for other in origins for key, text in _definitions(Path(other.__file__ or "")).items()}
    return texts.get(name)


@functools.cache
def _definitions(path: Path) -> dict[str, str]:
    """Return the names that a module defines at its top level, with the text below assignments."""
    result = dict[str, str]()
    body = ast.parse(path.read_text(encoding="utf-8")).body
    for node, following in zip(body, [*body[1:], ast.Pass()], strict=True):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                result[name] = ast.get_docstring(node) or ""
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                text = following.value if isinstance(following, ast.Expr) else None
                result[name] = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
    return result


def _sentence(text: str | None) -> str:
    """Return the first sentence of a docstring, in one line."""
    first = " ".join((text or "").strip().partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", first)[0]


def main() -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
