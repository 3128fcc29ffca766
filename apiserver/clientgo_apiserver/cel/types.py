"""Types of CEL expressions, their text form and their unification."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_PRIMITIVES = frozenset(
    ("bool", "bytes", "double", "dyn", "error", "duration", "int", "null", "string", "timestamp", "uint")
)
_TOKEN = re.compile(r"[\w.]+|[<>,]")
_NULLABLE = frozenset(("opaque", "struct", "duration", "timestamp", "wrapper"))


@dataclass(frozen=True, slots=True)
class ExprType:
    """A type: its kind, the name of a struct, opaque type or type parameter, and the types it is made of."""

    kind: str
    name: str = ""
    params: tuple["ExprType", ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.params))
        match self.kind:
            case "error":
                return "!error!"
            case "type":
                return f"type({inner})" if inner else "type"
            case "list" | "map":
                return f"{self.kind}({inner})"
            case "opaque":
                return f"{self.name}({inner})" if inner else self.name
            case "struct" | "param":
                return self.name
        return self.kind


DYN, ERROR, NULL, BOOL = ExprType("dyn"), ExprType("error"), ExprType("null"), ExprType("bool")
INT, UINT, DOUBLE = ExprType("int"), ExprType("uint"), ExprType("double")
STRING, BYTES = ExprType("string"), ExprType("bytes")
TIMESTAMP, DURATION = ExprType("timestamp"), ExprType("duration")
SCALARS = frozenset((BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))


def list_of(item: ExprType) -> ExprType:
    """Return the type of lists with such items."""
    return ExprType("list", "list", (item,))


def map_of(key: ExprType, value: ExprType) -> ExprType:
    """Return the type of maps with such keys and values."""
    return ExprType("map", "map", (key, value))


def optional_of(value: ExprType) -> ExprType:
    """Return the type of optional values."""
    return ExprType("opaque", "optional_type", (value,))


def unwrapped(kind: ExprType) -> tuple[ExprType, bool]:
    """Return the type inside an optional type, and whether it was one."""
    return (kind.params[0], True) if kind.name == "optional_type" else (kind, False)


@cache
def parse_type(text: str) -> ExprType:
    """Return a type from its text in the table of functions, such as map<string, list<T>>."""
    tokens = _TOKEN.findall(text)

    def read() -> ExprType:
        name, params = tokens.pop(0), []
        if tokens and tokens[0] == "<":
            while tokens.pop(0) != ">":
                params.append(read())
        if name in _PRIMITIVES:
            return ExprType(name)
        if name in ("list", "map", "type"):
            return ExprType(name, name, tuple(params))
        if len(name) == 1:
            return ExprType("param", name)
        return ExprType("opaque" if params or name in ("net.IP", "net.CIDR") else "struct", name, tuple(params))

    return read()


def is_dyn(kind: ExprType) -> bool:
    """Return whether a type disables checks: dyn, or the type of an expression with an error."""
    return kind.kind in ("dyn", "error")


class Unifier:
    """Substitutions of type parameters, found while types are assigned to each other."""

    def __init__(self) -> None:
        self._found: dict[ExprType, ExprType] = {}
        self._count = 0

    def fresh(self) -> ExprType:
        """Return a new type parameter."""
        self._count += 1
        return ExprType("param", f"_var{self._count - 1}")

    def instantiate(self, types: Sequence[ExprType]) -> list[ExprType]:
        """Return types with their parameters replaced by new ones."""
        fresh: dict[str, ExprType] = {}

        def replaced(kind: ExprType) -> ExprType:
            if kind.kind == "param":
                return fresh.setdefault(kind.name, self.fresh())
            return ExprType(kind.kind, kind.name, tuple(map(replaced, kind.params))) if kind.params else kind

        return [replaced(kind) for kind in types]

    def substitute(self, kind: ExprType, *, final: bool = False) -> ExprType:
        """Return a type with its known parameters replaced; a final one has dyn in place of unknown parameters."""
        if kind in self._found:
            return self.substitute(self._found[kind], final=final)
        if kind.kind == "param":
            return DYN if final else kind
        if not kind.params:
            return kind
        return ExprType(kind.kind, kind.name, tuple(self.substitute(param, final=final) for param in kind.params))

    def assignable(self, ones: Sequence[ExprType], targets: Sequence[ExprType]) -> bool:
        """Return whether types can be assigned to others, and remember the substitutions that makes it so."""
        before = dict(self._found)
        if self._all_fit(ones, targets):
            return True
        self._found = before
        return False

    def _all_fit(self, ones: Sequence[ExprType], targets: Sequence[ExprType]) -> bool:
        return len(ones) == len(targets) and all(map(self._fits, ones, targets))

    def _fits(self, source: ExprType, other: ExprType) -> bool:
        if other.kind == "param":
            valid, was_known = self._bind(source, other)
            if valid or was_known:
                return valid
        if source.kind == "param":
            return self._bind(other, source)[0]
        if is_dyn(source) or is_dyn(other):
            return True
        if "null" in (source.kind, other.kind):
            kinds = {source.kind, other.kind} - {"null"}
            return not kinds or bool(kinds & _NULLABLE)
        if source.kind == "type":
            return other.kind == "type"
        if source.kind in ("opaque", "list", "map"):
            return (
                source.kind == other.kind and source.name == other.name and self._all_fit(source.params, other.params)
            )
        return source == other

    def _bind(self, kind: ExprType, param: ExprType) -> tuple[bool, bool]:
        """Substitute a type for a parameter; return whether that is valid, and whether the parameter was known."""
        if kind == param:
            return True, True
        present = self._found.get(param)
        if present is None:
            if self._absent(param, kind):
                self._found[param] = kind
                return True, False
            return False, False
        if kind == present:
            return True, True
        if self._fits(kind, present):
            general = most_general(kind, present)
            if self._absent(param, general):
                self._found[param] = general
            return True, True
        return False, True

    def _absent(self, param: ExprType, within: ExprType) -> bool:
        if param == within:
            return False
        if within.kind == "param":
            return within not in self._found or self._absent(param, self._found[within])
        return all(self._absent(param, inner) for inner in within.params)


def most_general(first: ExprType, second: ExprType) -> ExprType:
    """Return the more general of two types that fit each other."""
    return first if _less_specific(first, second) else second


def _less_specific(first: ExprType, second: ExprType) -> bool:
    if first.kind in ("dyn", "param"):
        return True
    if second.kind in ("dyn", "param") or first.kind != second.kind:
        return False
    if first.kind in ("opaque", "list", "map"):
        same = first.name == second.name and len(first.params) == len(second.params)
        return same and all(map(_less_specific, first.params, second.params))
    return first.kind == "type" or first == second
