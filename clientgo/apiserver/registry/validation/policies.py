"""Validation of admission policies: their rules and expressions."""

import re
from collections.abc import Iterator

from clientgo.apiserver.cel.admission import BOOL, NULL, OBJECT, PATCHES, STRING, AdmissionScope, compile_condition
from clientgo.apiserver.cel.environment import InvalidExpression
from clientgo.apiserver.cel.types import DYN, ExprType
from clientgo.apiserver.http.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from clientgo.apiserver.registry.names import label_1035_errors, qualified_errors, subdomain_errors
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.validation.scopes import FieldScope, on_absent

Causes = Iterator[Cause]

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and"
    " headers serves no purpose)"
)
_MOST_CONDITIONS, _MOST_ANNOTATIONS, _MOST_VALUE = 64, 20, 5 << 10
_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_PATCHES = {"JSONPatch": ("jsonPatch", PATCHES), "ApplyConfiguration": ("applyConfiguration", OBJECT)}


def composed_variables(spec: Object) -> tuple[tuple[str, ExprType], ...] | None:
    """Return the variables of a policy with their types; None if it has none. Invalid ones have any type."""
    found: tuple[tuple[str, ExprType], ...] = ()
    for variable in spec.get("variables") or ():
        scope = AdmissionScope(params="paramKind" in spec, composed=found)
        try:
            kind = compile_condition(variable.get("expression") or "", scope).result
        except InvalidExpression:
            kind = DYN
        found = (*found, (variable.get("name") or "", kind))
    return found if "variables" in spec or "mutations" in spec else None


def _expression(field: str, source: str, scope: AdmissionScope, *results: ExprType) -> Causes:
    try:
        compile_condition(source, scope, *results)
    except InvalidExpression as error:
        yield invalid_value(field, source, str(error))


def match_conditions(spec: Object, _: FieldScope) -> Causes:
    """Check the names and expressions of conditions."""
    conditions = spec.get("matchConditions") or []
    if len(conditions) > _MOST_CONDITIONS:
        yield too_many("matchConditions", len(conditions), _MOST_CONDITIONS)
    seen: list[str] = []
    for index, one in enumerate(conditions):
        where, name, source = f"matchConditions[{index}]", one.get("name") or "", (one.get("expression") or "").strip()
        if source:
            yield from _expression(f"{where}.expression", source, AdmissionScope(params="paramKind" in spec), BOOL)
        else:
            yield required(f"{where}.expression")
        if not name:
            yield required(f"{where}.name")
            continue
        yield from (invalid_value(f"{where}.name", name, why) for why in qualified_errors(name))
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.append(name)


