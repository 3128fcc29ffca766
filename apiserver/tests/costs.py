"""Costs of code that do not depend on the machine and its load."""

import sys
from collections.abc import Callable
from types import CodeType, FrameType


def calls_of(run: Callable[[], object]) -> int:
    """Return the number of Python functions that a callable calls: work that no other load changes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def longest_call_of(code: CodeType, run: Callable[[], object]) -> int:
    """Return the number of Python functions that the longest call of `function` calls, which does not call itself."""
    calls = began = longest = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls, began, longest
        calls += event == "call"
        if frame.f_code is code:
            began = calls if event == "call" else began
            longest = max(longest, calls - began)

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return longest
