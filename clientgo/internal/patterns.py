"""Regular expressions that are compiled at their first use, because compiling one takes up to two million instructions.

For patterns that most programs do not use, or not before their first request.
"""

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, attribute)  # so that Python does not call this again
        return attribute


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a stand-in for `re.compile(pattern, flags)`: an invalid pattern raises `re.error` at its first use."""
    return cast(re.Pattern[AnyStr], _LazyPattern(pattern, flags))


SURROGATE = lazy_pattern("[\ud800-\udfff]")
"""A code point that UTF-8 cannot encode."""
