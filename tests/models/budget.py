"""Effort of searches: a sample in `make test`, all of it in `make test-all` (--hypothesis-profile=full)."""

from hypothesis import settings

FULL, QUICK = 100, 30
"""Examples of a property without a number of its own, by profile."""


def examples(full: int) -> int:
    """Return the number of examples of a search that has so many in full."""
    return full if settings.default is not None and settings.default.max_examples >= FULL else full * QUICK // FULL
