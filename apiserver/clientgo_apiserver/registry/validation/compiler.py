"""Compilation of the rule files: each type becomes a `CompiledRules` at its first use."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from clientgo.meta.jsonvalues import same
from clientgo_apiserver.api.datafiles import read_sections
from clientgo_apiserver.api.status import Cause
from clientgo_apiserver.registry.validation import (
    access,
    capacities,
    certificates,
    cluster,
    core,
    devices,
    flowcontrol,
    generic,
    limits,
    network,
    policies,
    storage,
    webhooks,
)
from clientgo_apiserver.registry.validation.pods import containers, podstatus, resources, specs, updates, volumes
from clientgo_apiserver.registry.validation.scopes import RULES, FieldCheck, FieldScope, RegisteredRule, within
from clientgo_apiserver.registry.validation.workloads import controllers, cron, jobs, jobstatus
from clientgo_apiserver.releases.release import cached_by_release
from clientgo_apiserver.releases.rows import served_rows

RULE_MODULES: tuple[ModuleType, ...] = (
    *(generic, access, capacities, certificates, cluster, core, devices, flowcontrol, limits, network, policies),
    *(storage, webhooks),
    *(containers, podstatus, resources, specs, updates, volumes),
    *(controllers, cron, jobs, jobstatus),
)
"""Modules whose rules are registered by this import; `expressions` has those about CEL."""

_STEP = re.compile(r"(\w*)(!?)((?:\[\]|\{\})*)")
_EMPTY: dict[str, Any] = {}
ScopeTest = Callable[[FieldScope], bool]
NumberedCheck = tuple[int, FieldCheck]


class CompiledRules:
    """The rules of a type; most are looked up by the fields that a value has, so that absent fields cost nothing."""

    __slots__ = ("_always", "_empty", "_fields", "_updates", "name")

    def __init__(self, name: str, lines: Sequence[str]) -> None:
        self.name = name
        self._always: list[NumberedCheck] = []
        self._updates: list[NumberedCheck] = []
        self._empty: list[tuple[str, NumberedCheck]] = []
        self._fields: dict[str, list[tuple[int, FieldCheck, bool]]] = {}
        for number, line in enumerate(lines):
            field, moment, check, located = _line(line)
            numbered = (number, check)
            if moment == "present":
                self._fields.setdefault(field, []).append((number, check, located))
            elif moment == "empty":
                self._empty.append((field, numbered))
            else:
                (self._updates if moment == "update" else self._always).append(numbered)

    def __repr__(self) -> str:
        return f"<CompiledRules {self.name}>"

    def errors(self, value: Any, old: Any, parent: FieldScope | None = None) -> Sequence[Cause]:
        """Return the errors of a value, in the order of the rules."""
        scope, numbered = FieldScope(self.name, value, old, parent, _errors_of), []
        due = [*self._always, *self._updates] if scope.updates else self._always
        for number, check in due:
            if causes := check(value, old, scope):
                numbered.append((number, causes))
        for field, (number, check) in self._empty:
            if not value.get(field) and (causes := check(value, old, scope)):
                numbered.append((number, causes))
        earlier = old if isinstance(old, dict) else _EMPTY
        checks = self._fields
        for field, child in value.items():
            if field in checks and child is not None:
                for number, check, located in checks[field]:
                    if causes := check(child, earlier.get(field), scope):
                        numbered.append((number, within(field, causes) if located else causes))
        if not numbered:
            return ()
        numbered.sort(key=lambda pair: pair[0])
        return [cause for _, causes in numbered for cause in causes]


@cached_by_release
def sections() -> dict[str, list[str]]:
    """Return the lines of each type of all rule files."""
    lines_by_type: dict[str, list[str]] = {}
    root = Path(__file__).parent
    for folder in (root, root / "pods", root / "workloads"):
        for file in sorted(folder.glob("*.txt")):
            for name, lines in read_sections(file).items():
                lines_by_type.setdefault(name, []).extend(served_rows(lines))
    return lines_by_type


@cached_by_release
def rules_of(name: str) -> CompiledRules | None:
    """Return the rules of a type, or None if there are none."""
    lines = sections().get(name)
    return None if lines is None else CompiledRules(name, lines)


def _errors_of(name: str, value: Any, parent: FieldScope) -> Sequence[Cause]:
    rules = rules_of(name)
    return () if rules is None else rules.errors(value, None, parent)


def _line(line: str) -> tuple[str, str, FieldCheck, bool]:
    """Compile a line; return its first field, when it runs (always, update, empty or present field), and the check.

    The check is of the type's value, but for a present field of the field's; then its errors may be located by it.
    """
    path, name, *words = shlex.split(line, comments=True)
    words, conditions = _split(words, ("when", "unless"))
    words, location = _split(words, ("at",))
    leaf, absent = _reference(name[1:]) if name.startswith("@") else _rule(name, words)
    steps = [] if path == "." else [step for part in path.split(".") for step in _steps(part)]
    # Rules that compare run even if the new value lacks a field on the path.
    lenient = absent == "update"
    moment = "update" if lenient else "always" if not steps or steps[0][1] else "present"
    if absent in ("empty", "absent") and len(steps) == 1:
        moment = "empty" if absent == "empty" else "always"
    check, located = leaf, not location
    for index, (field, struct, members) in reversed(list(enumerate(steps))):
        if members:
            check = _each(_MEMBERS[members], check, located)
        elif moment == "present" and not index:
            continue  # called with the value of the field
        else:
            called = struct or lenient or (bool(absent) and index == len(steps) - 1)
            check = _field(field, _EMPTY if struct else None, check, called, located)
    if location:
        check = _moved(location[1], check)
    if conditions:
        check = _conditional(check, list(_conditions(conditions[1:])), conditions[0] == "when")
    return steps[0][0] if steps else "", moment, check, located


def _split(words: list[str], marks: tuple[str, ...]) -> tuple[list[str], list[str]]:
    at = next((index for index, word in enumerate(words) if word in marks), len(words))
    return words[:at], words[at:]


def _steps(part: str) -> Iterator[tuple[str, bool, str]]:
    """Yield the field, whether it is a struct, and the kind of members, of each step of a part of a path."""
    match = _STEP.fullmatch(part)
    if match is None:
        raise ValueError(f"invalid path {part!r}")
    if match[1]:
        yield match[1], bool(match[2]), ""
    for index in range(0, len(match[3]), 2):
        yield "", False, match[3][index : index + 2]


def _reference(name: str) -> tuple[FieldCheck, str]:
    def check(value: Any, old: Any, scope: FieldScope) -> Sequence[Cause]:
        rules = rules_of(name)
        if rules is None:
            raise ValueError(f"no rules for type {name!r}")
        return rules.errors(value, old, scope)

    return check, ""


def _registered(name: str) -> RegisteredRule:
    if name not in RULES:
        # Imported at its first rule: CEL takes longer to load than a tenth of a server's start.
        from clientgo_apiserver.registry.validation import expressions  # noqa: F401, PLC0415
    if name not in RULES:
        raise ValueError(f"unknown rule {name!r}")
    return RULES[name]


def _rule(name: str, words: list[str]) -> tuple[FieldCheck, str]:
    """Return the check of a named rule with these arguments, and whether absent values matter to it."""
    rule = _registered(name)
    function, arguments = rule.function, [int(word) if re.fullmatch(r"-?\d+", word) else word for word in words]
    if rule.update:
        return lambda new, old, scope: list(function(new, old, scope, *arguments)) if scope.updates else (), "update"

    def check(value: Any, _: Any, scope: FieldScope) -> Sequence[Cause]:
        errors = function(value, scope, *arguments)
        return errors if type(errors) is tuple else list(errors)

    return check, "empty" if rule.empty else "absent" if rule.absent else ""


def _field(field: str, default: Any, then: FieldCheck, called: bool, located: bool) -> FieldCheck:
    def check(value: Any, old: Any, scope: FieldScope) -> Sequence[Cause]:
        child = value.get(field) if value else None
        if child is None:
            if not called:
                return ()
            child = default
        before = old.get(field) if isinstance(old, dict) else None
        causes = then(child, before, scope)
        return within(field, causes) if causes and located else causes

    return check


def _each(members: Callable[[Any], Iterable[tuple[Any, Any]]], then: FieldCheck, located: bool) -> FieldCheck:
    def check(value: Any, _: Any, scope: FieldScope) -> Sequence[Cause]:
        errors: list[Cause] = []
        for key, member in members(value):
            if causes := then(member, None, scope):
                errors += within(f"[{key}]", causes) if located else causes
        return errors

    return check


def _moved(path: str, check: FieldCheck) -> FieldCheck:
    prefix = "" if path == "." else path
    return lambda value, old, scope: within(prefix, causes) if (causes := check(value, old, scope)) else ()


_MEMBERS: dict[str, Callable[[Any], Iterable[tuple[Any, Any]]]] = {
    "[]": enumerate,
    "{}": lambda value: sorted(value.items()),
}


def _conditional(check: FieldCheck, conditions: list[ScopeTest], expected: bool) -> FieldCheck:
    first, *further = conditions

    def guarded(value: Any, old: Any, scope: FieldScope) -> Sequence[Cause]:
        holds = first(scope) and (not further or all(condition(scope) for condition in further))
        return check(value, old, scope) if holds is expected else ()

    return guarded


def _conditions(words: list[str]) -> Iterator[ScopeTest]:
    remaining = words
    while remaining:
        end = remaining.index("and") if "and" in remaining else len(remaining)
        yield _condition(*remaining[:end])
        remaining = remaining[end + 1 :]


def _condition(path: str, operator: str = "", expected: str = "") -> ScopeTest:
    if path in ("create", "update"):
        return lambda scope: scope.updates is (path == "update")
    enclosing, _, inner = path.rpartition(":")
    read = generic.reader(inner)

    def actual(scope: FieldScope) -> Any:
        return read(scope.enclosing(enclosing) if enclosing else scope.value)

    values = expected.split(",")
    if operator == "changed":
        return lambda scope: scope.old is None or not same(read(scope.value), read(scope.old))
    if operator in ("", "empty"):
        return lambda scope: (actual(scope) in (None, "", [], {}, False)) is (operator == "empty")
    if operator == "network":
        return lambda scope: network.is_network(actual(scope) or "")
    if operator == "convertible":
        return lambda scope: controllers.is_convertible(actual(scope) or _EMPTY)
    if operator in ("set", "unset"):
        return lambda scope: (actual(scope) is None) is (operator == "unset")
    if operator == "!=":
        return lambda scope: generic.text(actual(scope)) != expected
    return lambda scope: generic.text(actual(scope)) in values
