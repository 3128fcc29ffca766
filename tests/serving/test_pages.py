"""Debug pages: stacks, log level, statusz and flagz."""

import io
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clientgo.cache.state import InformerState
from clientgo.serving import ServingRequest
from clientgo.serving.introspection import queue_route, stacks_route
from clientgo.serving.stacks import dump_stacks, stacks
from clientgo.serving.zpages import flagz_route, log_level_route, statusz_route
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import WorkQueue
from tests.serving.serving_client import ask, serving

GET = ServingRequest("GET", "/")


def wait_here(begun: threading.Event, stop: threading.Event) -> None:
    password = "canary"  # what stands in variables must not be shown
    begun.set()
    assert stop.wait(10), password


@pytest.fixture
def worker() -> Iterator[None]:
    """Run a named thread that hangs."""
    begun = threading.Event()
    with Group().ending_within(20) as group:
        group.start(wait_here, begun, group.stop_event, name="A-worker")
        assert begun.wait(10)
        yield


@pytest.mark.usefixtures("worker")
def test_the_stack_of_each_thread_is_shown_by_name_and_without_values() -> None:
    text = stacks()
    assert text.startswith('"MainThread" ')
    [hanging] = [part for part in text.split("\n\n") if part.startswith('"A-worker" ')]
    assert "in wait_here\n    assert stop.wait(10), password\n" in hanging
    assert "canary" not in text


@pytest.mark.usefixtures("worker")
def test_stacks_are_dumped_in_one_piece() -> None:
    dump_stacks(stream := io.StringIO())
    assert stream.getvalue().startswith("--- stacks of ")
    assert '"A-worker" ' in stream.getvalue()
    assert stream.getvalue().endswith("\n--- end of stacks\n")


def test_stacks_are_dumped_beside_what_a_file_has_in_its_buffer(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as stream:
        stream.write("half a line")
        dump_stacks(stream)
        assert "--- end of stacks\n" in (tmp_path / "out").read_text()


def test_dump_to_a_closed_pipe_is_harmless() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as stream:  # noqa: PTH123  # a descriptor
        dump_stacks(stream)


@pytest.mark.integration
def test_stacks_are_served() -> None:
    with serving({"/debug/stacks": stacks_route()}, name="debug") as server:
        body = ask(server, "/debug/stacks").body
    assert '"debug-1" ' in body
    assert '"debug-accept" ' in body


@pytest.fixture
def level() -> Iterator[None]:
    """Restore the root logger's level."""
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    yield
    logging.getLogger().setLevel(before)


@pytest.mark.integration
@pytest.mark.usefixtures("level")
@pytest.mark.parametrize(("body", "name"), [(b"4", "debug"), (b"error\n", "error"), (b"0", "info")])
def test_the_log_level_is_changed_while_the_program_runs(body: bytes, name: str) -> None:
    with serving({"/debug/flags/v": log_level_route()}) as server:
        assert ask(server, "/debug/flags/v").body == "info\n"
        response = ask(server, "/debug/flags/v", method="PUT", body=body)
        assert (response.status, response.body) == (200, f"successfully set the log level to {name}\n")
        assert ask(server, "/debug/flags/v").body == f"{name}\n"
    assert logging.getLogger().level == getattr(logging, name.upper())


@pytest.mark.integration
@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("body", [b"loud", b"", b"-1", b"\xff", b"4 4"])
def test_unknown_level_is_rejected(body: bytes) -> None:
    with serving({"/debug/flags/v": log_level_route()}) as server:
        response = ask(server, "/debug/flags/v", method="PUT", body=body)
        assert response.status == 400
        assert response.body.startswith("unknown log ")
        assert ask(server, "/debug/flags/v").body == "info\n"


class Informer:
    def state(self) -> InformerState:
        return InformerState("foos", "Foo", True, 3, "42", 1, 2, 0, None, None, "")


def test_statusz_shows_program_and_state() -> None:
    clock = FakeClock()
    queue: WorkQueue[str] = WorkQueue(name="foos", clock=clock)
    for key in "ab":
        queue.add(key)
    route = statusz_route(
        "sample-controller",
        version="1.2.3",
        informers=[Informer()],
        queues=[queue],
        paths=lambda: ["/readyz", "/healthz"],
        facts={"Leader": lambda: True, "Shard": lambda: ""},
        clock=clock,
    )
    clock.step(2 * 3600 + 3 * 60 + 4)
    text = str(route(GET).body)
    queue.shut_down()
    assert text.startswith("\nsample-controller statusz\nWarning: ")
    for line in ("Up: 2 hr 03 min 04 sec", "Binary version: 1.2.3", "Leader: True", "Paths: /healthz /readyz"):
        assert f"\n{line}\n" in text
    assert "\nStarted: " in text
    assert "\nPython version: 3." in text
    assert "Shard" not in text, "a fact of which nothing is to be said"
    assert "\n\nNAME   KIND   SYNCED   OBJECTS" in text
    assert text.endswith(
        "\n\nQUEUE   QUEUED   PROCESSING   WAITING   RETRIED\nfoos    2        0            0         0\n"
    )


def test_fact_and_key_that_cannot_be_shown_leave_the_others_on_the_pages() -> None:
    class Silent:
        def __str__(self) -> str:
            raise SystemExit("no text")

    queue: WorkQueue[object] = WorkQueue(name="foos", clock=FakeClock())
    for key in (Silent(), "b"):
        queue.add(key)
    gone: dict[str, str] = {}
    facts: dict[str, Callable[[], object]] = {"Broken": Silent, "Leader": lambda: True, "Gone": lambda: gone["x"]}
    text = str(statusz_route("x", version="1", facts=facts, clock=FakeClock())(GET).body)
    assert "\nBroken: unknown: SystemExit: no text\nLeader: True\nGone: unknown: KeyError: 'x'\n" in text
    keys = json.loads(queue_route([queue])(GET).body)["queues"][0]["queued"]
    assert [item["key"] for item in keys] == ["<Silent that cannot be shown>", "b"]
    queue.shut_down()


def test_statusz_shows_the_start_time() -> None:
    text = str(statusz_route("x", version="1", clock=FakeClock())(GET).body)
    assert "\nStarted: Tue Nov 14 22:13:20 UTC 2023\nUp: 0 hr 00 min 00 sec\n" in text


def test_flagz_lists_flags_by_name_and_hides_credentials() -> None:
    flags: dict[str, object] = {
        "workers": 2, "kubeconfig": "/etc/kube", "api-token": "canary", "proxy": "http://me:canary@proxy:3128",
    }  # fmt: skip
    text = str(flagz_route("sample-controller", flags)(GET).body)
    assert text.startswith("\nsample-controller flagz\nWarning: ")
    assert "canary" not in text
    lines = text.split("\n\n", 1)[1].splitlines()
    assert [line.split("=")[0] for line in lines] == ["api-token", "kubeconfig", "proxy", "workers"]
    assert "kubeconfig=/etc/kube" in lines
    assert "workers=2" in lines


def test_flagz_formats_values_as_flags() -> None:
    flags: dict[str, object] = {"a": True, "b": 30.0, "c": ("x", "y"), "d": "", "e": 0.5}
    text = str(flagz_route("sample-controller", flags)(GET).body)
    assert text.endswith("\n\na=true\nb=30\nc=x,y\nd=\ne=0.5\n")
