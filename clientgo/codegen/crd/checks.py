"""Validation of a CRD's schemas, paths and rules, with the errors that the API server would report.

It follows the validation of apiextensions.k8s.io/v1. `inputs.apichecks` validates names, `constraints` the constraints
of a single field.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

from clientgo.codegen.crd.celcost import CRD_LIMIT, RULE_LIMIT, cel_type, cost_of, is_choice
from clientgo.codegen.crd.rules import UNCHANGING
from clientgo.codegen.crd.serverchecks import EACH, schema_errors
from clientgo.codegen.inputs.apitypes import OwnKind
from clientgo.codegen.inputs.fields import members
from clientgo.codegen.problems import Problems
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.classes.hints import unwrap
from clientgo.meta.constraints import cel_name

Schema = dict[str, Any]
SchemaPath = tuple[str, ...]

_ROOT_WITH_STATUS = frozenset({
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items", "properties",
    "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
})  # fmt: skip
_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_SELECTABLE = ("string", "boolean", "integer")
_MOST_SELECTABLE = 8
_REASONS = ("FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate")
# Also without the closing quote: a search for one that is missing would begin again at each escaped quote.
_STRINGS = re.compile(r"'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?")
_OLD = re.compile(r"\boldSelf\b")
_HAS = re.compile(r"has\(self\.(\w+)\)")
_STEP = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")
_UNSET = re.compile(r"!has\(oldSelf\.(\w+)\) \|\| has\(self\.\1\)")
"""Rule beside `immutable` of an optional field; errors of both are reported once."""


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """A message about the schema at a path."""

    path: SchemaPath
    message: str


@dataclass(frozen=True, slots=True)
class _Place:
    path: SchemaPath = ()
    times: int | None = 1
    """Limit of the number of values at this place; None if unlimited."""
    unlimited: tuple[SchemaPath, ...] = ()
    """Enclosing lists and maps without a limit."""
    unordered: SchemaPath | None = None
    """Enclosing list whose items have no identity."""


def check_version(kind: OwnKind, schema: Schema, problems: Problems) -> None:
    """Report errors in one version of a CRD.

    The bundled API server is asked only if nothing is wrong so far: it would report most errors again.
    """
    messages = (*_at_root(schema, status=kind.kind.api.status), *_paths(kind, schema))
    faults = [*(SchemaProblem((), message) for message in messages), *_walked(schema)]
    if not faults and not problems:
        faults = [SchemaProblem(*error) for error in schema_errors(kind.kind.api, schema)]
    for fault in faults:
        cls, field = _class_at(kind.cls, fault.path)
        if field:
            problems.at_field(cls, field, fault.message)
        else:
            problems.at_class(cls, f"{cls.__name__}: {fault.message}")


def _class_at(cls: type[Any], path: SchemaPath) -> tuple[type[Any], str]:
    """Return the class and field at a path, or the last of the user's classes on the way."""
    result: tuple[type[Any], str] = (cls, "")
    hint: Any = cls
    for part in path:
        bare = unwrap(hint)[0]
        if part == EACH:
            hint = next((arg for arg in reversed(get_args(bare)) if arg is not ...), None)
            continue
        candidates = members(bare) if isinstance(bare, type) and not is_built_in(bare) else ()
        member = next((candidate for candidate in candidates if candidate.json_name == part), None)
        if member is None:
            break
        result, hint = (bare, member.name), member.hint
    return result


def _format_path(path: SchemaPath) -> str:
    return "".join(part if part == EACH else f".{part}" for part in path)


def _at_root(schema: Schema, *, status: bool) -> Iterator[str]:
    forbidden = sorted(key for key in schema.keys() - _ROOT_WITH_STATUS if schema[key] is not False)
    if schema.get("type") != "object" or schema.get("nullable"):
        yield "a whole object must have the type object, and cannot be null"
    elif status and forbidden:
        yield f"{', '.join(forbidden)} cannot be set for a whole object with a status: constrain a field instead"


def _walked(schema: Schema) -> Iterator[SchemaProblem]:
    total = 0
    waiting = [(schema, _Place())]
    while waiting:
        current, position = waiting.pop()
        yield from _structure(current, position)
        if rules := current.get("x-kubernetes-validations"):
            faults, cost = _ruled(current, rules, position)
            yield from faults
            total += cost
        waiting += _children(current, position)
    if total > CRD_LIMIT:
        most = f"the rules cost {total / CRD_LIMIT:.1f} times what the API server allows for a version:"
        yield SchemaProblem(
            (), f"{most} limit lists, maps and texts with rules (max_items, max_properties, max_length)"
        )


