"""Player of the conformance tests of the CEL specification, whose data lie outside of this repository.

`python -m apiserver.tests.cel.conformance FOLDER` plays the `*.textproto` files of a folder: `tests/simple/testdata` of
github.com/google/cel-spec. It prints the tests that fail, and counts those that Kubernetes' CEL cannot have: it has no
messages of protocol buffers, always checks types, and always has the macros.
"""

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from apiserver.tests.cel.textproto import read_message
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.compiler import compile_expression
from clientgo_apiserver.cel.environment import InvalidExpression
from clientgo_apiserver.cel.syntax import UInt
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError, equal, kind_of

Message = Mapping[str, list[Any]]

DIFFERENT = {
    "network_ext/ipv4/ipv4_equals_ipv6": "Kubernetes rejects IPv6 addresses that contain one of IPv4",
    "network_ext/ipv4/ipv4_not_equals_ipv6": "Kubernetes rejects IPv6 addresses that contain one of IPv4",
    "string_ext/format/": "Kubernetes has version 2 of the strings extension, whose formats differ",
    "string_ext/reverse/": "Kubernetes has version 2 of the strings extension, without reverse",
    "string_ext/value_errors/indexof_out_of_range": "cel-go returns -1",
    "namespace/namespace_shadowing/comprehension_shadowing_selector": "Kubernetes has no variables with dots",
    "timestamps/timestamp_conversions/toString_timestamp_nanos": "times have microseconds here",
    "timestamps/timestamp_range/add_duration_nanos_over": "times have microseconds here",
    "timestamps/timestamp_range/add_duration_nanos_under": "times have microseconds here",
}
"""Tests, or beginnings of their names, that have another outcome here, and why."""


class Unsupported(Exception):
    """A test of something that Kubernetes' CEL does not have; the message is the reason."""


class Outcome(NamedTuple):
    """Outcome of a test: `passed`, `failed` or `skipped`, and why."""

    status: str
    reason: str = ""


def play(test: Message) -> Outcome:
    """Play one test."""
    try:
        if any(test.get(name) for name in ("disable_check", "disable_macros", "unknown", "any_unknowns")):
            raise Unsupported("checks and macros cannot be disabled, and no value is unknown")
        if test.get("container"):
            raise Unsupported("containers of names")
        variables = dict(_declaration(declaration) for declaration in test.get("type_env", ()))
        values = {_text(entry["key"][0]): _expr_value(entry["value"][0]) for entry in test.get("bindings", ())}
        expected = _expectation(test)
    except Unsupported as error:
        return Outcome("skipped", str(error))
    return expected(_text(test["expr"][0]), variables, values)


Check = Callable[[str, Mapping[str, ExprType], dict[str, Any]], Outcome]


def _expectation(test: Message) -> Check:
    if "eval_error" in test or "any_eval_errors" in test:
        return _fails
    typed: Message = test["typed_result"][0] if "typed_result" in test else {}
    deduced = str(_type(typed["deduced_type"][0])) if "deduced_type" in typed else None
    if test.get("check_only"):
        return lambda source, variables, _: _has_type(source, variables, deduced)
    result = typed.get("result", test.get("value", [{"bool_value": [True]}]))
    value = _value(result[0]) if result else True
    return lambda source, variables, values: _evaluates_to(value, source, variables, values)


def _fails(source: str, variables: Mapping[str, ExprType], values: dict[str, Any]) -> Outcome:
    try:
        result = compile_expression(source, variables).evaluate(values)
    except (CelError, InvalidExpression):
        return Outcome("passed")
    return Outcome("failed", f"expected an error, got {result!r}")


def _has_type(source: str, variables: Mapping[str, ExprType], expected: str | None) -> Outcome:
    try:
        result = str(compile_expression(source, variables).result)
    except InvalidExpression as error:
        return _rejected(error)
    return Outcome("passed") if result == expected else Outcome("failed", f"expected type {expected}, got {result}")


def _evaluates_to(expected: Any, source: str, variables: Mapping[str, ExprType], values: dict[str, Any]) -> Outcome:
    try:
        result = compile_expression(source, variables).evaluate(values)
    except InvalidExpression as error:
        return _rejected(error)
    except CelError as error:
        return Outcome("failed", f"expected {expected!r}, got the error {error}")
    both_nan = isinstance(result, float) and isinstance(expected, float) and math.isnan(result) and math.isnan(expected)
    if both_nan or (kind_of(result) == kind_of(expected) and equal(result, expected)):
        return Outcome("passed")
    return Outcome("failed", f"expected {expected!r}, got {result!r}")


