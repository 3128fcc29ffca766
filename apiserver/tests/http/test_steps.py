"""Steps of requests: on the event loop if they are short, in threads if there is much to read or to evaluate."""

import asyncio
import threading

import pytest

from clientgo_apiserver.api.limits import LOOP_BYTES, LOOP_COST, Meter
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.http.steps import run_rules, run_step


def thread_of_step(request: HTTPRequest, size: int = 0, cost: int = 0) -> str:
    def step() -> str:
        request.warnings.append("w")
        Meter().spend(cost)
        return threading.current_thread().name

    return asyncio.run(run_rules(request, size, step))


@pytest.mark.parametrize(
    ("served", "body", "size", "cost", "on_loop"),
    [
        pytest.param(True, b"", 0, 0, True, id="short"),
        pytest.param(True, b"", 0, LOOP_COST, True, id="within the allowance"),
        pytest.param(True, b"", 0, LOOP_COST + 1, False, id="long evaluation"),
        pytest.param(True, b"x" * LOOP_BYTES, 0, 0, False, id="large body"),
        pytest.param(True, b"", LOOP_BYTES, 0, False, id="large object"),
        pytest.param(False, b"x" * LOOP_BYTES, LOOP_BYTES, LOOP_COST + 1, True, id="without a loop"),
    ],
)
def test_step_runs_in_a_thread_if_it_is_long(served: bool, body: bytes, size: int, cost: int, on_loop: bool) -> None:
    request = HTTPRequest("POST", "/", body=body, served=served)
    assert (thread_of_step(request, size, cost) == threading.current_thread().name) is on_loop
    assert request.warnings == ["w"]  # once, also if the step began twice


def test_allowance_is_not_limited_in_the_thread() -> None:
    request = HTTPRequest("POST", "/", served=True)
    assert thread_of_step(request, 0, 100 * LOOP_COST) != threading.current_thread().name


def test_request_that_has_used_its_allowance_continues_in_threads() -> None:
    request = HTTPRequest("POST", "/", served=True)
    assert thread_of_step(request, 0, LOOP_COST - 1) == threading.current_thread().name
    assert thread_of_step(request, 0, 2) != threading.current_thread().name
    assert thread_of_step(request, 0, 0) != threading.current_thread().name


def test_step_in_a_thread_that_raises_stop_iteration_does_not_wait_for_ever() -> None:
    request = HTTPRequest("POST", "/", body=b"x" * LOOP_BYTES, served=True)

    async def step() -> None:
        async with asyncio.timeout(20):
            await run_step(request, 0, next, iter(()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(step())
