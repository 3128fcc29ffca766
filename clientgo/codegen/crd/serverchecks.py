"""Checks of patterns and defaults by the validation of the bundled API server.

Without `clientgo[embedded]` the generator checks neither; an API server does.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from clientgo.servers import NotInstalled, schema_checks

Schema = dict[str, Any]


def pattern_errors(pattern: str) -> Iterator[str]:
    """Yield the error of a pattern that is not in RE2 syntax."""
    with suppress(NotInstalled):
        if error := schema_checks().pattern_error(pattern):
            yield f"invalid pattern {pattern!r}: {error}: write RE2 syntax, or a CEL rule (rules=)"


def default_errors(schema: Schema, default: Any) -> Iterator[str]:
    """Yield what the API server has against a default."""
    with suppress(NotInstalled):
        errors = schema_checks().default_errors(schema, default)
        yield from (f"invalid default {default!r}: {error}" for error in errors)
