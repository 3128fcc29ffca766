"""Checks of the CEL rules in a CustomResourceDefinition that is written: types, and costs estimated from its bounds.

`celvalidation` evaluates the rules when objects are written.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from clientgo_apiserver.api.limits import ESTIMATED_COST_LIMIT, ESTIMATED_CRD_COST_LIMIT, MAX_BODY_BYTES, MAX_UINT64
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value
from clientgo_apiserver.cel.environment import Expression
from clientgo_apiserver.crds.celvalidation import CompiledRule, compile_rules
from clientgo_apiserver.crds.declarations import SchemaType, declare
from clientgo_apiserver.crds.goforms import go_form
from clientgo_apiserver.crds.structural import RULES

Schema = dict[str, Any]

_MAX_LISTED = 4
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_UNTYPED = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert"
    " structural schema to CEL declarations"
)
_HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    " declared)"
)


@dataclass(frozen=True, slots=True)
class _Position:
    """A schema's path; `times` is how many values an object has for it at most, None if only its size limits that."""

    field_path: str
    times: int | None = 1
    root: bool = False
    uncorrelatable: str = ""


@dataclass(slots=True)
class _Costs:
    total: int = 0
    expensive: list[tuple[int, str]] = field(default_factory=list)

    def observe(self, field_path: str, cost: int) -> None:
        self.total = min(self.total + cost, MAX_UINT64)
        if cost >= ESTIMATED_CRD_COST_LIMIT // 100:
            expensive = sorted([*self.expensive, (cost, field_path)], key=lambda expense: -expense[0])
            self.expensive = expensive[:_MAX_LISTED]


def rule_errors(schema: Schema, field_path: str) -> list[Cause]:
    """Return the errors of all rules of a valid schema."""
    costs = _Costs()
    causes = list(_walked(schema, _Position(field_path, root=True), costs))
    if costs.total > ESTIMATED_CRD_COST_LIMIT:
        causes += [forbidden_field(path, _CONTRIBUTED) for _, path in costs.expensive]
        subject = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        causes.append(forbidden_field(field_path, _exceeded(subject, costs.total, ESTIMATED_CRD_COST_LIMIT)))
    return causes


def _walked(schema: Schema, position: _Position, costs: _Costs) -> Iterator[Cause]:
    for part, below, times in _children(schema):
        uncorrelatable = position.uncorrelatable
        if part == "items" and schema.get("x-kubernetes-list-type") != "map":
            uncorrelatable = uncorrelatable or position.field_path
        times_below = None if position.times is None or times is None else min(position.times * times, MAX_UINT64)
        yield from _walked(
            below, _Position(f"{position.field_path}.{part}", times_below, uncorrelatable=uncorrelatable), costs
        )
    if schema.get(RULES):
        declared = declare(schema, root=position.root)
        if declared is None:
            yield Cause("InternalError", f"{position.field_path}.{RULES}", f"Internal error: {_UNTYPED}")
        for index, rule in enumerate(compile_rules(schema, root=position.root)):
            yield from _one(
                rule, replace(position, field_path=f"{position.field_path}.{RULES}[{index}]"), declared, costs
            )


def _children(schema: Schema) -> Iterator[tuple[str, Schema, int | None]]:
    """Yield the schemas below a schema, with how many values of each a value has at most."""
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, dict):
        yield "additionalProperties", additional, _max_count(schema, "maxProperties")
    for name, below in (schema.get("properties") or {}).items():
        yield f"properties[{name}]", below, 1
    if isinstance(items, dict):
        yield "items", items, _max_count(schema, "maxItems")


def _max_count(schema: Schema, limit: str) -> int | None:
    return max(int(schema[limit]), 0) if limit in schema else None


def _one(rule: CompiledRule, position: _Position, declared: SchemaType | None, costs: _Costs) -> Iterator[Cause]:
    assert declared is not None
    field_path, form = position.field_path, go_form(rule.spec, "ValidationRule")
    times = MAX_BODY_BYTES // (declared.min_serialized_size + 1) if position.times is None else position.times
    cost = min(_cost(rule.expression, declared) * times, MAX_UINT64)
    if cost > ESTIMATED_COST_LIMIT:
        yield forbidden_field(f"{field_path}.rule", _exceeded("estimated rule cost", cost, ESTIMATED_COST_LIMIT))
    costs.observe(f"{field_path}.rule", cost)
    if rule.error:
        yield invalid_value(f"{field_path}.rule", form, rule.error)
    if rule.message_error:
        yield invalid_value(f"{field_path}.messageExpression", form, rule.message_error)
    elif rule.message is not None:
        message_cost = _cost(rule.message, declared)
        if message_cost > ESTIMATED_COST_LIMIT:
            detail = _exceeded("estimated messageExpression cost", message_cost, ESTIMATED_COST_LIMIT)
            yield forbidden_field(f"{field_path}.messageExpression", detail)
        costs.observe(f"{field_path}.messageExpression", message_cost)
    if rule.uses_old and position.uncorrelatable:
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {position.uncorrelatable}"
        yield invalid_value(f"{field_path}.rule", rule.spec["rule"], detail)
    elif not rule.uses_old and rule.spec.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{field_path}.optionalOldSelf", rule.spec["optionalOldSelf"], detail)


def _cost(expression: Expression | None, declared: SchemaType) -> int:
    if expression is None:
        return 0

    def sizes(path: tuple[str, ...]) -> int | None:
        element = declared.at(path[1:])
        return element.max_elements if element else None

    return expression.max_cost(sizes)


def _exceeded(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    text = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    text = "more than 100x" if factor > 100 else text
    return f"{what} exceeds budget by factor of {text} {_HINT}"
