"""CEL rules (x-kubernetes-validations) of structural schemas, evaluated by Google's engine.

Only this module uses the engine. Values have dynamic types, so a rule with a misspelled field fails when it is
evaluated, not when the definition is created. Of Kubernetes' extension libraries, the list, regex and `is...` functions
are supported; a rule that needs another (quantity arithmetic, URL parts) is rejected with its definition. A field of
format date-time is a string: `timestamp(self.at)` works as on a real server, comparing `self.at` itself does not.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from cel_expr_python import cel  # type: ignore[import-untyped, unused-ignore]
from cel_expr_python.ext import (  # type: ignore[import-untyped, unused-ignore]
    ext_bindings,
    ext_math,
    ext_optional,
    ext_strings,
)

from clientgo.apiserver.apiextensions.structural import cached_by_identity, cel_name, join, member_schemas, subschemas
from clientgo.apiserver.http.status import Cause

Schema = dict[str, Any]

RULES = "x-kubernetes-validations"
_OLD = re.compile(r"\boldSelf\b")
_QUANTITY = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
_VALUES, _CONDITION, _MATCHED = ("self", "oldSelf"), ("object", "oldObject", "request"), ("pattern", "text")
_SPECIAL = re.compile(r"\\|\(\?|\[:|\{,|&&|--|\|\||~~")
_DOLLAR = re.compile(r"(\[\^?\]?[^\]]*\])|\$")
_MATCHES = "text.matches(pattern)"
_REASONS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}
# Words of Go where those of RE2 in C++ differ.
_GO_ERRORS = {
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
}


def cel_errors(schema: Schema | None, new: dict[str, Any], old: dict[str, Any] | None) -> list[Cause]:
    """Return an error for each rule that does not hold; rules with `oldSelf` apply only to updates."""
    if schema is None or not _has_rules(schema):
        return []
    return list(_walk(schema, new, old, ""))


def compile_error(rule: str, names: tuple[str, ...] = _VALUES) -> str:
    """Return the compilation error of a rule with these variables, or ""."""
    try:
        _compiled(rule, names)
    except RuntimeError as error:
        why = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
        return f"compilation failed: {why}"
    return ""


def condition_error(expression: str) -> str:
    """Return the compilation error of a webhook's matchCondition, or ""."""
    return compile_error(expression, _CONDITION)


def matches(pattern: str, text: str) -> bool:
    """Return whether an RE2 pattern, as in schemas, matches anywhere in the text; an invalid one matches nothing."""
    simple = _simple_pattern(pattern)
    if simple is not None:
        return simple.search(text) is not None
    result = _compiled(_MATCHES, _MATCHED).eval(data={"pattern": pattern, "text": text})
    return result.type() != cel.Type.ERROR and bool(result.plain_value())


