"""Environment of the expressions in admission policies and in matchConditions of webhooks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.compiler import compile_expression
from clientgo_apiserver.cel.environment import Expression, InvalidExpression, field_type
from clientgo_apiserver.cel.functions.operators import OPERATORS
from clientgo_apiserver.cel.types import ExprType, parse_type
from clientgo_apiserver.cel.values import CelError
from clientgo_apiserver.releases.release import cached_by_release

BOOL, STRING, NULL = types.BOOL, types.STRING, types.NULL
OBJECT, PATCHES = ExprType("struct", "Object"), types.list_of(ExprType("struct", "JSONPatch"))
_VARIABLES = ExprType("struct", "kubernetes.variables")
_BASE = {
    **dict.fromkeys(("object", "oldObject"), types.DYN),
    "namespaceObject": parse_type("kubernetes.Namespace"),
    "request": parse_type("kubernetes.AdmissionRequest"),
}
_AUTHORIZER = {
    "authorizer": parse_type("kubernetes.authorization.Authorizer"),
    "authorizer.requestResource": parse_type("kubernetes.authorization.ResourceCheck"),
}
_UNTYPED: Mapping[str, Any] = {}
_PATCH_TYPES = {"Object": ExprType("type", "type", (OBJECT,)), "JSONPatch": ExprType("type", "type", PATCHES.params)}


@dataclass(frozen=True, slots=True)
class AdmissionScope:
    """The variables an expression may use; `composed` are those of the policy, with their types."""

    params: bool = False
    authorizer: bool = True
    patches: bool = False
    composed: tuple[tuple[str, ExprType], ...] | None = None


@cache
def _structs() -> Mapping[str, Mapping[str, ExprType]]:
    lines = Path(__file__).with_name("functions").joinpath("structs.txt").read_text(encoding="utf-8").splitlines()
    structs = {}
    for name, *fields in (line.split(" ") for line in lines if not line.startswith("#")):
        structs[name] = {field: parse_type(kind) for field, _, kind in (column.partition(":") for column in fields)}
    return structs


@partial(cached_by_release, maxsize=1024)
def compile_condition(source: str, scope: AdmissionScope, *results: ExprType) -> Expression:
    """Compile an expression whose value must be of one of these types; without any, of every type.

    Raises:
        InvalidExpression: the expression has errors, or another type.
    """
    try:
        expression = compile_typed(source, scope)
    except InvalidExpression as error:
        raise InvalidExpression(f"compilation failed: {error}") from None
    if results and expression.result not in results:
        expected = str(results[0]) if len(results) == 1 else f"one of [{' '.join(map(_go_name, results))}]"
        raise InvalidExpression(f"must evaluate to {expected} but got {_go_name(expression.result)}")
    return expression


def compile_typed(
    source: str,
    scope: AdmissionScope,
    declared: Mapping[str, ExprType] = _UNTYPED,
    structs: Mapping[str, Mapping[str, ExprType]] = _UNTYPED,
) -> Expression:
    """Compile an expression some of whose variables have a declared type, with the fields of these types.

    Raises:
        InvalidExpression: the expression has errors.
    """
    variables = {**_BASE, **(_AUTHORIZER if scope.authorizer else {}), **(_PATCH_TYPES if scope.patches else {})}
    if scope.params:
        variables["params"] = types.DYN
    composed = dict(scope.composed or ())
    if scope.composed is not None:
        variables["variables"] = _VARIABLES

    def fields(struct: str, name: str) -> ExprType | None:
        if struct == _VARIABLES.name:
            return composed.get(name)
        if struct in structs:
            return field_type(structs, struct, name)
        if struct.partition(".")[0] == "Object":
            return types.DYN
        # Unknown fields of a JSONPatch have a type without a name.
        return _structs().get(struct, {}).get(name, ExprType("struct") if struct == "JSONPatch" else None)

    return compile_expression(source, {**variables, **declared}, fields)


def _go_name(kind: ExprType) -> str:
    return "null_type" if kind == NULL else str(kind)


class ComposedVariables(dict[str, Any]):
    """The variables of a policy: each is computed at its first use."""

    def __init__(self, expressions: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__(dict.fromkeys(expressions))
        self._left = dict(expressions)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a variable."""
        if name in self._left:
            compute = self._left[name]
            try:
                self[name] = compute()
            except (CelError, InvalidExpression) as error:
                raise CelError(f'composited variable "{name}" fails to evaluate: {error}') from None
            del self._left[name]
        return super().get(name, default)


def namespace_value(namespace: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a namespace as expressions see it."""
    if namespace is None:
        return None
    meta = dict(namespace["metadata"])
    for field in ("creationTimestamp", "deletionTimestamp"):
        if field in meta:
            meta[field] = OPERATORS["timestamp"](meta[field])
    return {**namespace, "metadata": meta}