_MIXED = re.compile(r"expected type '.*' but found '")
_ABSENT = ("google.protobuf", "cel.expr", "TestAllTypes", "undeclared reference to 'google'", "proto2", "proto3")


def _rejected(error: InvalidExpression) -> Outcome:
    text = str(error)
    if any(name in text for name in _ABSENT):
        return Outcome("skipped", "messages of protocol buffers")
    if "undeclared reference" in text or "cel.iterVar" in text:
        return Outcome("skipped", "functions that Kubernetes does not enable")
    if _MIXED.search(text):
        return Outcome("skipped", "lists and maps of several types, which Kubernetes rejects")
    return Outcome("failed", text.replace("\n", " "))


def _declaration(declaration: Message) -> tuple[str, ExprType]:
    if "function" in declaration:
        raise Unsupported("functions that a test declares")
    return _text(declaration["name"][0]), _type(declaration["ident"][0]["type"][0])


_PRIMITIVES = {
    "BOOL": types.BOOL,
    "INT64": types.INT,
    "UINT64": types.UINT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "BYTES": types.BYTES,
}
_WELL_KNOWN = {"TIMESTAMP": types.TIMESTAMP, "DURATION": types.DURATION, "ANY": types.DYN}


def _type(message: Message) -> ExprType:
    ((name, (value, *_)),) = message.items()
    match name:
        case "primitive":
            return _PRIMITIVES[value]
        case "well_known":
            return _WELL_KNOWN[value]
        case "dyn":
            return types.DYN
        case "null":
            return types.NULL
        case "wrapper":
            return ExprType("wrapper", "", (_PRIMITIVES[value],))
        case "list_type":
            return types.list_of(_type(value["elem_type"][0]))
        case "map_type":
            return types.map_of(_type(value["key_type"][0]), _type(value["value_type"][0]))
        case "type":
            return ExprType("type", "type", (_type(value),) if value else ())
        case "abstract_type" if _text(value["name"][0]) == "optional_type":
            return types.optional_of(_type(value["parameter_types"][0]))
    raise Unsupported("messages of protocol buffers")


def _expr_value(message: Message) -> Any:
    return _value(message["value"][0])


def _value(message: Message) -> Any:
    ((name, (value, *_)),) = message.items()
    if name in _SCALARS:
        return _SCALARS[name](value)
    match name:
        case "list_value":
            return [_value(item) for item in value.get("values", ())]
        case "map_value":
            return {_value(entry["key"][0]): _value(entry["value"][0]) for entry in value.get("entries", ())}
        case "object_value":
            return _object(value)
        case "type_value":
            return compile_expression(_TYPE_NAMES.get(_text(value), _text(value)), {}).evaluate({})
    raise Unsupported(f"values such as {name}")


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "null_value": lambda _: None,
    "bool_value": bool,
    "int64_value": int,
    "uint64_value": UInt,
    "double_value": float,
    "string_value": bytes.decode,
    "bytes_value": bytes,
}
_TYPE_NAMES = {
    "google.protobuf.Timestamp": "type(timestamp('2024-01-01T00:00:00Z'))",
    "google.protobuf.Duration": "type(duration('1s'))",
    "optional_type": "type(optional.none())",
}


def _object(message: Message) -> Any:
    ((url, (members, *_)),) = message.items()
    seconds, nanos = members.get("seconds", [0])[0], members.get("nanos", [0])[0]
    match url.strip("[]").rpartition("/")[2]:
        case "google.protobuf.Duration":
            return timedelta(seconds=seconds, microseconds=nanos / 1000)
        case "google.protobuf.Timestamp":
            return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos / 1000)
    raise Unsupported("messages of protocol buffers")


def _text(value: bytes) -> str:
    return value.decode()


def main() -> int:
    """Play the tests of a folder; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with *.textproto files")
    counts, reasons = Counter[str](), Counter[str]()
    for path in sorted(parser.parse_args().folder.glob("*.textproto")):
        for section in read_message(path.read_text(encoding="utf-8")).get("section", ()):
            for test in section.get("test", ()):
                outcome = play(test)
                name = "/".join([path.stem, _text(section["name"][0]), _text(test["name"][0])])
                different = next((reason for prefix, reason in DIFFERENT.items() if name.startswith(prefix)), "")
                if outcome.status == "failed" and different:
                    outcome = Outcome("skipped", different)
                counts[outcome.status] += 1
                if outcome.status == "failed":
                    print(f"{name}: {_text(test['expr'][0])}: {outcome.reason}")
                elif outcome.status == "skipped":
                    reasons[outcome.reason] += 1
    for reason, count in reasons.most_common():
        print(f"{count} skipped: {reason}")
    print(", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "skipped")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