@lru_cache(maxsize=1024)
def _simple_pattern(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern that Python understands as RE2 does, which takes a twentieth of the time; None for others."""
    if _SPECIAL.search(pattern) or pattern_error(pattern):
        return None
    # Python's $ also matches before a newline at the end; within brackets it is a character.
    return re.compile(_DOLLAR.sub(lambda found: found[1] or r"\Z", pattern))


def pattern_error(pattern: str) -> str:
    """Return why a pattern is not in RE2 syntax, in the words of Go's regexp package, or ""."""
    result = _compiled(_MATCHES, _MATCHED).eval(data={"pattern": pattern, "text": ""})
    if result.type() != cel.Type.ERROR:
        return ""
    why, _, part = str(result.value()).partition("invalid regular expression: ")[2].rpartition(": ")
    if part.startswith("(?<"):
        return f"error parsing regexp: invalid named capture: `{pattern[pattern.index(part) :]}`"
    return f"error parsing regexp: {_GO_ERRORS.get(why, why)}: `{part}`"


def condition(expression: str, values: dict[str, Any]) -> tuple[bool, str]:
    """Return whether a webhook's matchCondition holds, or the error of its evaluation.

    The values are `object`, `oldObject` and `request`; `authorizer` is not supported.
    """
    try:
        result = _compiled(expression, _CONDITION).eval(data=values)
    except RuntimeError as error:
        return False, f"compilation failed: {error}"
    if result.type() == cel.Type.ERROR:
        return False, _reworded(str(result.value()))
    return bool(result.plain_value()), ""


def _walk(schema: Schema, new: Any, old: Any, path: str) -> Iterator[Cause]:
    for rule in schema.get(RULES) or ():
        yield from _judge(schema, rule, (new, old), path)
    if isinstance(new, dict):
        known = member_schemas(schema)
        for field, child in new.items():
            below = known(field)
            if below is not None and _has_rules(below):
                before = old.get(field) if isinstance(old, dict) else None
                yield from _walk(below, child, before, join(path, field))
    elif isinstance(new, list) and isinstance(schema.get("items"), dict) and _has_rules(schema["items"]):
        for index, child in enumerate(new):
            yield from _walk(schema["items"], child, _counterpart(schema, child, old), f"{path}[{index}]")


def _counterpart(schema: Schema, item: Any, old: Any) -> Any:
    """Return the old item with the same key; only lists of type map have one."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return None
    return next((one for one in old if all(one.get(key) == item.get(key) for key in keys)), None)


def _judge(schema: Schema, rule: dict[str, Any], values: tuple[Any, Any], path: str) -> Iterator[Cause]:
    text = rule["rule"]
    new, old = values
    if old is None and _OLD.search(text) and not rule.get("optionalOldSelf"):
        return
    bound = {"self": _bound(schema, new), "oldSelf": _bound(schema, old)}
    result = _compiled(text).eval(data=bound)
    where = path + (rule.get("fieldPath") or "")
    if result.type() == cel.Type.ERROR:
        why = f"{_reworded(str(result.value()))} evaluating rule: {rule.get('message') or text}"
        yield Cause("FieldValueInvalid", where.lstrip("."), f"Invalid value: {why}")
    elif not result.plain_value():
        yield _cause(rule, where.lstrip("."), _message(rule, bound))


def _message(rule: dict[str, Any], bound: dict[str, Any]) -> str:
    expression = rule.get("messageExpression")
    if expression:
        result = _compiled(expression).eval(data=bound)
        if result.type() == cel.Type.STRING and str(result.plain_value()).strip():
            return str(result.plain_value())
    return str(rule.get("message") or f"failed rule: {rule['rule'].strip()}")


def _cause(rule: dict[str, Any], path: str, message: str) -> Cause:
    reason = rule.get("reason") or "FieldValueInvalid"
    return Cause(reason, path, f"{_REASONS.get(reason, 'Invalid value')}: {message}")


def _reworded(error: str) -> str:
    return re.sub(r'.*Key not found in map : "([^"]*)".*', r"no such key: \1", error, flags=re.DOTALL)


@cached_by_identity
def _has_rules(schema: Schema) -> bool:
    """Return whether the schema or anything below it has rules."""
    return bool(schema.get(RULES)) or any(map(_has_rules, subschemas(schema)))


def _bound(schema: Schema, value: Any) -> Any:
    """Return a value as CEL sees it: field names are identifiers. Times stay strings."""
    if isinstance(value, dict):
        properties, known = schema.get("properties") or {}, member_schemas(schema)
        return {
            cel_name(field) if field in properties else field: _bound(known(field) or {}, child)
            for field, child in value.items()
        }
    if isinstance(value, list):
        items = schema.get("items")
        return [_bound(items if isinstance(items, dict) else {}, child) for child in value]
    return value


@lru_cache(maxsize=1024)
def _compiled(expression: str, names: tuple[str, ...] = _VALUES) -> Any:
    return _environment(names).compile(expression)


@cache
def _environment(names: tuple[str, ...]) -> Any:
    extensions = [
        *(ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_bindings.ExtBindings(), ext_math.ExtMath()),
        cel.CelExtension("kubernetes", [_declared(*row) for row in _FUNCTIONS]),
    ]
    return cel.NewEnv(variables=dict.fromkeys(names, cel.Type.DYN), extensions=extensions)


def _declared(name: str, result: str, parameters: str, implementation: Callable[..., Any], member: bool) -> Any:
    types = [getattr(cel.Type, one) for one in parameters.split()]
    overload = cel.Overload(
        id=f"kubernetes_{name}_{len(types)}",
        return_type=getattr(cel.Type, result),
        parameters=types,
        is_member=member,
        impl=implementation,
    )
    return cel.FunctionDecl(name, [overload])


def _found(text: str, pattern: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(pattern.replace(r"\z", r"\Z"), text, re.ASCII))


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) or text.startswith("/")


def _parses(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return check


_FUNCTIONS: tuple[tuple[str, str, str, Callable[..., Any], bool], ...] = (
    ("find", "STRING", "STRING STRING", lambda text, pattern: next(_found(text, pattern), ""), True),
    ("findAll", "LIST", "STRING STRING", lambda text, pattern: list(_found(text, pattern)), True),
    ("isSorted", "BOOL", "LIST", lambda items: list(items) == sorted(items), True),
    ("sum", "DYN", "LIST", lambda items: sum(items), True),
    ("min", "DYN", "LIST", lambda items: min(items), True),
    ("max", "DYN", "LIST", lambda items: max(items), True),
    ("isURL", "BOOL", "STRING", _is_url, False),
    ("isIP", "BOOL", "STRING", _parses(ipaddress.ip_address), False),
    ("isCIDR", "BOOL", "STRING", _parses(ipaddress.ip_interface), False),
    ("isQuantity", "BOOL", "STRING", lambda text: _QUANTITY.fullmatch(text) is not None, False),
)
