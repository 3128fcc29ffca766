"""Zero values that are sent: defaults of required lists and maps in generated types.

An encoder leaves out what equals a default it knows to be empty. What a schema requires must be there even when it is
empty, so its default is made by a function, which the encoder does not see through.
"""

from collections.abc import Mapping
from typing import Any

from clientgo.meta.objects import EMPTY_MAP


def no_items() -> tuple[Any, ...]:
    """An empty list, which is sent."""
    return ()


def no_entries() -> Mapping[str, Any]:
    """An empty map, which is sent."""
    return EMPTY_MAP
