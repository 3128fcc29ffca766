"""Validation of the CEL expressions of admission policies, webhooks and devices; loaded with the first of them."""

import re
from collections.abc import Iterator

from clientgo.meta.constraints import CEL_RESERVED_WORDS
from clientgo_apiserver.api.limits import PER_CALL_LIMIT
from clientgo_apiserver.api.names import qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from clientgo_apiserver.cel.admission import BOOL, NULL, OBJECT, PATCHES, STRING, AdmissionScope, compile_condition
from clientgo_apiserver.cel.compiler import compile_expression
from clientgo_apiserver.cel.environment import InvalidExpression
from clientgo_apiserver.cel.functions.kubernetes import SEMVER
from clientgo_apiserver.cel.types import DYN, ExprType, parse_type
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule

Causes = Iterator[Cause]

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MOST_CONDITIONS, _MOST_ANNOTATIONS, _MOST_VALUE = 64, 20, 5 << 10
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_MAX_SELECTOR = 10 << 10
_DEVICE = parse_type("kubernetes.DRADevice")
_DEVICE_FIELDS = {
    "driver": (STRING, 63),
    "attributes": (parse_type("map<string, map<string, dyn>>"), 32),
    "capacity": (parse_type("map<string, map<string, kubernetes.Quantity>>"), 32),
    "allowMultipleAllocations": (BOOL, 1),
}
"""Types of the fields of a device, and their sizes at most."""

_MAX_ATTRIBUTE = 64
_PATCHES = {"JSONPatch": ("jsonPatch", PATCHES), "ApplyConfiguration": ("applyConfiguration", OBJECT)}


def composed_variables(spec: Object) -> tuple[tuple[str, ExprType], ...] | None:
    """Return the variables of a policy with their types; None if it has none. Invalid ones have any type."""
    variables: tuple[tuple[str, ExprType], ...] = ()
    for variable in spec.get("variables") or ():
        scope = AdmissionScope(params="paramKind" in spec, composed=variables)
        try:
            kind = compile_condition(variable.get("expression") or "", scope).result
        except InvalidExpression:
            kind = DYN
        variables = (*variables, (variable.get("name") or "", kind))
    return variables if "variables" in spec or "mutations" in spec else None


def _expression(field: str, source: str, scope: AdmissionScope, *results: ExprType) -> Causes:
    try:
        expression = compile_condition(source, scope, *results)
    except InvalidExpression as error:
        yield invalid_value(field, source, str(error))
        return
    if reason := expression.constant_error:
        yield Cause("InternalError", field, f"Internal error: program instantiation failed: {reason}")


@rule()
def match_conditions(spec: Object, _: FieldScope) -> Causes:
    """Check the names and expressions of conditions."""
    conditions = spec.get("matchConditions") or []
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many("matchConditions", len(conditions), _MOST_CONDITIONS)
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        field_path, name = f"matchConditions[{index}]", condition.get("name") or ""
        source = (condition.get("expression") or "").strip()
        if source:
            yield from _expression(f"{field_path}.expression", source, AdmissionScope(params="paramKind" in spec), BOOL)
        else:
            yield required(f"{field_path}.expression")
        if not name:
            yield required(f"{field_path}.name")
            continue
        yield from (invalid_value(f"{field_path}.name", name, reason) for reason in qualified_errors(name))
        if name in seen:
            yield duplicate(f"{field_path}.name", name)
        seen.append(name)