def policy_variables(spec: Object, _: FieldScope) -> Causes:
    """Check the names and expressions of variables; each may use those before it."""
    types = composed_variables(spec) or ()
    for index, one in enumerate(spec.get("variables") or ()):
        where, name, source = f"variables[{index}]", one.get("name") or "", one.get("expression") or ""
        if not name.strip():
            yield required(f"{where}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
            yield invalid_value(f"{where}.name", name, "must be a valid CEL identifier")
        if not source.strip():
            yield required(f"{where}.expression", "expression is not specified")
        else:
            scope = AdmissionScope(params="paramKind" in spec, composed=types[:index])
            yield from _expression(f"{where}.expression", source, scope)


def policy_validations(spec: Object, _: FieldScope) -> Causes:
    """Check the expressions and messages of validations."""
    params, composed = "paramKind" in spec, composed_variables(spec)
    for index, one in enumerate(spec.get("validations") or ()):
        where, source, message = f"validations[{index}]", one.get("expression") or "", one.get("message") or ""
        if not source.strip():
            yield required(f"{where}.expression", "expression is not specified")
        else:
            yield from _expression(f"{where}.expression", source, AdmissionScope(params, composed=composed), BOOL)
        told = one.get("messageExpression") or ""
        if told and not told.strip():
            yield invalid_value(f"{where}.messageExpression", told, "must be non-empty if specified")
        elif told:
            scope = AdmissionScope(params, authorizer=False, composed=composed)
            yield from _expression(f"{where}.messageExpression", told, scope, STRING)
        if message and not message.strip():
            yield invalid_value(f"{where}.message", message, "must be non-empty if specified")
        elif re.search(r"[\n\r]", message.strip()):
            yield invalid_value(f"{where}.message", message, "must not contain line breaks")
        if one.get("reason", _REASONS[0]) not in _REASONS:
            yield not_supported(f"{where}.reason", one["reason"], _REASONS)


def audit_annotations(spec: Object, scope: FieldScope) -> Causes:
    """Check the keys and expressions of audit annotations."""
    annotations = spec.get("auditAnnotations") or []
    name = (scope.root.value.get("metadata") or {}).get("name") or ""
    if len(annotations) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_value("auditAnnotations", annotations, why)
    known = AdmissionScope("paramKind" in spec, composed=composed_variables(spec))
    seen: list[str] = []
    for index, one in enumerate(annotations):
        where, key, source = f"auditAnnotations[{index}]", one.get("key") or "", one.get("valueExpression") or ""
        yield from (invalid_value(f"{where}.key", f"{name}/{key}", why) for why in qualified_errors(f"{name}/{key}"))
        if not source.strip():
            yield required(f"{where}.valueExpression", "valueExpression is not specified")
        elif len(source.strip().encode()) > _MOST_VALUE:
            yield required(f"{where}.valueExpression", f"must not exceed {_MOST_VALUE} bytes in length")
        else:
            yield from _expression(f"{where}.valueExpression", source.strip(), known, STRING, NULL)
        if key in seen:
            yield duplicate(f"{where}.key", key)
        seen.append(key)


def policy_mutations(spec: Object, _: FieldScope) -> Causes:
    """Check the patches of mutations."""
    scope = AdmissionScope("paramKind" in spec, patches=True, composed=composed_variables(spec))
    for index, one in enumerate(spec.get("mutations") or ()):
        where, kind = f"mutations[{index}]", one.get("patchType") or ""
        if not kind:
            yield required(f"{where}.patchType")
        elif kind not in _PATCHES:
            yield not_supported(f"{where}.patchType", kind, sorted(_PATCHES))
        else:
            field, result = _PATCHES[kind]
            other = next(name for name, _ in _PATCHES.values() if name != field)
            source = ((one.get(field) or {}).get("expression") or "").strip()
            if field not in one:
                yield required(f"{where}.{field}", f"must be specified when patchType is {kind}")
            elif source:
                yield from _expression(f"{where}.{field}.expression", source, scope, result)
            else:
                yield required(f"{where}.{field}.expression")
            if other in one:
                told = f"must not be specified when patchType is {kind}"
                yield invalid_value(f"{where}.{other}", f"{{{other}}}", told)


@on_absent
def validation_actions(actions: list[str] | None, _: FieldScope) -> Causes:
    """Check the actions of a binding."""
    for index, action in enumerate(actions or ()):
        if action not in _ACTIONS:
            yield not_supported(f"[{index}]", action, _ACTIONS)
        if action in (actions or ())[:index]:
            yield duplicate(f"[{index}]", action)
    if {"Deny", "Warn"} <= set(actions or ()):
        yield invalid_value("", actions, _BOTH)
    if not actions:
        yield required("", "at least one validation action is required")


def exclusive_name(reference: Object, _: FieldScope) -> Causes:
    """Reject a name of parameters beside a selector."""
    if reference.get("name") and reference.get("selector") is not None:
        yield forbidden_field("name", "name and selector are mutually exclusive")


def one_reference(reference: Object, _: FieldScope) -> Causes:
    """Require the name or the selector of parameters."""
    if not reference.get("name") and reference.get("selector") is None:
        yield required("", "one of name or selector must be specified")


def param_version(value: str, _: FieldScope) -> Causes:
    """Check the group and version of parameters."""
    if not value:
        return
    if value.count("/") > 1:
        yield invalid_value("", value, f"unexpected GroupVersion string: {value}")
        return
    group, _slash, version = value.rpartition("/")
    errors = subdomain_errors(group) if group else []
    if errors:
        yield invalid_value("", group, ",".join(errors))
    if not version:
        yield invalid_value("", value, "version must be specified")
    elif errors := label_1035_errors(version):
        yield invalid_value("", version, ",".join(errors))


def param_kind(value: str, _: FieldScope) -> Causes:
    """Check the kind of parameters."""
    if value and (errors := label_1035_errors(value.lower())):
        yield invalid_value("", value, f"may have mixed case, but should otherwise match: {','.join(errors)}")


def operation_rule(rule: Object, _: FieldScope) -> Causes:
    """Check the operations and resources of a rule, of a policy or a webhook."""
    operations = rule.get("operations") or []
    if not operations:
        yield required("operations")
    yield from _alone(operations, "operations", "operations")
    for index, one in enumerate(operations):
        if one not in _OPERATIONS:
            yield not_supported(f"operations[{index}]", one, _OPERATIONS)
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        if not rule.get(field):
            yield required(field)
        yield from _alone(rule.get(field) or [], field, what)
    for index, one in enumerate(rule.get("apiVersions") or ()):
        if not one:
            yield required(f"apiVersions[{index}]")
    yield from _resource_errors(rule.get("resources") or [])
    if rule.get("scope", "*") not in _SCOPES:
        yield not_supported("scope", rule["scope"], _SCOPES)


def _alone(values: list[str], field: str, what: str) -> Causes:
    if len(values) > 1 and "*" in values:
        yield invalid_value(field, values, f"if '*' is present, must not specify other {what}")


def _resource_errors(resources: list[str]) -> Causes:
    if not resources:
        yield required("resources")
    yield from _covered_errors(resources)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value("resources", resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any(one and one != "*" and "/" not in one for one in resources):
        told = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value("resources", resources, told)


def _covered_errors(resources: list[str]) -> Causes:
    all_parts: set[str] = set()
    all_resources: set[str] = set()
    for index, one in enumerate(resources):
        where, (plural, slash, part) = f"resources[{index}]", one.partition("/")
        if not one:
            yield required(where)
        if not slash:
            continue
        if plural in all_parts:
            yield invalid_value(where, one, f"if '{plural}/*' is present, must not specify {one}")
        if part in all_resources:
            yield invalid_value(where, one, f"if '*/{part}' is present, must not specify {one}")
        if part == "*":
            all_parts.add(plural)
        if plural == "*":
            all_resources.add(part)
