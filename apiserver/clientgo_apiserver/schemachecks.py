"""Checks of patterns and defaults for generators of CustomResourceDefinitions: a `clientgo.servers.SchemaChecks`."""

from collections.abc import Iterator
from typing import Any

from clientgo_apiserver.apiextensions.schema import schema_errors
from clientgo_apiserver.apiextensions.structural import prune
from clientgo_apiserver.cel.functions.patterns import pattern_error as pattern_error

Schema = dict[str, Any]


def default_errors(schema: Schema, default: Any) -> Iterator[str]:
    """Yield the errors of a default by its structural schema: unknown fields, then invalid values."""
    wrapped, unknown = {"type": "object", "properties": {"default": schema}}, list[str]()
    prune(wrapped, {"default": default}, unknown)
    yield from (f"unknown field {path}" for path in unknown)
    yield from (f"{error.field}: {error.message}" for error in schema_errors(wrapped, {"default": default}))