@rule()
def policy_variables(spec: Object, _: FieldScope) -> Causes:
    """Check the names and expressions of variables; each may use those before it."""
    types = composed_variables(spec) or ()
    for index, variable in enumerate(spec.get("variables") or ()):
        field_path, name, source = f"variables[{index}]", variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            yield required(f"{field_path}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in CEL_RESERVED_WORDS:
            yield invalid_value(f"{field_path}.name", name, "must be a valid CEL identifier")
        if not source.strip():
            yield required(f"{field_path}.expression", "expression is not specified")
        else:
            scope = AdmissionScope(params="paramKind" in spec, composed=types[:index])
            yield from _expression(f"{field_path}.expression", source, scope)


@rule()
def policy_validations(spec: Object, _: FieldScope) -> Causes:
    """Check the expressions and messages of validations."""
    params, composed = "paramKind" in spec, composed_variables(spec)
    for index, validation in enumerate(spec.get("validations") or ()):
        field_path, message = f"validations[{index}]", validation.get("message") or ""
        source = validation.get("expression") or ""
        if not source.strip():
            yield required(f"{field_path}.expression", "expression is not specified")
        else:
            yield from _expression(f"{field_path}.expression", source, AdmissionScope(params, composed=composed), BOOL)
        message_source = validation.get("messageExpression") or ""
        if message_source and not message_source.strip():
            yield invalid_value(f"{field_path}.messageExpression", message_source, "must be non-empty if specified")
        elif message_source:
            scope = AdmissionScope(params, authorizer=False, composed=composed)
            yield from _expression(f"{field_path}.messageExpression", message_source, scope, STRING)
        if message and not message.strip():
            yield invalid_value(f"{field_path}.message", message, "must be non-empty if specified")
        elif re.search(r"[\n\r]", message.strip()):
            yield invalid_value(f"{field_path}.message", message, "must not contain line breaks")
        if validation.get("reason", _REASONS[0]) not in _REASONS:
            yield not_supported(f"{field_path}.reason", validation["reason"], _REASONS)


@rule()
def audit_annotations(spec: Object, scope: FieldScope) -> Causes:
    """Check the keys and expressions of audit annotations."""
    annotations = spec.get("auditAnnotations") or []
    name = (scope.root.value.get("metadata") or {}).get("name") or ""
    if len(annotations) > _MOST_ANNOTATIONS:
        reason = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_value("auditAnnotations", annotations, reason)
    value_scope = AdmissionScope("paramKind" in spec, composed=composed_variables(spec))
    seen: list[str] = []
    for index, annotation in enumerate(annotations):
        field_path, key = f"auditAnnotations[{index}]", annotation.get("key") or ""
        source = annotation.get("valueExpression") or ""
        yield from (
            invalid_value(f"{field_path}.key", f"{name}/{key}", reason) for reason in qualified_errors(f"{name}/{key}")
        )
        if not source.strip():
            yield required(f"{field_path}.valueExpression", "valueExpression is not specified")
        elif len(source.strip().encode()) > _MOST_VALUE:
            yield required(f"{field_path}.valueExpression", f"must not exceed {_MOST_VALUE} bytes in length")
        else:
            yield from _expression(f"{field_path}.valueExpression", source.strip(), value_scope, STRING, NULL)
        if key in seen:
            yield duplicate(f"{field_path}.key", key)
        seen.append(key)


@rule()
def policy_mutations(spec: Object, _: FieldScope) -> Causes:
    """Check the patches of mutations."""
    scope = AdmissionScope("paramKind" in spec, patches=True, composed=composed_variables(spec))
    for index, mutation in enumerate(spec.get("mutations") or ()):
        field_path, kind = f"mutations[{index}]", mutation.get("patchType") or ""
        if not kind:
            yield required(f"{field_path}.patchType")
        elif kind not in _PATCHES:
            yield not_supported(f"{field_path}.patchType", kind, sorted(_PATCHES))
        else:
            field, result = _PATCHES[kind]
            other = next(name for name, _ in _PATCHES.values() if name != field)
            source = ((mutation.get(field) or {}).get("expression") or "").strip()
            if field not in mutation:
                yield required(f"{field_path}.{field}", f"must be specified when patchType is {kind}")
            elif source:
                yield from _expression(f"{field_path}.{field}.expression", source, scope, result)
            else:
                yield required(f"{field_path}.{field}.expression")
            if other in mutation:
                reason = f"must not be specified when patchType is {kind}"
                yield invalid_value(f"{field_path}.{other}", f"{{{other}}}", reason)


@rule()
def device_selector(value: Object, _: FieldScope) -> Causes:
    """Check an expression that selects devices."""
    source = value.get("expression") or ""
    if len(source.encode()) > _MAX_SELECTOR:
        yield too_long("expression", _MAX_SELECTOR)
        return
    try:
        expression = compile_expression(source, {"device": _DEVICE}, _device_field)
    except InvalidExpression as error:
        yield invalid_value("expression", source, f"compilation failed: {error}")
        return
    if expression.result not in (BOOL, DYN):
        reason = f"must evaluate to bool or the unknown type, not {expression.result}"
        yield invalid_value("expression", source, reason)
    elif expression.max_cost(_device_size) > PER_CALL_LIMIT:
        yield forbidden_field("expression", "too complex, exceeds cost limit")


def _device_field(struct: str, name: str) -> ExprType | None:
    kind, _ = _DEVICE_FIELDS.get(name, (None, 0))
    return kind if struct == _DEVICE.name else None


def _device_size(path: tuple[str, ...]) -> int | None:
    """Return the size of a value at most: of a device's field, a map of a domain, or an attribute."""
    sizes = [_DEVICE_FIELDS[name][1] for name in path[1:2] if name in _DEVICE_FIELDS]
    return sizes[0] if sizes and len(path) < 4 else _MAX_ATTRIBUTE


@rule()
def semantic_version(value: str, _: FieldScope) -> Causes:
    """Check the version of a device."""
    if SEMVER.fullmatch(value) is None:
        yield invalid_value("", value, "must be a string compatible with semver.org spec 2.0.0")
