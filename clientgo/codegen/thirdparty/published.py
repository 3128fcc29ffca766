"""Somebody else's schemas as OpenAPI definitions: of each kind one, whole, as an API server publishes it of a CRD."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from clientgo.codegen.thirdparty.definitions import ForeignKind

MOST_TEXT = 3 * 1024 * 1024
"""Characters of a schema as JSON: an API server takes no request that is longer, and so no CRD."""

DEEPEST = 150
"""Levels of values inside of values; Python takes 200 brackets."""


class Unpublishable(ValueError):
    """The schema can't be a definition; the text says why."""


def published_schema(kind: ForeignKind) -> dict[str, Any]:
    """The schema of the kind's objects, of JSON's values alone; its metadata is whatever it is.

    Raises:
        Unpublishable: no API server can have it, or Python could not read it.
    """
    schema = _plain(kind.schema, DEEPEST)
    try:
        length = len(json.dumps(schema, allow_nan=False))
    except ValueError as error:
        raise Unpublishable("a number in it is not finite, or has thousands of digits") from error
    if length > MOST_TEXT:
        raise Unpublishable(f"it is longer than {MOST_TEXT:,} characters of JSON")
    made: dict[str, Any] = {**schema, "type": "object", "properties": {**schema.get("properties", {})}}
    return made


def _plain(value: Any, left: int) -> Any:
    """The value as JSON has it: YAML's dates are the texts they were."""
    if left == 0:
        raise Unpublishable(f"it nests more than {DEEPEST} levels")
    if isinstance(value, Mapping):
        return {_key(key): _plain(part, left - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, left - 1) for part in value]
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, str | int | float):
        return value
    raise Unpublishable(f"a value in it is of YAML's type {type(value).__name__}, which JSON has no word for")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Unpublishable("a name in it is no text")
    return key
