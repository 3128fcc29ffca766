"""Log levels, context fields and the rate limit of repeated lines."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo import log
from clientgo.clock import SYSTEM_CLOCK
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock

to = logging.getLogger("clientgo.fields")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    log.setup(stream=(stream := io.StringIO()), style="json")
    yield stream
    logging.getLogger("clientgo.fields.deeper").setLevel(logging.NOTSET)


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    """The lines so far, without what every line has."""
    common = {"ts", "level", "v", "logger", "caller", "thread"}
    return [
        {key: value for key, value in json.loads(line).items() if key not in common}
        for line in stream.getvalue().splitlines()
    ]


def test_every_line_of_a_block_has_its_fields(stream: io.StringIO) -> None:
    with log.context(namespace="default", name="x", kind="Foo", reconcile_id="1"):
        to.info("ours")
        logging.getLogger("other.library").warning("theirs")
    to.info("outside")
    about = {"namespace": "default", "name": "x", "kind": "Foo", "reconcile_id": "1"}
    assert entries(stream) == [{"msg": "ours", **about}, {"msg": "theirs", **about}, {"msg": "outside"}]


def test_inner_fields_extend_outer_ones_and_the_call_overrides_them(stream: io.StringIO) -> None:
    with log.context(a=1, b=1, c=1):
        with log.context(b=2, c=None):
            to.info("in", extra={"a": 3})
        to.info("out")
    assert entries(stream) == [{"msg": "in", "a": 3, "b": 2}, {"msg": "out", "a": 1, "b": 1, "c": 1}]


def test_exception_removes_the_fields_of_its_block(stream: io.StringIO) -> None:
    with pytest.raises(RuntimeError), log.context(a=1):
        raise RuntimeError
    to.info("after")
    assert entries(stream) == [{"msg": "after"}]


def test_fields_belong_to_one_thread(stream: io.StringIO) -> None:
    with log.context(a=1), Group() as group:
        group.start(lambda: to.info("elsewhere"), name="other")
    assert entries(stream) == [{"msg": "elsewhere"}]


def test_context_without_log_lines_is_cheap() -> None:
    def many() -> float:
        began = SYSTEM_CLOCK.now()
        for _ in range(2000):
            with log.context(namespace="default", name="x", kind="Foo", reconcile_id="1"):
                pass
        return (SYSTEM_CLOCK.now() - began) / 2000

    # 0.8 microseconds where it was measured; the margin is for machines that do something else meanwhile.
    assert min(many() for _ in range(20)) < 10e-6


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(0, "info"), (3, "info"), (4, "debug"), (10, "debug"), ("4", "debug"), ("2", "info"), (" Warning ", "warning")],
)
def test_level_is_a_name_or_klogs_verbosity(stream: io.StringIO, arguments: str | int, name: str) -> None:
    log.set_level(arguments)
    assert log.current_level() == name
    to.debug("detail")
    assert (entries(stream) == [{"msg": "detail"}]) is (name == "debug")


@pytest.mark.parametrize("arguments", ["", "loud", "-1", "4.5", "٤", -1])
def test_unknown_level_is_rejected_without_a_change(stream: io.StringIO, arguments: str | int) -> None:
    with pytest.raises(ValueError, match="unknown log"):
        log.set_level(arguments)
    assert log.current_level() == "info"


def test_one_logger_may_have_another_level(stream: io.StringIO) -> None:
    log.set_level("debug", logger="clientgo.fields.deeper")
    to.debug("left out")
    logging.getLogger("clientgo.fields.deeper.still").debug("shown")
    assert [entry["msg"] for entry in entries(stream)] == ["shown"]
    assert (log.current_level(), log.current_level(logger="clientgo.fields.deeper.still")) == ("info", "debug")


def test_repeated_line_is_due_after_the_period_with_the_number_left_out() -> None:
    clock = FakeClock()
    repeats = log.Repeats(60, clock=clock)
    assert [repeats.due("a", "why") for _ in range(3)] == [0, None, None]
    clock.step(59)
    assert repeats.due("a", "why") is None
    assert repeats.last("a") == (59, 3)
    clock.step(1)
    assert [repeats.due("a", "why") for _ in range(2)] == [3, None]
    repeats.forget("a")
    assert repeats.due("a", "why") == 0
    assert repr(repeats) == "<Repeats every 60 s, 1 remembered>"


def test_repeated_line_is_due_at_once_for_another_reason() -> None:
    repeats = log.Repeats(60, clock=FakeClock())
    assert [repeats.due("a", reason) for reason in ("why", "why", "another why", "another why")] == [0, None, 1, None]


def test_least_recently_used_subject_is_evicted() -> None:
    repeats = log.Repeats(60, size=2, clock=FakeClock())
    assert [repeats.due(subject) for subject in ("a", "b", "a", "c", "a", "b")] == [0, 0, None, 0, None, 0]
