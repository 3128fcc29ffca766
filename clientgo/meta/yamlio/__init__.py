"""YAML as kubectl reads it, and as every reader reads it back. The parser is loaded with the first name used."""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.meta.yamlio.reading import (
        MAX_DEPTH,
        MAX_VALUES,
        InvalidYAML,
        TooDeepYAML,
        TooLargeYAML,
        iterate_yaml,
        read_document,
        read_yaml,
    )
    from clientgo.meta.yamlio.writing import to_scalar, to_yaml
else:
    __getattr__ = on_demand(
        __name__,
        {
            "reading": "InvalidYAML TooDeepYAML TooLargeYAML iterate_yaml read_document read_yaml MAX_DEPTH MAX_VALUES",
            "writing": "to_scalar to_yaml",
        },
    )

__all__ = [
    "InvalidYAML", "TooDeepYAML", "TooLargeYAML", "iterate_yaml", "read_document", "read_yaml",
    "MAX_DEPTH", "MAX_VALUES", "to_yaml", "to_scalar",
]  # fmt: skip
