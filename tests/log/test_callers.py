"""Lines of the program that called the library."""

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from clientgo.log.callers import line_of_error, line_of_thread
from clientgo.reconcile.retry import retry_on_conflict
from clientgo.stop.lifecycle import Group

HERE = "tests/log/test_callers.py"


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


def test_line_in_another_package_is_only_used_if_the_program_has_none(tmp_path: Path) -> None:
    code = compile("def work(): raise ValueError", str(tmp_path / "site-packages" / "other.py"), "exec")
    names: dict[str, Callable[[], None]] = {}
    exec(code, {"__name__": "other"}, names)

    def call() -> None:
        names["work"]()

    assert line_of_error(raised(call)) == f"{HERE}:{first_line(call) + 1}"


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
