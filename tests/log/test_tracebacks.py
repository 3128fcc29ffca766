"""Comparison of tracebacks."""

from collections.abc import Callable
from functools import partial

import pytest

from clientgo.log.tracebacks import traceback_id
from tests.log.test_callers import raised


def fail(text: str, cause: Exception | None = None) -> None:
    raise ValueError(text) from cause


def fail_elsewhere(text: str) -> None:
    raise ValueError(text)


@pytest.mark.parametrize(
    "other", [lambda: fail_elsewhere("a"), lambda: fail("a", KeyError("x"))], ids=["other line", "with a cause"]
)
def test_tracebacks_differ_by_their_lines_and_causes(other: Callable[[], None]) -> None:
    assert traceback_id(raised(partial(fail, "a"))) != traceback_id(raised(other))


def test_tracebacks_are_equal_whatever_the_messages() -> None:
    errors = [raised(partial(fail, text)) for text in ("a", "b", 'File "/tmp/1", line 1', "two\nlines: c", "")]
    errors[1].add_note("a note")
    assert len({traceback_id(error) for error in errors}) == 1


def test_groups_of_different_errors_have_different_tracebacks() -> None:
    groups = [ExceptionGroup("several", [error]) for error in (KeyError("x"), ValueError("x"), ValueError("y"))]
    assert [traceback_id(item) == traceback_id(groups[2]) for item in groups] == [False, True, True]
