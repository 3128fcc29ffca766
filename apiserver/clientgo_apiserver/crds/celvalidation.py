"""Validation of objects by the CEL rules (x-kubernetes-validations) of their schemas, on every write.

Rules are compiled at their first use. Transition rules (oldSelf) need a comparable old value; without one, as on
create, they are skipped, except with `optionalOldSelf`. A failure in a part that an update leaves as it was becomes a
warning, so that a stricter rule does not block changes of other parts. Rules themselves are checked by `celcheck`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from clientgo.meta.constraints import cel_name
from clientgo.meta.jsonvalues import same
from clientgo_apiserver.api.limits import MAX_MESSAGE_BYTES, RULES_COST, CostLimitExceeded, OutOfBudget, cost_limit
from clientgo_apiserver.api.status import Cause, quoted
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.compiler import compile_expression
from clientgo_apiserver.cel.environment import Expression, InvalidExpression, field_type
from clientgo_apiserver.cel.values import NONE, CelError, OptionalValue
from clientgo_apiserver.crds.declarations import bound, declare
from clientgo_apiserver.crds.fieldpaths import InvalidPath, find_field
from clientgo_apiserver.crds.listtypes import counterparts
from clientgo_apiserver.crds.structural import (
    RULES,
    cached_by_identity,
    has_rules,
    has_whole_floats,
    join,
    member_schemas,
)

Schema = dict[str, Any]

_REASONS = {"FieldValueForbidden": "Forbidden", "FieldValueRequired": "Required value"}
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A compiled rule; `error` and `message_error` say why an expression is invalid."""

    spec: dict[str, Any]
    expression: Expression | None = None
    error: str = ""
    message: Expression | None = None
    message_error: str = ""

    @property
    def uses_old(self) -> bool:
        """True if the rule is about changes."""
        return self.expression is not None and "oldSelf" in self.expression.used

    @property
    def text(self) -> str:
        """Text of the rule in messages."""
        return str(self.spec.get("message") or self.spec["rule"]).strip()


def compile_rules(schema: Schema, *, root: bool = False) -> list[CompiledRule]:
    """Return the compiled rules of a schema, without those below it."""
    declared = declare(schema, "selfType", root=root)
    if declared is None:
        return []
    fields = partial(field_type, declared.structs())

    def compiled(spec: dict[str, Any]) -> CompiledRule:
        old = types.optional_of(declared.type) if spec.get("optionalOldSelf") else declared.type
        variables = {"self": declared.type, "oldSelf": old}
        try:
            expression = compile_expression(spec["rule"], variables, fields)
        except InvalidExpression as error:
            return CompiledRule(spec, error=f"compilation failed: {error}")
        if expression.result != types.BOOL:
            return CompiledRule(spec, error="cel expression must evaluate to a bool")
        if expression.constant_error:
            return CompiledRule(spec, error=f"program instantiation failed: {expression.constant_error}")
        if not spec.get("messageExpression"):
            return CompiledRule(spec, expression)
        try:
            message = compile_expression(spec["messageExpression"], variables, fields)
        except InvalidExpression as error:
            return CompiledRule(spec, expression, message_error=f"messageExpression compilation failed: {error}")
        if fault := _message_error(message):
            return CompiledRule(spec, expression, message_error=fault)
        return CompiledRule(spec, expression, message=message)

    return [compiled(spec) for spec in schema.get(RULES) or () if spec["rule"].strip()]


def _message_error(message: Expression) -> str:
    """Return the error of a messageExpression that compiles, or ""."""
    if message.result != types.STRING:
        return "messageExpression must evaluate to a string"
    reason = message.constant_error
    return f"messageExpression instantiation failed: {reason}" if reason else ""


@cached_by_identity
def _all_of(schema: Schema) -> list[Schema]:
    return [{**schema, RULES: part[RULES], "allOf": []} for part in schema.get("allOf") or () if part.get(RULES)]


@cached_by_identity
def _root_rules(schema: Schema) -> list[CompiledRule]:
    return compile_rules(schema, root=True)


_rules = cached_by_identity(compile_rules)


def cel_errors(
    schema: Schema | None, new: dict[str, Any], old: dict[str, Any] | None, warnings: list[str] | None = None
) -> list[Cause]:
    """Return an error for each rule that does not hold; failures of unchanged parts are added to `warnings`."""
    if schema is None or not has_rules(schema):
        return []
    walk = _Walk([] if warnings is None else warnings, floats=has_whole_floats(new))
    with cost_limit(RULES_COST):
        return list(walk.visit(schema, _Position("", new, _ABSENT if old is None else old, root=True)))


@dataclass(frozen=True, slots=True)
class _Position:
    """A value at a path with its old value; `bound` is the value as CEL sees it, if it is known already."""

    path: str
    new: Any
    old: Any
    bound: Any = _ABSENT
    bound_old: Any = _ABSENT
    unchanged: bool = False
    root: bool = False


