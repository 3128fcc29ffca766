"""Deadlines of public functions: the table in docs/deadlines.md is complete, and a test holds each row."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`([\w.]+)`")

NOT_PUBLIC = ("aio", "rest/connections", "streams/websockets.py",
              "streams/channels.py", "streams/copying.py", "rest/flowcontrol.py", "rest/limits.py",
              "rest/watchstream.py", "rest/client.py", "rest/transport.py", "rest/retry.py",
              "stop/eventloop.py", "record/broadcaster.py", "leaderelection",
              "typed/create.py", "cache/state.py", "manager/runnables.py")  # fmt: skip
"""Internal steps of functions in the table."""

JOIN = "tests/stop/test_lifecycle.py::test_thread_that_does_not_end_is_named"
STREAMS = "tests/streams/test_deadlines.py::test_function_ends_by_its_timeout"

HELD_BY = {
    "RESTClient.do": "tests/rest/test_deadlines.py::test_body_that_arrives_slowly_ends_at_the_deadline",
    "PodExpansion.exec": STREAMS,
    "PodExpansion.attach": STREAMS,
    "PodExpansion.port_forward": STREAMS,
    "PodExpansion.run": STREAMS,
    "PodExpansion.copy_to": STREAMS,
    "PodExpansion.copy_from": STREAMS,
    "RemoteProcess.read": STREAMS,
    "RemoteProcess.communicate": STREAMS,
    "until": "tests/cache/test_until.py::test_timeout_before_the_last_condition_is_interrupted",
    "until_without_retry": "tests/cache/test_until.py::test_timeout_before_the_last_condition_is_interrupted",
    "until_with_sync": "tests/cache/test_until.py::test_cache_that_never_syncs_ends_with_the_timeout",
    "wait_for": "tests/dynamic/test_waiting.py::test_timeout_shows_conditions_and_events",
    "Client.wait": "tests/dynamic/test_waiting.py::test_timeout_shows_conditions_and_events",
    "InformerFactory.wait_for_cache_sync": (
        "tests/cache/test_state.py::test_missing_caches_are_named_after_the_timeout"
    ),
    "InformerFactory.wait_for_sync_result": (
        "tests/cache/test_state.py::test_missing_caches_are_named_after_the_timeout"
    ),
    "InformerFactory.shutdown": JOIN,
    "Cache.shutdown": JOIN,
    "Group.join": JOIN,
    "finished": "tests/manager/test_async.py::test_coroutine_ends_in_a_thread_without_a_group_too",
    "Listener.remove": "tests/cache/test_listener.py::test_remove_waits_for_the_current_call_if_requested",
    "ControllerOptions.cache_sync_timeout": (
        "tests/manager/test_sourcestart.py::test_source_that_does_not_sync_in_time_is_named"
    ),
    "ControllerOptions.reconciliation_timeout": (
        "tests/manager/test_requesters.py::test_reconciliation_timeout_is_counted_and_retried"
    ),
}


def _rows() -> set[str]:
    """Return the functions and options in the table's first column."""
    table = (ROOT / "docs/deadlines.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in NAME.findall(cell)}


def _functions_with_a_timeout() -> Iterator[str]:
    for path in sorted((ROOT / "clientgo").rglob("*.py")):
        inside = path.relative_to(ROOT / "clientgo").as_posix()
        if not inside.startswith(NOT_PUBLIC) and "def " in (text := path.read_text(encoding="utf-8")):
            for node in ast.parse(text).body:
                for function in node.body if isinstance(node, ast.ClassDef) else [node]:
                    names = [each.name for each in (node, function) if hasattr(each, "name")]
                    if isinstance(function, ast.FunctionDef) and not any(name.startswith("_") for name in names):
                        arguments = [*function.args.args, *function.args.kwonlyargs]
                        if any(argument.arg == "timeout" for argument in arguments):
                            prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
                            yield prefix + function.name


def test_table_has_each_public_function_with_a_timeout() -> None:
    assert set(_functions_with_a_timeout()) - _rows() == set()


def test_each_row_is_held_by_a_test() -> None:
    assert _rows() == set(HELD_BY)
    for test in HELD_BY.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), test
