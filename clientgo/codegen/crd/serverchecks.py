"""Checks of patterns and defaults by the validation of the bundled API server.

Its engine (RE2) is part of `clientgo[embedded]`. Without it the generator checks neither; an API server does.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Schema = dict[str, Any]


def pattern_errors(pattern: str) -> Iterator[str]:
    """Yield the error of a pattern that is not in RE2 syntax."""
    with suppress(ModuleNotFoundError):
        # Loaded here, 15 ms, because most classes have neither patterns nor defaults.
        from clientgo_apiserver.cel.functions.patterns import pattern_error  # noqa: PLC0415

        if error := pattern_error(pattern):
            yield f"invalid pattern {pattern!r}: {error}: write RE2 syntax, or a CEL rule (rules=)"


def default_errors(schema: Schema, default: Any) -> Iterator[str]:
    """Yield what the API server has against a default."""
    with suppress(ModuleNotFoundError):
        from clientgo_apiserver.apiextensions.schema import schema_errors  # noqa: PLC0415  # loaded here, as above
        from clientgo_apiserver.apiextensions.structural import prune  # noqa: PLC0415

        wrapped, unknown = {"type": "object", "properties": {"default": schema}}, list[str]()
        prune(wrapped, {"default": default}, unknown)
        faults = [f"unknown field {path}" for path in unknown]
        faults += [f"{fault.field}: {fault.message}" for fault in schema_errors(wrapped, {"default": default})]
        yield from (f"invalid default {default!r}: {why}" for why in faults)
