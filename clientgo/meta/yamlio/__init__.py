"""YAML as kubectl reads it, and as every reader reads it back."""

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

__all__ = [
    "InvalidYAML", "TooDeepYAML", "TooLargeYAML", "iterate_yaml", "read_document", "read_yaml",
    "MAX_DEPTH", "MAX_VALUES", "to_yaml", "to_scalar",
]  # fmt: skip
