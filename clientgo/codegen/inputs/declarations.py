"""The front end for what controllers declare: permissions and webhooks, wherever they stand in a module.

Modules are parsed and not imported. A controller imports its generated clients, so one whose clients are still to be
made, or are out of date, could not be imported; and nobody's program should run because its permissions are read.
"""

import ast
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clientgo.codegen.problems import Problems, reason_of, shown
from clientgo.meta.declarations import Declaration, RbacRule, WebhookDeclaration, admission_webhook, rbac

_HOME = RbacRule.__module__
_MAKERS: Mapping[str, Callable[..., Declaration]] = {
    f"{_HOME}.{maker.__name__}": maker for maker in (rbac, admission_webhook, RbacRule, WebhookDeclaration)
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration and where it stands."""

    declaration: Declaration
    source: str
    file: str
    line: int


@dataclass(slots=True)
class Source:
    """A module's text, parsed: the full names of what it imports, and its constants."""

    name: str
    """The module's place below the folder it would be imported from: the same on every machine."""
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
        """What `rbac`, `declarations.rbac` and the like are called in full."""
        first, dot, rest = ast.unparse(node).partition(".")
        return f"{self.imported.get(first, first)}{dot}{rest}"

    def value(self, node: ast.expr, *, within: frozenset[str] = frozenset()) -> Any:
        """A literal, in which constants of the module may stand; `within` are those that are being looked at.

        Raises:
            ValueError: it can't be known without running the module.
        """
        if isinstance(node, ast.Name) and node.id in self.constants.keys() - within:
            return self.value(self.constants[node.id], within=within | {node.id})
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self.value(part, within=within) for part in node.elts)
        return ast.literal_eval(node)


def parsed(name: str, problems: Problems) -> Source | None:
    """A module by its name; None when it can't be had, which is told."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    except Exception as error:  # noqa: BLE001  # finding a module runs the packages that it is in
        problems.at_module(name, 0, f"importing its package failed: {type(error).__name__}: {error}")
        return None
    if spec is None or spec.origin is None:
        problems.at_module(name, 0, f"there is no module {name}: give a dotted name that can be found from here")
        return None
    below = "/__init__.py" if spec.submodule_search_locations is not None else ".py"
    try:
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    except SyntaxError as error:
        problems.at_module(shown(spec.origin), error.lineno or 0, f"the module is no Python: {error.msg}")
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.at_module(shown(spec.origin), 0, f"cannot read the module: {reason_of(error)}")
        return None
    return Source(name.replace(".", "/") + below, shown(spec.origin), tree)


def read_declarations(names: Iterable[str], problems: Problems) -> list[Declared]:
    """What these modules declare; whatever is wrong goes to `problems`."""
    found: list[Declared] = []
    for name in names:
        source = parsed(name, problems)
        if source is not None:
            calls = _calls(source)
            if not calls:
                problems.at_module(source.file, 1, "nothing is declared here: write @rbac(...) at the controller")
            found += [declared for call in calls for declared in _declared(call, source, problems)]
    return found


def _calls(source: Source) -> list[ast.Call]:
    found = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    made = (call for call in found if source.full_name(call.func) in _MAKERS)
    return sorted(made, key=lambda call: (call.lineno, call.col_offset))


def _named(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise ValueError("the words of ** are not known")
    return keyword.arg


def _declared(call: ast.Call, source: Source, problems: Problems) -> Iterator[Declared]:
    make = _MAKERS[source.full_name(call.func)]
    words: dict[str, Any] = {}
    for keyword in call.keywords:
        try:
            words[_named(keyword)] = source.value(keyword.value)
        except ValueError:
            text = f"{keyword.arg or '**'}={ast.unparse(keyword.value)} is only known once the module runs"
            problems.at_module(source.file, keyword.value.lineno, f"{text}: write strings, or constants of this module")
            return
    try:
        declaration = make(*map(source.value, call.args), **words)
    except (TypeError, ValueError) as error:
        problems.at_module(source.file, call.lineno, f"the declaration can't be read: {error}")
        return
    yield Declared(declaration, source.name, source.file, call.lineno)


_VERBS = frozenset({
    "*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind", "escalate",
    "impersonate", "approve", "sign", "attest", "post", "put", "head", "options",
})  # fmt: skip
_HOOK_VERBS = frozenset({"*", "create", "update", "delete", "connect"})


def check_declarations(found: Iterable[Declared], plurals: Mapping[str, set[str]], problems: Problems) -> None:
    """Tell what is wrong; `plurals` are the resources of the groups that are generated in the same run."""
    for declared in found:
        declaration = declared.declaration
        complaints = _of_rule(declaration) if isinstance(declaration, RbacRule) else _of_webhook(declaration)
        for message in (*complaints, *_unknown(declaration, plurals)):
            problems.at_module(declared.file, declared.line, message)


def _of_rule(rule: RbacRule) -> Iterator[str]:
    if not rule.verbs:
        yield 'a permission without verbs: write verbs=("get", "list", "watch")'
    for verb in rule.verbs:
        if verb not in _VERBS:
            yield f"the verb {verb!r} is unknown: write some of {', '.join(sorted(_VERBS))}"
    if bool(rule.urls) == bool(rule.resources):
        yield "a permission is for resources or for urls: write resources=, with groups=, or urls= alone"
    if rule.resources and not rule.groups:
        yield 'a permission for resources names their group: write groups=, which is "core" for pods'
    if rule.urls and rule.namespace:
        yield "urls belong to no namespace: leave namespace= out"


def _of_webhook(hook: WebhookDeclaration) -> Iterator[str]:
    for verb in hook.verbs:
        if verb not in _HOOK_VERBS:
            yield f"the verb {verb!r} is unknown: write some of {', '.join(sorted(_HOOK_VERBS))}"
    if not hook.path.startswith("/") and not hook.url:
        yield f"the path {hook.path!r} is none: write one that begins with /"
    if hook.name.count(".") < 2:
        yield f"the name {hook.name!r} is not qualified: write one with two dots, such as foo.samples.example.com"
    if hook.reinvocation_policy and not hook.mutating:
        yield "reinvocation_policy is for mutating webhooks: leave it out, or write mutating=True"
    if hook.mutating and hook.side_effects in ("Some", "Unknown"):
        yield "the API server refuses side effects of these: write side_effects='None' or 'NoneOnDryRun'"


def _unknown(declaration: Declaration, plurals: Mapping[str, set[str]]) -> Iterator[str]:
    known = [plurals.get(group) for group in declaration.groups]
    if not all(known):
        return
    for resource in declaration.resources:
        plain = resource.partition("/")[0]
        if plain != "*" and not any(plain in (names or ()) for names in known):
            offered = ", ".join(sorted(name for names in known for name in names or ()))
            yield f"the plural {plain!r} is unknown in {', '.join(declaration.groups)}: write one of {offered}"