class _Walk:
    def __init__(self, warnings: list[str], *, floats: bool) -> None:
        self._warnings = warnings
        self._floats = floats
        self._ended = False  # by an evaluation that was too expensive

    def visit(self, schema: Schema, position: _Position) -> Iterator[Cause]:
        """Yield the errors of a value and of what is below it."""
        if position.new is None or not has_rules(schema) or self._ended:
            return
        if position.old is not _ABSENT:
            position = _replaced(position, unchanged=same(position.new, position.old))
        if schema.get(RULES):
            old = position.old
            is_known = position.bound is not _ABSENT
            bound_new = position.bound if is_known else bound(schema, position.new, floats=self._floats)
            bound_old = _ABSENT if old is _ABSENT or old is None else bound(schema, old)
            position = _replaced(position, bound=bound_new, bound_old=bound_old)
            for rule in (_root_rules if position.root else _rules)(schema):
                yield from self._judge(schema, rule, position)
        for part in _all_of(schema) if "allOf" in schema else ():
            yield from self.visit(part, position)
        yield from self._below(schema, position)

    def _below(self, schema: Schema, position: _Position) -> Iterator[Cause]:
        if isinstance(position.new, dict):
            schema_of, properties = member_schemas(schema), schema.get("properties") or {}
            for field, child in position.new.items():
                below = schema_of(field)
                if below is None or not has_rules(below):
                    continue
                path = join(position.path, field) if field in properties else f"{position.path}[{field}]"
                old = position.old.get(field, _ABSENT) if isinstance(position.old, dict) else _ABSENT
                name = cel_name(field) if field in properties else field
                inner = position.bound.get(name, _ABSENT) if isinstance(position.bound, dict) else _ABSENT
                yield from self.visit(below, _Position(path, child, old, inner, unchanged=position.unchanged))
        elif isinstance(position.new, list) and isinstance(schema.get("items"), dict) and has_rules(schema["items"]):
            find = counterparts(schema, position.old)
            for index, child in enumerate(position.new):
                before = find(child)
                old = _ABSENT if before is None else before
                inner = position.bound[index] if isinstance(position.bound, list) else _ABSENT
                below_position = _Position(f"{position.path}[{index}]", child, old, inner, unchanged=position.unchanged)
                yield from self.visit(schema["items"], below_position)

    def _judge(self, schema: Schema, rule: CompiledRule, position: _Position) -> Iterator[Cause]:
        optional = bool(rule.spec.get("optionalOldSelf"))
        if self._ended or (rule.uses_old and position.bound_old is _ABSENT and not optional):
            return
        values = {"self": position.bound}
        if optional:
            values["oldSelf"] = NONE if position.bound_old is _ABSENT else OptionalValue((position.bound_old,))
        elif position.bound_old is not _ABSENT:
            values["oldSelf"] = position.bound_old
        if rule.expression is None:
            yield self._invalid(schema, position, f"rule compile error: {rule.error}")
            return
        try:
            holds = rule.expression.evaluate(values)
        except (CelError, CostLimitExceeded, OutOfBudget) as error:
            self._ended = not isinstance(error, CelError)
            yield self._invalid(schema, position, _evaluation_error(error, rule))
            return
        if holds is True:
            return
        if optional:  # Messages see the old value itself.
            values["oldSelf"] = None if position.bound_old is _ABSENT else position.bound_old
        cause = _failure(schema, rule, position, _message(rule, values))
        if position.unchanged and not rule.uses_old:
            self._warnings.append(cause.text)
        else:
            yield cause

    def _invalid(self, schema: Schema, position: _Position, detail: str) -> Cause:
        text = f"Invalid value: {quoted(schema.get('type', ''))}: {detail}"
        return Cause("FieldValueInvalid", position.path or "<nil>", text)


def _replaced(position: _Position, **changes: Any) -> _Position:
    fields = {name: getattr(position, name) for name in _Position.__slots__}
    return _Position(**{**fields, **changes})


def _evaluation_error(error: CelError | CostLimitExceeded | OutOfBudget, rule: CompiledRule) -> str:
    text = str(error)
    if isinstance(error, OutOfBudget):
        return text
    if isinstance(error, CostLimitExceeded):
        reason = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'{text}': {reason}: {rule.text}"
    if text.startswith("no such overload"):
        mismatch = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{text}': {mismatch}: {rule.text}"
    return f"{text} evaluating rule: {rule.text}"


def _message(rule: CompiledRule, values: dict[str, Any]) -> str:
    """Return the message of a rule that does not hold; a messageExpression that fails is ignored."""
    if rule.message is not None:
        try:
            text = str(rule.message.evaluate(values)).strip()
        except (CelError, CostLimitExceeded, OutOfBudget):
            text = ""
        if text and "\n" not in text and len(text.encode()) <= MAX_MESSAGE_BYTES:
            return text
    return rule.text if rule.spec.get("message") else f"failed rule: {rule.text}"


def _failure(schema: Schema, rule: CompiledRule, position: _Position, message: str) -> Cause:
    reason = rule.spec.get("reason") or "FieldValueInvalid"
    path = ".".join(filter(None, (position.path, normalized_path(schema, rule.spec.get("fieldPath") or "")))) or "<nil>"
    if reason in _REASONS:
        return Cause(reason, path, f"{_REASONS[reason]}: {message}")
    value = "" if schema.get("type") in ("object", "array") else quoted(position.new)
    if reason == "FieldValueDuplicate":
        return Cause(reason, path, f"Duplicate value{': ' if value else ''}{value}")
    return Cause(reason, path, f"Invalid value: {value + ': ' if value else ''}{message}")


def normalized_path(schema: Schema, path: str) -> str:
    """Return a rule's fieldPath as it appears in errors, "" if it is invalid."""
    try:
        names = find_field(schema, path)[0] if path else []
    except InvalidPath:
        return ""
    text = ""
    for name in names:
        properties = schema.get("properties")
        if properties is None:
            text, schema = f"{text}[{name}]", schema["additionalProperties"]
        else:
            text, schema = join(text, name), properties[name]
    return text