def _children(schema: Schema, position: _Place) -> Iterator[tuple[Schema, _Place]]:
    for name, part in schema.get("properties", {}).items():
        yield part, replace(position, path=(*position.path, name))
    for key, limit in (("items", "maxItems"), ("additionalProperties", "maxProperties")):
        part = schema.get(key)
        if not isinstance(part, dict):
            continue
        most = schema.get(limit)
        times = None if position.times is None or most is None else position.times * most
        unlimited = position.unlimited if most is not None else (*position.unlimited, position.path)
        unordered = position.unordered
        if unordered is None and key == "items" and schema.get("x-kubernetes-list-type") != "map":
            unordered = position.path
        yield part, _Place((*position.path, EACH), times, unlimited, unordered)


def _structure(schema: Schema, position: _Place) -> Iterator[SchemaProblem]:
    kind, preserving = schema.get("type"), schema.get("x-kubernetes-preserve-unknown-fields")
    if kind is not None and kind not in _TYPES:
        yield SchemaProblem(position.path, f"invalid type {kind!r}: expected one of {', '.join(_TYPES)}")
    if kind is None and position.path and not preserving and not schema.get("x-kubernetes-int-or-string"):
        yield SchemaProblem(
            position.path, "a field must have a type: give Meta(type=...), or Meta(preserve_unknown=True)"
        )
    if kind == "array" and "items" not in schema:
        yield SchemaProblem(position.path, "a list must say what its items are: write tuple[X, ...]")
    if schema.get("x-kubernetes-int-or-string") and preserving:
        yield SchemaProblem(position.path, "int_or_string and preserve_unknown exclude each other: leave one out")
    if schema.get("x-kubernetes-embedded-resource") and kind == "object":
        yield from _embedded(schema, position)


def _embedded(schema: Schema, position: _Place) -> Iterator[SchemaProblem]:
    properties = schema.get("properties", {})
    if "additionalProperties" in schema or not (properties or schema.get("x-kubernetes-preserve-unknown-fields")):
        yield SchemaProblem(
            position.path, "an embedded resource has fields or keeps unknown ones: write Mapping[str, Any]"
        )
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        if properties.get(name, {}).get("type", kind) != kind:
            yield SchemaProblem(
                (*position.path, name), f"the {name} of an embedded resource must be of the type {kind}"
            )


def _ruled(schema: Schema, rules: list[Schema], position: _Place) -> tuple[list[SchemaProblem], int]:
    """Return the errors in the rules of a schema, and their cost."""
    bounds = cel_type(schema)
    if bounds is None:
        message = "rules and immutable need a typed value, and Any has no type: write a type, or Mapping[str, Any]"
        return [SchemaProblem(position.path, message)], 0
    faults, total = [], 0
    for entry in rules:
        rule = str(entry["rule"])
        faults += [
            SchemaProblem(position.path, f"invalid rule {rule!r}: {message}") for message in _rule(schema, entry)
        ]
        uses_old = _OLD.search(_STRINGS.sub("''", rule)) is not None
        if uses_old and position.unordered is not None and not _UNSET.fullmatch(rule):
            faults.append(SchemaProblem(position.path, _uncorrelated(rule, position)))
            continue
        cost = cost_of(rule, bounds, times=position.times)
        if cost > RULE_LIMIT:
            faults.append(SchemaProblem(position.path, _expensive(rule, cost, schema, position)))
        total += cost
    return faults, total if not faults else 0


def _uncorrelated(rule: str, position: _Place) -> str:
    what = "immutable" if rule == UNCHANGING.rule else f"oldSelf in the rule {rule!r}"
    list_path = _format_path(position.unordered or ())
    return (
        f"{what} cannot be checked at {_format_path(position.path)}, because items of {list_path} have no identity: "
        f"give {list_path} list_type='map' with list_map_keys=, or put the constraint on the whole list"
    )


