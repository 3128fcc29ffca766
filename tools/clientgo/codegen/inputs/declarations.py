"""Declared permissions and webhooks: `@rbac` and `@admission_webhook` in the modules of controllers.

Modules are parsed, not imported: a controller imports its generated clients, which may not exist yet, and reading
permissions should not run a program.
"""

import ast
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from clientgo.codegen.model import non_empty
from clientgo.codegen.problems import Problems, reason_of, shown
from clientgo.meta.declarations import Declaration, RbacRule, WebhookDeclaration, rbac
from clientgo.meta.selectors import SelectorLike, is_qualified_name, selector_of

_HOME = RbacRule.__module__
_MAKERS: Mapping[str, Callable[..., Declaration]] = {
    f"{_HOME}.rbac": rbac,
    f"{_HOME}.admission_webhook": WebhookDeclaration,
    f"{_HOME}.RbacRule": RbacRule,
    f"{_HOME}.WebhookDeclaration": WebhookDeclaration,
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration and its place."""

    declaration: Declaration
    source: str
    file: str
    line: int


@dataclass(slots=True)
class SourceModule:
    """A parsed module, with its imports and constants."""

    name: str
    """File of the module relative to the import path, the same on every machine."""
    file: str
    tree: ast.Module
    imported: dict[str, str] = field(default_factory=dict)
    constants: dict[str, ast.expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                self.imported.update({name.asname or name.name: f"{node.module}.{name.name}" for name in node.names})
            elif isinstance(node, ast.Import):
                self.imported.update({name.asname: name.name for name in node.names if name.asname})
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.constants[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self.constants[node.target.id] = node.value

    def full_name(self, node: ast.expr) -> str:
        """Return the full name of an expression such as `rbac` or `declarations.rbac`."""
        first, dot, attributes = ast.unparse(node).partition(".")
        return f"{self.imported.get(first, first)}{dot}{attributes}"

    def value(self, node: ast.expr, *, within: frozenset[str] = frozenset()) -> Any:
        """Evaluate a literal, which may contain constants of the module; `within` are those being evaluated.

        Raises:
            ValueError: the value is only known at run time.
        """
        if isinstance(node, ast.Name) and node.id in self.constants.keys() - within:
            return self.value(self.constants[node.id], within=within | {node.id})
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(value for part in node.elts for value in self._items(part, within))
        if isinstance(node, ast.Dict) and None not in node.keys:
            pairs = zip(node.keys, node.values, strict=True)
            return {self.value(key, within=within): self.value(value, within=within) for key, value in pairs if key}
        return ast.literal_eval(node)

    def _items(self, node: ast.expr, within: frozenset[str]) -> tuple[Any, ...]:
        """Evaluate one element of a sequence; `*NAMES` is several."""
        if not isinstance(node, ast.Starred):
            return (self.value(node, within=within),)
        items = self.value(node.value, within=within)
        if not isinstance(items, tuple):
            raise ValueError(f"{ast.unparse(node)} is not a sequence")
        return items


def read_declarations(names: Iterable[str], problems: Problems) -> list[Declared]:
    """Read the declarations of these modules; errors go to `problems`.

    A package stands for all modules in it, some of which declare nothing. Each module is read once.
    """
    sources: dict[Path, SourceModule] = {}
    for name in names:
        origin = _origin(name, problems)
        if origin is None:
            continue
        is_package, top = origin.name == "__init__.py", origin.parent
        for path in sorted(top.rglob("*.py")) if is_package else [origin]:
            folder = Path(*name.split(".")) if is_package else Path(*name.split(".")[:-1])
            source = sources.get(path) or _parsed(folder / path.relative_to(top), path, problems)
            if source is None:
                continue
            sources[path] = source
            if not is_package and not _calls(source):
                problems.at_module(source.file, 1, "no declarations found: add @rbac(...) to the controller")
    return [
        declared
        for source in sources.values()
        for call in _calls(source)
        for declared in _declared(call, source, problems)
    ]


def _origin(name: str, problems: Problems) -> Path | None:
    """Return the file of a module; return None and report an error if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    except Exception as error:  # noqa: BLE001  # finding a module imports its packages
        problems.at_module(name, 0, f"importing its package failed: {type(error).__name__}: {error}")
        return None
    if spec is None or spec.origin is None:
        problems.at_module(name, 0, f"module {name} not found: give a dotted name that can be imported from here")
        return None
    return Path(spec.origin)


def _parsed(name: Path, path: Path, problems: Problems) -> SourceModule | None:
    """Parse a module; return None and report an error if that fails."""
    file = shown(str(path))
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        problems.at_module(file, error.lineno or 0, f"syntax error: {error.msg}")
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.at_module(file, 0, f"cannot read the module: {reason_of(error)}")
        return None
    return SourceModule(name.as_posix(), file, tree)


def _calls(source: SourceModule) -> list[ast.Call]:
    calls = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    makers = (call for call in calls if source.full_name(call.func) in _MAKERS)
    return sorted(makers, key=lambda call: (call.lineno, call.col_offset))


def _named(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise ValueError("**kwargs is not supported here")
    return keyword.arg


def _declared(call: ast.Call, source: SourceModule, problems: Problems) -> Iterator[Declared]:
    make = _MAKERS[source.full_name(call.func)]
    words: dict[str, Any] = {}
    for keyword in call.keywords:
        try:
            words[_named(keyword)] = source.value(keyword.value)
        except ValueError:
            text = f"{keyword.arg or '**'}={ast.unparse(keyword.value)} is only known at run time"
            problems.at_module(source.file, keyword.value.lineno, f"{text}: use strings, or constants of this module")
            return
    try:
        declaration = _checked(make(*map(source.value, call.args), **words))
    except (TypeError, ValueError) as error:
        problems.at_module(source.file, call.lineno, f"invalid declaration: {error}")
        return
    yield Declared(declaration, source.name, source.file, call.lineno)


def _checked(declaration: Declaration) -> Declaration:
    """Return the declaration; raise ValueError if a value has a wrong type, or is none of the possible ones."""
    for member in msgspec.structs.fields(declaration):
        value, options = getattr(declaration, member.name), get_args(member.type)
        if get_origin(member.type) is Literal and value not in options:
            raise ValueError(f"invalid {member.name} {value!r}: expected {' or '.join(filter(None, options))}")
    msgspec.convert(msgspec.structs.asdict(declaration), type(declaration))
    return declaration


_VERBS = frozenset({
    "*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind", "escalate",
    "impersonate", "approve", "sign", "attest", "post", "put", "head", "options",
})  # fmt: skip
_HOOK_VERBS = frozenset({"*", "create", "update", "delete", "connect"})
_MOST_SECONDS = 30


Plurals = Mapping[str, set[str]]
"""Plurals of kinds by API group."""


def check_declarations(
    declarations: Iterable[Declared], own_plurals: Plurals, built_in: Plurals, problems: Problems
) -> None:
    """Report invalid declarations; `own_plurals` are all kinds of the project's groups."""
    for declared in declarations:
        declaration = declared.declaration
        complaints = _of_rule(declaration) if isinstance(declaration, RbacRule) else _of_webhook(declaration)
        for message in (*complaints, *_unknown(declaration, own_plurals, built_in)):
            problems.at_module(declared.file, declared.line, message)


def _of_rule(rule: RbacRule) -> Iterator[str]:
    if not rule.verbs:
        yield 'a permission requires verbs, such as verbs=("get", "list", "watch")'
    for verb in rule.verbs:
        if verb not in _VERBS:
            yield f"invalid verb {verb!r}: expected some of {', '.join(sorted(_VERBS))}"
    if bool(rule.urls) == bool(rule.resources):
        yield "a permission requires either resources= with groups=, or urls="
    if rule.resources and not rule.groups:
        yield 'a permission for resources requires groups=, such as "core" for pods'
    if rule.urls and rule.namespace:
        yield "urls are not namespaced: remove namespace="


def _of_webhook(hook: WebhookDeclaration) -> Iterator[str]:
    for verb in hook.verbs:
        if verb not in _HOOK_VERBS:
            yield f"invalid verb {verb!r}: expected some of {', '.join(sorted(_HOOK_VERBS))}"
    if not hook.path.startswith("/") and not hook.url:
        yield f"invalid path {hook.path!r}: expected a leading /"
    if hook.name.count(".") < 2:
        yield f"invalid name {hook.name!r}: expected a qualified name such as foo.samples.example.com"
    if hook.reinvocation_policy and not hook.mutating:
        yield "reinvocation_policy requires mutating=True"
    if hook.mutating and hook.side_effects in ("Some", "Unknown"):
        yield "the API server rejects these side effects: use side_effects='None' or 'NoneOnDryRun'"
    yield from _of_filters(hook)


def _of_filters(hook: WebhookDeclaration) -> Iterator[str]:
    if not 0 <= hook.timeout_seconds <= _MOST_SECONDS:
        yield f"invalid timeout_seconds {hook.timeout_seconds}: expected 1 to {_MOST_SECONDS}, or 0 for the default"
    for name in ("namespace_selector", "object_selector"):
        try:
            label_selector(getattr(hook, name))
        except ValueError as error:
            yield f"invalid {name}: {error}"
    for name, expression in hook.match_conditions.items():
        if not is_qualified_name(name):
            yield f"invalid name {name!r} in match_conditions: expected letters, digits, '-', '_' and '.'"
        if not expression.strip():
            yield f'empty expression {name!r} in match_conditions: expected CEL, such as "object.spec.size > 1"'


_OPERATORS = {"=": "In", "in": "In", "!=": "NotIn", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


def label_selector(selector: SelectorLike) -> dict[str, Any]:
    """Return a selector as in manifests, empty for everything; ValueError if it is invalid, or compares numbers."""
    labels: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for requirement in selector_of(selector).requirements:
        key, operator = requirement.key, _OPERATORS.get(requirement.operator)
        if operator is None:
            raise ValueError(f"{str(requirement)!r} compares numbers, which manifests cannot: list the values")
        if requirement.operator == "=" and key not in labels:
            labels[key] = requirement.values[0]
        else:
            expressions.append({"key": key, "operator": operator, **non_empty({"values": list(requirement.values)})})
    return non_empty({"matchLabels": labels, "matchExpressions": expressions})


def _unknown(declaration: Declaration, own_plurals: Plurals, built_in: Plurals) -> Iterator[str]:
    groups = ["" if group == "core" else group for group in declaration.groups]
    for group in groups:
        if group not in ("", "*") and "." not in group and group not in built_in:
            yield f"unknown group {group!r}: expected {_suggestion(group, built_in) or 'a domain, such as example.com'}"
            return
    plurals = [own_plurals.get(group) or built_in.get(group) for group in groups]
    for resource in declaration.resources:
        plain = resource.partition("/")[0]
        if plain == "*" or any(plain in (names or ()) for names in plurals):
            continue
        offered = sorted(name for names in plurals for name in names or ())
        problem = f"unknown plural {plain!r} in {', '.join(declaration.groups)}: expected"
        if plurals and all(group in own_plurals for group in groups):
            yield f"{problem} one of {', '.join(offered)}"
        elif all(plurals):
            # A cluster may serve kinds that the library has no types for: only what looks like a mistake is one.
            homes = [f"groups={group or 'core'!r}" for group, names in built_in.items() if plain in names]
            if likely := _suggestion(plain, offered) or " or ".join(homes):
                yield f"{problem} {likely}"


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    return "".join(repr(match) for match in get_close_matches(word, candidates, n=1, cutoff=0.8))
