"""Regular expressions of the library: linear time on every input."""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clientgo.log import credentials
from clientgo.meta import shallow_json, typemeta
from tests.project.ambiguity import super_linear

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "clientgo"
FOLDERS = (LIBRARY, ROOT / "tools" / "clientgo", ROOT / "apiserver" / "clientgo_apiserver")
GENERATED = LIBRARY / "kubernetes"
FLAGS_AT = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4}
METHODS = FLAGS_AT.keys() - {"compile"}

BUILT: Mapping[str, list[tuple[re.Pattern[Any], str]]] = {
    "clientgo_apiserver/gotypes/scalars.py": [],  # elements of a layout: literals and counted digits
    "clientgo/codegen/inputs/apitypes.py": [(re.compile(r"\s+x\s*:.*=\s*(\[|\{|list\(|dict\(|set\()"), "match")],
    "clientgo/log/credentials.py": [
        *((pattern, "sub") for pattern, _ in credentials._shapes()),
        *((credentials._finder(secret), "sub") for secret in ("a'\\\\b", "'a\\'", "\\a\\")),
    ],
    "clientgo_apiserver/api/formats.py": [],  # addresses and UUIDs: counted characters
    "clientgo/meta/shallow_json.py": [
        (pattern, "finditer" if name == "bracket" else "match")
        for name, pattern in vars(shallow_json._patterns()).items()
    ],
    "clientgo/meta/typemeta.py": [
        (re.compile(typemeta._head_of(typemeta.TypeMeta(group, "Foo"))), "match") for group in ("", "g.io")
    ],
}
"""Patterns of the modules in which some are built while the program runs."""


@dataclass(frozen=True)
class Use:
    """Pattern in the source with the methods that are called; `pattern` is None if it is built at run time."""

    place: str
    pattern: re.Pattern[Any] | None
    methods: frozenset[str]


class Source:
    """Syntax tree of a module, with the values of its expressions."""

    def __init__(self, path: Path) -> None:
        [folder] = [folder for folder in FOLDERS if folder in path.parents]
        self._path = path.relative_to(folder.parent).as_posix()
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self._functions = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]

    def uses(self) -> Iterator[Use]:
        module = importlib.import_module(self._path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for call in self._calls():
            method, location = _function(call), f"{self._path}:{call.lineno}"
            methods = self._methods(call) if method == "compile" else {method}
            for pattern in self._patterns(call, module):
                yield Use(location, pattern if methods else None, frozenset(methods))

    def _calls(self) -> Iterator[ast.Call]:
        for node in ast.walk(self._tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr)) if attr in FLAGS_AT:
                    yield node
                case ast.Call(func=ast.Name(id="lazy_pattern")):
                    yield node

    def _patterns(self, call: ast.Call, module: ModuleType) -> Iterator[re.Pattern[Any] | None]:
        for values in self._environments(call):
            try:
                yield self._compiled(call, {**vars(module), **_evaluated(values, vars(module))})
            except NameError:
                yield None

    def _compiled(self, call: ast.Call, values: dict[str, Any]) -> re.Pattern[Any]:
        at = FLAGS_AT[_function(call)]
        flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"] or call.args[at : at + 1]
        return re.compile(_value(call.args[0], values), *(_value(flag, values) for flag in flags))

    def _environments(self, call: ast.Call) -> list[dict[str, ast.expr]]:
        """Return the arguments of each call of the function whose parameter is the pattern."""
        names = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
        for function in self._functions:
            parameters = [argument.arg for argument in function.args.args]
            if call in ast.walk(function) and names & set(parameters):
                defaults = dict(zip(reversed(parameters), reversed(function.args.defaults), strict=False))
                return [
                    {**defaults, **dict(zip(parameters, other.args, strict=False))}
                    for other in ast.walk(self._tree)
                    if isinstance(other, ast.Call)
                    and isinstance(other.func, ast.Name)
                    and other.func.id == function.name
                ]
        return [{}]

    def _methods(self, call: ast.Call) -> set[str]:
        """Return the methods of a compiled pattern that its module calls; all of them if others call them."""
        result, names = set[str](), set[str]()
        for node in ast.walk(self._tree):
            match node:
                case ast.Attribute(value=value, attr=attr) if value is call:
                    result.add(attr)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if call in ast.walk(value):
                    names.add(name)
        for node in ast.walk(self._tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)), attr=attr):
                    result |= {attr} if name in names else set()
        return result & METHODS or (METHODS if names else set())


def _function(call: ast.Call) -> str:
    """Return the function of `re`; a lazy pattern is compiled too."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else "compile"


def _evaluated(expressions: Mapping[str, ast.expr], values: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(expression, values) for name, expression in expressions.items()}


def _value(expression: ast.expr, values: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "<pattern>", "eval"), values)


@pytest.fixture(scope="module")
def uses() -> list[Use]:
    """Every use of a pattern. Not at import, which each process would spend seconds on."""
    return [
        use
        for path in sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
        if GENERATED not in path.parents and re.search(r"import re\n|lazy_pattern\(", path.read_text(encoding="utf-8"))
        for use in Source(path).uses()
    ]


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"a*b", "fullmatch"),
        (r"[a-z]+(\.[a-z]+)*", "fullmatch"),
        (r'"(?:[^"\\]|\\.)*"', "match"),
        (r'"(?:[^"\\]|\\.)*"?', "sub"),
        (r"\w+", "findall"),
        (r"(?<!\d)\d+ms", "search"),
        (r"a.*", "search"),
    ],
)
def test_linear_patterns_are_accepted(pattern: str, method: str) -> None:
    assert super_linear(re.compile(pattern, re.DOTALL), method) == ""


@pytest.mark.parametrize(
    ("pattern", "method", "error"),
    [
        (r"(a*)*b", "fullmatch", "exponential: repeats 'a'"),
        (r"(a|a)*b", "fullmatch", "exponential: repeats 'a'"),
        (r"([a-z0-9]+-?)+", "fullmatch", "exponential: repeats '0'"),
        (r"[ \t]*([\t -~]*?)[ \t]*", "fullmatch", "polynomial: repeats '\\t'"),
        (r"\d+\.?\d*", "fullmatch", "polynomial: repeats '0'"),
        (r"<.*>", "search", "polynomial: repeats '!<!'"),
        (r"\d+ms", "findall", "polynomial: repeats '00'"),
        (r"\s*$", "sub", "polynomial: repeats '\\t\\t'"),
    ],
)
def test_super_linear_patterns_are_rejected(pattern: str, method: str, error: str) -> None:
    assert super_linear(re.compile(pattern), method) == error


def test_every_pattern_of_the_library_takes_linear_time(uses: list[Use]) -> None:
    patterns = [(use.place, use.pattern, method) for use in uses if use.pattern for method in use.methods]
    patterns += [(file, pattern, method) for file, built in BUILT.items() for pattern, method in built]
    errors = {f"{location} {method}": super_linear(pattern, method) for location, pattern, method in patterns}
    assert {position: error for position, error in errors.items() if error} == {}
    assert len(patterns) > 100


def test_every_module_that_builds_patterns_is_listed(uses: list[Use]) -> None:
    assert {use.place.partition(":")[0] for use in uses if use.pattern is None} == BUILT.keys()
