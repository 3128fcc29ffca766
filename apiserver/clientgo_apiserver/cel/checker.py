"""Type checker of CEL expressions, with the errors of Kubernetes' API server."""

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clientgo.meta.schema.gotypes import is_in_range
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.environment import Fields
from clientgo_apiserver.cel.literals import literal_errors
from clientgo_apiserver.cel.syntax import (
    CallNode,
    CompileError,
    FoldNode,
    IdentNode,
    ListNode,
    LiteralNode,
    MapNode,
    SelectNode,
    StructNode,
    SyntaxNode,
    UInt,
    qualified_name,
)
from clientgo_apiserver.cel.types import BOOL, DYN, ERROR, ExprType, Unifier, is_dyn, optional_of, unwrapped
from clientgo_apiserver.releases.release import cached_by_release, current

_LITERALS: tuple[tuple[type, ExprType], ...] = (
    *((bool, BOOL), (UInt, types.UINT), (int, types.INT), (float, types.DOUBLE)),
    *((str, types.STRING), (bytes, types.BYTES), (type(None), types.NULL)),
)
_TYPE_NAMES = {
    **{name: types.parse_type(name) for name in ("bool", "bytes", "double", "dyn", "int", "string", "uint")},
    "null_type": types.NULL,
    "list": types.list_of(DYN),
    "map": types.map_of(DYN, DYN),
    "type": types.parse_type("type"),
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "optional_type": optional_of(DYN),
    "net.IP": types.parse_type("net.IP"),
    "net.CIDR": types.parse_type("net.CIDR"),
    **{f"kubernetes.{name}": ExprType("struct", f"kubernetes.{name}") for name in ("Quantity", "URL", "Semver")},
    "kubernetes.NamedFormat": ExprType("struct", "kubernetes.NamedFormat"),
}


@dataclass(frozen=True, slots=True)
class Overload:
    """A form of a function."""

    id: str
    member: bool
    result: ExprType
    params: tuple[ExprType, ...]


@dataclass(slots=True)
class CheckedExpression:
    """A checked expression: the type of each node, the overloads of each call, and the names that identifiers have."""

    root: SyntaxNode
    types: dict[SyntaxNode, ExprType] = field(default_factory=dict)
    overloads: dict[SyntaxNode, list[str]] = field(default_factory=dict)
    names: dict[SyntaxNode, str] = field(default_factory=dict)

    @property
    def result(self) -> ExprType:
        """The type of the expression's value."""
        return self.types[self.root]


@cached_by_release
def functions() -> dict[str, list[Overload]]:
    """Return the functions and operators by name."""
    overloads: dict[str, list[Overload]] = {}
    text = Path(__file__).with_name("functions").joinpath("functions.txt").read_text(encoding="utf-8")
    minor = current().minor
    for line in filter(lambda line: not line.startswith("#") and is_in_range(line, minor), text.splitlines()):
        name, overload, signature, result = line.split(" ")[:4]
        target, _, params = signature.rstrip(")").partition("(")
        texts = [target.rstrip("."), *_split(params)] if target else _split(params)
        parsed = tuple(map(types.parse_type, texts))
        overloads.setdefault(name, []).append(Overload(overload, bool(target), types.parse_type(result), parsed))
    return overloads


def _split(params: str) -> list[str]:
    depth, params_split, start = 0, [], 0
    for index, char in enumerate(params):
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            params_split.append(params[start:index])
            start = index + 1
    return [*params_split, params[start:]] if params else []


def type_named(name: str) -> ExprType | None:
    """Return the type that an identifier such as int or net.IP stands for."""
    return _TYPE_NAMES.get(name)


def check(root: SyntaxNode, variables: Mapping[str, ExprType], fields: Fields) -> CheckedExpression:
    """Return the types of an expression with these variables.

    Raises:
        CompileError: the expression has errors.
    """
    checker = _Checker(variables, fields)
    checker.visit(root)
    if not checker.errors:
        checker.finish(root)
    if checker.errors:
        raise CompileError(checker.errors)
    return checker.checked