def _expensive(rule: str, cost: int, schema: Schema, position: _Place) -> str:
    what = "immutable" if rule == UNCHANGING.rule else f"the rule {rule!r}"
    limits = [f"max_items or max_properties of {_format_path(path)}" for path in position.unlimited]
    if schema.get("type") == "string" and not schema.keys() & {"maxLength", "enum"}:
        limits.append(f"max_length of {_format_path(position.path)}")
    if schema.get("type") in ("array", "object") and not schema.keys() & {"maxItems", "maxProperties", "properties"}:
        limits.append(f"max_items or max_properties of {_format_path(position.path)}")
    fix = f"set {' and '.join(limits)}" if limits else "lower the limits of the lists, maps and texts around it"
    factor = f"{cost / RULE_LIMIT:.1f}" if cost < 100 * RULE_LIMIT else "more than 100"
    return f"{what} costs {factor} times what the API server allows at {_format_path(position.path)}: {fix}"


def _rule(schema: Schema, entry: Schema) -> Iterator[str]:
    rule, message = entry["rule"], entry.get("message", "")
    if not rule.strip():
        yield "it is empty: write a CEL expression"
    if message and (not message.strip() or "\n" in message.strip() or "\r" in message.strip()):
        yield "its message must be one line of text"
    if "\n" in rule.strip() and not message.strip():
        yield "a rule of several lines must have a message"
    if entry.get("messageExpression", "x").strip() == "":
        yield "its message_expression is blank"
    if entry.get("reason", _REASONS[0]) not in _REASONS:
        yield f"invalid reason {entry['reason']!r}: expected one of {', '.join(_REASONS)}"
    if "fieldPath" in entry and _schema_at(schema, entry["fieldPath"]) is None:
        yield f"its field_path {entry['fieldPath']!r} not found: expected the path of a field such as .spec.replicas"
    if "optionalOldSelf" in entry and not _OLD.search(_STRINGS.sub("''", rule)):
        yield "optional_old_self is for rules that use oldSelf"
    if is_choice(rule):
        # A missing type of an immutable field is reported at the field.
        typed = _UNSET.fullmatch(rule) is None
        fields = {name: part for name, part in schema.get("properties", {}).items() if name.isascii()}
        usable = {cel_name(name) for name, part in fields.items() if not typed or cel_type(part) is not None}
        for name in sorted(set(_HAS.findall(rule)) - usable):
            yield f"CEL cannot see the field {name}: its name must be ASCII, and its type known (not Any)"


def _schema_at(schema: Schema, path: str) -> Schema | None:
    """Return the schema at a JSON path, or None."""
    if not re.fullmatch(rf"(?:{_STEP.pattern})+", path):
        return None
    current: Schema | None = schema
    for name, quoted in _STEP.findall(path):
        part = name or quoted
        properties = current.get("properties") if current is not None else None
        current = properties.get(part) if properties is not None else (current or {}).get("additionalProperties")
    return current


def _paths(kind: OwnKind, schema: Schema) -> Iterator[str]:
    api, selectable = kind.kind.api, kind.kind.api.selectable_fields
    paths = [*(column.json_path for column in api.columns), *selectable]
    if api.scale is not None:
        paths += [path for path in (api.scale.spec_path, api.scale.status_path, api.scale.selector_path) if path]
    for path in paths:
        if missing := _missing(schema, path):
            yield f"path not found: {path} ({kind.cls.__name__} has no {missing})"
    if len(set(selectable)) > _MOST_SELECTABLE:
        yield f"{len(set(selectable))} selectable fields: at most {_MOST_SELECTABLE} are allowed"
    for path in selectable:
        if selectable.count(path) > 1:
            yield f"invalid selectable field {path!r}: it is named twice"
        if problem := _not_selectable(schema, path):
            yield f"invalid selectable field {path!r}: {problem}"


def _not_selectable(schema: Schema, path: str) -> str:
    if path.startswith(".metadata"):
        return "fields of metadata are not allowed: .metadata.name and .metadata.namespace are selectable anyway"
    if "[" in path:
        return "items of lists are not selectable: name a field of type str, bool or int"
    kind = (_schema_at(schema, path) or {}).get("type", "of no single type")
    if kind in _SELECTABLE or _missing(schema, path):
        return ""
    return f"the field is {kind}: name a field of type str, bool or int"


def _missing(schema: Schema, path: str) -> str:
    """Return the unknown part of a plain path such as `.spec.replicas`; other paths are not validated."""
    current = schema
    for part in path.removeprefix(".").split("."):
        properties = current.get("properties")
        if properties is None or not part.isidentifier():
            return ""
        if part not in properties:
            return part
        current = properties[part]
    return ""
