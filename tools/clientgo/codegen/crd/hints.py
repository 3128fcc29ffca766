"""Messages of an API server about CustomResourceDefinitions, in the terms of classes and with the fix."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from clientgo.meta.classes.hints import snake

Schema = dict[str, Any]
SchemaPath = tuple[str, ...]

EACH = "[*]"
"""Path element for the items of a list and the values of a map."""

_STEPS = r"(?:\.properties\[[^]]*+\]|\.items\b|\.additionalProperties\b)*+"
SCHEMA = re.compile(rf"spec\.(?:versions\[(\d+)\]\.schema|validation)\.openAPIV3Schema({_STEPS})\.?")
"""Path of a schema: the index of its version, if the versions have different ones, and the steps in it."""

_STEP = re.compile(r"\.properties\[([^]]*+)\]?+|\.items|\.additionalProperties")
_RULE_INDEX = re.compile(r"x-kubernetes-validations(?:\[\d+\]\.)?")
_EXTENSION = re.compile(r"x-kubernetes-(?!validations)[a-z]++(?:-[a-z]++)*+")
_WORD = re.compile(r"\[[^]]*+\]?+|[A-Za-z-]++")
_COLLECTION = re.compile(r"(?:items|additionalProperties)$")
_OPTION = re.compile(r"(?:metadata|spec)\.(?:versions\[\d+\]\.)?(?:names\.|subresources\.)?")
_SOURCE = re.compile(r"\n \|[^\n]*+")
"""Line of a CEL error that repeats the rule, or points into it."""

_OWN_NAMES = {
    "preserve_unknown_fields": "preserve_unknown",
    "additional_printer_columns": "columns",
    "spec_replicas_path": "spec_path",
    "status_replicas_path": "status_path",
    "label_selector_path": "selector_path",
    "webhook_client_config.": "",
    "conversion_review_versions": "review_versions",
}
"""Names of classes and `@api_type` for keywords of schemas and fields of definitions, in snake case."""

_VALUE, _LONGEST_VALUE = "Invalid value: ", 200
_ADVICE = " (try simplifying"
"""Beginning of the server's advice about costs, in the terms of schemas."""

_COST = "contributed to estimated rule cost"
_LIMITS = (("items", "maxItems"), ("additionalProperties", "maxProperties"))
_ALL_LIMITS = "or lower max_items, max_properties and max_length of the lists, maps and texts in the rule and around it"
_HINTS = {
    "on the uncorrelatable portion": "give the list list_type='map' with list_map_keys=, or constrain the whole list",
    "failed to construct type information": "write a type, or Mapping[str, Any]: rules and immutable do not see Any",
    "undefined field": "rules see fields with an ASCII name and a type, not Any",
    "cannot be nullable": "remove | None",
    "as item of a list with": "use scalar items, or list_type='map' with list_map_keys=, or list_type='atomic'",
    "valid regular expression": "write RE2 syntax, or a CEL rule (rules=)",
    "must not be empty for specified": "give Meta(type=...), or Meta(preserve_unknown=True)",
    ".items: Required value": "write tuple[X, ...]",
    "x-kubernetes-embedded-resource": "write Mapping[str, Any]",
    "uniqueItems": "use list_type='set'",
    "must be a valid path": "write the path of a field, such as .spec.replicas",
    "fields are allowed at the root": "constrain a field instead",
    "webhookClientConfig.service.name": "give service_name= and service_namespace=",  # servers confuse the two
    "illegal base64": "give the ca_bundle of the conversion in base64",
    "[api-approved.kubernetes.io]": "use another group, or"
    ' annotations=(("api-approved.kubernetes.io", "unapproved, experimental-only"),)',
}
"""Hints by a part of the field and message."""


def path_of(steps: str) -> SchemaPath:
    """Return the path of steps such as `.properties[spec].items`."""
    return tuple(step[1] or EACH for step in _STEP.finditer(steps))


def explained(field: str, message: str, schema: Schema) -> str:
    """Return the error of a field in its own terms, with a hint if there is one; `schema` is that of the version."""
    at = SCHEMA.match(field)
    keyword = field[at.end() :] if at else _OPTION.sub("", field, count=1)
    option = _RULE_INDEX.sub("", keyword) if keyword else "".join(_COLLECTION.findall(field))
    text = f"{_named(option)}: {_in_own_terms(message)}".removeprefix(": ")
    if _COST in message or _ADVICE in message:
        missing = " and ".join(_missing_limits(schema, path_of(at[2]) if at else ()))
        return f"{text}: set {missing or _ALL_LIMITS}"
    if option.startswith("default"):
        return f"{text}: give the field a default that its schema admits, or none"
    hint = next((hint for part, hint in _HINTS.items() if part in f"{field}: {message}"), "")
    return f"{text}: {hint}" if hint else text


def _in_own_terms(message: str) -> str:
    """Return a message without the schemas that it repeats, and with the names of `Meta`."""
    if message.startswith(f"{_VALUE}{{"):
        with suppress(ValueError):
            value, end = json.JSONDecoder().raw_decode(message, len(_VALUE))
            if "Rule" in value or end > _LONGEST_VALUE:
                message = f"{_VALUE}{json.dumps(value.get('Rule', '...'))}{message[end:]}"
    message = _SOURCE.sub("", message.partition(_ADVICE)[0])
    message = SCHEMA.sub(lambda match: _dotted(path_of(match[2])), message)
    return _EXTENSION.sub(lambda word: _named(word[0]), message)


def _named(keyword: str) -> str:
    """Return the name in Python of a keyword or of a path of options."""
    name = _WORD.sub(
        lambda word: word[0] if word[0][0] == "[" else snake(word[0].replace("-", "_")),
        keyword.removeprefix("x-kubernetes-"),
    )
    for long, short in _OWN_NAMES.items():
        name = name.replace(long, short)
    return name


def _missing_limits(schema: Schema, path: SchemaPath) -> Iterator[str]:
    """Yield the limits that are missing on the way to a schema, and of its own values."""
    for end in range(len(path) + 1):
        for key, limit in _LIMITS:
            if isinstance(schema.get(key), dict) and limit not in schema:
                yield f"{snake(limit)} of {_dotted(path[:end])}"
        if end < len(path):
            below = schema.get("properties", {}).get(path[end]) or schema.get("items")
            schema = below or schema["additionalProperties"]
    if schema.get("type") == "string" and not schema.keys() & {"maxLength", "enum"}:
        yield f"max_length of {_dotted(path)}"


def _dotted(path: SchemaPath) -> str:
    return "".join(part if part == EACH else f".{part}" for part in path)
