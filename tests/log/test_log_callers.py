"""Lines of the program that called the library."""

import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from clientgo.lifecycle import Group
from clientgo.log.callers import causes_of, line_of_error, line_of_thread, traceback_id
from clientgo.retry import retry_on_conflict

HERE = "tests/log/test_log_callers.py"


def raised(function: Callable[[], object]) -> Exception:
    try:
        function()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("not raised")


def first_line(function: Callable[[], object]) -> int:
    return function.__code__.co_firstlineno


def test_error_within_the_library_or_the_standard_library_came_from_its_caller() -> None:
    def parse() -> None:
        json.loads("{")

    def call() -> None:
        retry_on_conflict(parse)

    assert line_of_error(raised(call)) == f"{HERE}:{first_line(parse) + 1}"


def test_error_without_a_line_of_the_program_has_none() -> None:
    assert line_of_error(ValueError("never raised")) == ""


def test_file_outside_the_folders_of_python_is_shown_in_full(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    code = compile("raise ValueError", str(file), "exec")
    assert line_of_error(raised(lambda: exec(code, {"__name__": "script"}))) == f"{file}:1"
    assert str(tmp_path) not in sys.path


def test_running_thread_has_a_line() -> None:
    stop, threads = threading.Event(), list[int]()
    begun = threading.Event()

    def work() -> None:
        threads.append(threading.get_ident())
        begun.set()
        stop.wait(10.0)

    with Group() as group:
        group.start(work, name="worker")
        assert begun.wait(10.0)
        line = line_of_thread(threads[0])
        stop.set()
    assert line in {f"{HERE}:{first_line(work) + number}" for number in (2, 3)}
    assert line_of_thread(0) == ""


def fail(text: str, cause: Exception | None = None) -> None:
    raise ValueError(text) from cause


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (lambda: fail("a"), lambda: fail("b"), False),
        (lambda: fail("a"), lambda: fail("a", KeyError("x")), False),
    ],
    ids=["other caller", "with a cause"],
)
def test_tracebacks_are_equal_only_with_the_same_lines_and_causes(
    first: Callable[[], None], second: Callable[[], None], equal: bool
) -> None:
    assert (traceback_id(raised(first)) == traceback_id(raised(second))) is equal


def test_tracebacks_are_equal_for_another_message() -> None:
    errors = [raised(partial(fail, text)) for text in "ab"]
    assert traceback_id(errors[0]) == traceback_id(errors[1])


def test_groups_of_different_errors_have_different_tracebacks() -> None:
    groups = [ExceptionGroup("several", [error]) for error in (KeyError("x"), ValueError("x"), ValueError("y"))]
    assert [traceback_id(one) == traceback_id(groups[2]) for one in groups] == [False, True, True]


def test_causes_end_in_a_cycle() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__context__ = second, first
    assert causes_of(first)[:2] == [first, second]
    assert len(causes_of(first)) <= 20