class _Checker:
    def __init__(self, variables: Mapping[str, ExprType], fields: Fields) -> None:
        self.errors: list[tuple[int, str]] = []
        self.checked = CheckedExpression(LiteralNode(0, None))
        self._types = self.checked.types
        self._scope: MutableMapping[str, ExprType] = ChainMap(dict(variables))
        self._fields = fields
        self._unifier = Unifier()

    def finish(self, root: SyntaxNode) -> None:
        """Replace type parameters in all types, and check literals."""
        self.checked.root = root
        for node, kind in self._types.items():
            self._types[node] = self._unifier.substitute(kind, final=True)
        self.errors += literal_errors(root, self._types)

    def visit(self, node: SyntaxNode) -> ExprType:
        """Return the type of an expression."""
        match node:
            case LiteralNode(value=value):
                expr_type = next(kind for cls, kind in _LITERALS if isinstance(value, cls))
            case IdentNode():
                expr_type = self._ident(node)
            case SelectNode():
                expr_type = self._select(node)
            case CallNode():
                expr_type = self._call(node)
            case ListNode():
                expr_type = self._list(node)
            case MapNode():
                expr_type = self._map(node)
            case StructNode():
                expr_type = self._struct(node)
            case FoldNode():
                expr_type = self._fold(node)
            case _:
                raise AssertionError(node)
        self._types[node] = expr_type
        return expr_type

    def _report(self, node: SyntaxNode, message: str) -> ExprType:
        self.errors.append((node.offset, message))
        return ERROR

    def _undeclared(self, node: SyntaxNode, name: str) -> ExprType:
        return self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _variable(self, node: SyntaxNode, name: str) -> ExprType | None:
        name = name.lstrip(".")
        declared = self._scope.get(name)
        if declared is None:
            named = type_named(name)
            declared = ExprType("type", "type", (named,)) if named is not None else None
        if declared is not None:
            self.checked.names[node] = name
        return declared

    def _ident(self, node: IdentNode) -> ExprType:
        declared = self._variable(node, node.name)
        return declared if declared is not None else self._undeclared(node, node.name)

    def _select(self, node: SelectNode) -> ExprType:
        name = qualified_name(node)
        variable = self._variable(node, name) if name else None
        if variable is not None:
            return variable
        member = self._field(node, node.operand, node.field, optional=False)
        return BOOL if node.test_only else self._unifier.substitute(member)

    def _field(self, node: SyntaxNode, operand: SyntaxNode, name: str, *, optional: bool) -> ExprType:
        target, was_optional = unwrapped(self._unifier.substitute(self.visit(operand)))
        if target.kind == "map":
            member = target.params[1]
        elif target.kind == "struct":
            declared = self._fields(target.name, name)
            member = declared if declared is not None else self._report(node, f"undefined field '{name}'")
        elif target.kind == "param":
            self._unifier.assignable([DYN], [target])
            member = DYN
        else:
            if not is_dyn(target):
                self._report(node, f"type '{target}' does not support field selection")
            member = DYN
        return optional_of(member) if was_optional or optional else member

    def _call(self, node: CallNode) -> ExprType:
        if node.function == "_?._":
            operand, key = node.args
            assert isinstance(key, LiteralNode)
            self._types[key] = types.STRING
            self.checked.overloads[node] = ["select_optional_field"]
            return self._unifier.substitute(self._field(node, operand, key.value, optional=True))
        args = [self.visit(arg) for arg in node.args]
        if node.target is not None:
            qualified = qualified_name(node.target)
            full = f"{qualified}.{node.function}".lstrip(".")
            if qualified and self._has_function(full):
                node.function, node.target = full, None
            else:
                args.insert(0, self.visit(node.target))
        name = node.function.lstrip(".")
        if not self._has_function(name):
            return self._undeclared(node, node.function)
        return self._resolve(node, name, args)

    def _has_function(self, name: str) -> bool:
        return name in functions() and (not name.startswith("jsonpatch.") or "JSONPatch" in self._scope)

    def _resolve(self, node: CallNode, name: str, args: list[ExprType]) -> ExprType:
        if name in ("_&&_", "_||_"):
            self.checked.overloads[node] = [functions()[name][0].id]
            fitting = [self._expect(arg, kind, BOOL) for arg, kind in zip(node.args, args, strict=True)]
            return BOOL if all(fitting) else ERROR
        result: ExprType | None = None
        for overload in functions()[name]:
            if overload.member != (node.target is not None):
                continue
            returned, *params = self._unifier.instantiate((overload.result, *overload.params))
            if self._unifier.assignable(args, params):
                self.checked.overloads.setdefault(node, []).append(overload.id)
                resolved = self._unifier.substitute(returned)
                result = resolved if result is None or result == resolved else DYN
        return result if result is not None else self._no_overload(node, name, args)

    def _no_overload(self, node: CallNode, name: str, args: Sequence[ExprType]) -> ExprType:
        texts = [str(self._unifier.substitute(arg, final=True)) for arg in args]
        target = f"{texts.pop(0)}." if node.target is not None else ""
        applied = f"{target}({', '.join(texts)})"
        return self._report(node, f"found no matching overload for '{name}' applied to '{applied}'")

    def _expect(self, node: SyntaxNode, kind: ExprType, expected: ExprType) -> bool:
        if self._unifier.assignable([expected], [kind]):
            return True
        self._report(node, f"expected type '{expected}' but found '{self._unifier.substitute(kind, final=True)}'")
        return False

    def _join(self, before: ExprType | None, kind: ExprType) -> ExprType:
        if before is None:
            return kind
        if self._unifier.assignable([before], [kind]):
            return types.most_general(before, kind)
        return DYN

    def _unwrapped(self, node: SyntaxNode, kind: ExprType, optional: bool) -> ExprType:
        if not optional:
            return kind
        inner, was_optional = unwrapped(kind)
        if not was_optional and not is_dyn(inner):
            self._report(node, f"expected type '{optional_of(inner)}' but found '{inner}'")
        return inner

    def _list(self, node: ListNode) -> ExprType:
        joined: ExprType | None = None
        for index, item in enumerate(node.items):
            joined = self._join(joined, self._unwrapped(item, self.visit(item), index in node.optional))
        return types.list_of(joined if joined is not None else self._unifier.fresh())

    def _map(self, node: MapNode) -> ExprType:
        keys: ExprType | None = None
        values: ExprType | None = None
        for key, value, optional in node.entries:
            keys = self._join(keys, self.visit(key))
            values = self._join(values, self._unwrapped(value, self.visit(value), optional))
        if keys is None or values is None:
            return types.map_of(self._unifier.fresh(), self._unifier.fresh())
        return types.map_of(keys, values)

    def _struct(self, node: StructNode) -> ExprType:
        name = node.type_name.lstrip(".")
        declared = self._scope.get(name.partition(".")[0])
        if declared is None or declared.kind != "type":
            return self._undeclared(node, node.type_name)
        kind = ExprType("struct", name)
        for offset, name, value, optional in node.fields:
            provided = self._unwrapped(value, self.visit(value), optional)
            expected = self._fields(kind.name, name)
            if expected is None:
                self.errors.append((offset, f"undefined field '{name}'"))
            elif not self._unifier.assignable([expected], [provided]):
                provided_name = self._unifier.substitute(provided, final=True)
                message = f"expected type of field '{name}' is '{expected}' but provided type is '{provided_name}'"
                self.errors.append((offset, message))
        return kind

    def _fold(self, node: FoldNode) -> ExprType:
        items = self._unifier.substitute(self.visit(node.items))
        start = self.visit(node.start)
        outer = self._scope
        accumulated = ChainMap({node.accumulator: start}, outer)
        self._scope = ChainMap(self._iterated(node, items), accumulated)
        self.visit(node.condition)
        self._expect(node.condition, self._types[node.condition], BOOL)
        self._expect(node.step, self.visit(node.step), start)
        self._scope = accumulated
        result = self._unifier.substitute(self.visit(node.result))
        self._scope = outer
        return result

    def _iterated(self, node: FoldNode, items: ExprType) -> dict[str, ExprType]:
        if items.kind == "list":
            kinds = (types.INT, items.params[0])
        elif items.kind == "map":
            kinds = (items.params[0], items.params[1])
        elif items.kind == "param" or is_dyn(items):
            self._unifier.assignable([DYN], [items])
            kinds = (DYN, DYN)
        else:
            reason = f"expression of type '{items}' cannot be range of a comprehension (must be list, map, or dynamic)"
            kinds = (self._report(node.items, reason), ERROR)
        if len(node.names) == 2:
            return dict(zip(node.names, kinds, strict=True))
        return {node.names[0]: kinds[1] if items.kind == "list" else kinds[0]}
