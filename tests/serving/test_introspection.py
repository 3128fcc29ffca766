"""Debug pages of queues and caches: JSON, tables and access control."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.cache.state import InformerState, ObjectFailure
from clientgo.meta import ObjectName
from clientgo.serving import Response, Route, ServingRequest
from clientgo.serving.introspection import caches_route, queue_route, table
from clientgo.serving.routing import Router
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue


class Informer:
    def __init__(self, state: InformerState) -> None:
        self._state = state

    def state(self) -> InformerState:
        return self._state


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> Iterator[RateLimitingQueue[str]]:
    """Return a queue with one key in process for 3 s, one queued for 1 s, one failed twice and due in 10 s."""
    rate_limiting_queue: RateLimitingQueue[str] = RateLimitingQueue(
        ItemExponentialFailureRateLimiter(5.0, 60.0), name="foos", clock=clock
    )
    rate_limiting_queue.add("default/a")
    assert rate_limiting_queue.get() == "default/a"
    clock.step(2)
    rate_limiting_queue.add("default/b")
    clock.step(1)
    rate_limiting_queue.add_rate_limited("default/c")
    rate_limiting_queue.add_rate_limited("default/c")
    yield rate_limiting_queue
    rate_limiting_queue.shut_down()


def show(route: Route, **query: str) -> Response:
    return route(ServingRequest("GET", "/", query={name: [value] for name, value in query.items()}))


def parsed(response: Response) -> Any:
    assert (response.status, response.content_type) == (200, "application/json")
    return json.loads(response.body)


def test_queue_shows_its_keys_and_for_how_long(queue: RateLimitingQueue[str]) -> None:
    [queues] = parsed(show(queue_route([queue])))["queues"]
    assert queues == {
        "name": "foos",
        "shuttingDown": False,
        "counts": {"processing": 1, "queued": 1, "waiting": 1, "retries": 1},
        "processing": [{"key": "default/a", "seconds": 3.0, "retries": 0}],
        "queued": [{"key": "default/b", "seconds": 1.0, "retries": 0}],
        "waiting": [{"key": "default/c", "seconds": 5.0, "retries": 2}],
    }


def test_queue_is_a_table_for_people(queue: RateLimitingQueue[str]) -> None:
    route = queue_route([queue])
    assert show(route, format="table").body == (
        "QUEUE   STATE        KEY         SECONDS   RETRIES\n"
        "foos    processing   default/a   3.0       0\n"
        "foos    queued       default/b   1.0       0\n"
        "foos    waiting      default/c   5.0       2\n"
    )
    assert route(ServingRequest("GET", "/", headers={"accept": "text/plain"})) == show(route, format="table")


def test_limit_applies_to_shown_keys_but_not_to_counts(queue: RateLimitingQueue[str]) -> None:
    for number in range(500):
        queue.add(f"default/{number}")
    [queues] = parsed(show(queue_route([queue])))["queues"]
    assert (len(queues["queued"]), queues["counts"]["queued"]) == (100, 501)
    [queues] = parsed(show(queue_route([queue]), limit="1000"))["queues"]
    assert len(queues["queued"]) == 501
    text = show(queue_route([queue]), format="table", limit="0").body
    assert "foos    queued       and 501 more   -         -\n" in str(text)


def test_queue_is_selected_by_name(queue: RateLimitingQueue[str]) -> None:
    assert parsed(show(queue_route([queue]), name="bars")) == {"queues": []}
    assert len(parsed(show(queue_route([queue]), name="foos"))["queues"]) == 1


@pytest.mark.parametrize("limit", ["-1", "many", "٣", "9" * 5000])
def test_invalid_limit_is_rejected(limit: str) -> None:
    response = show(queue_route([]), limit=limit)
    assert response.status == 400
    assert str(response.body).startswith("limit must be a whole number")


def test_cache_page_shows_informer_state(clock: FakeClock) -> None:
    now = clock.now()
    failure = ObjectFailure("index team", ObjectName("ns", "bad"), "KeyError: 'team'")
    state = InformerState("foos", "Foo", True, 3, "42", 1, 2, 1, now, now, "boom", 7, failing=1, failures=(failure,))
    clock.step(1.5)
    never = InformerState("pods", "Pod", False, 0, "", 0, 0, 0, None, None, "")
    route = caches_route([Informer(state), Informer(never)], clock=clock)
    assert parsed(show(route))["caches"][0] == {
        "name": "foos",
        "kind": "Foo",
        "synced": True,
        "objects": 3,
        "resourceVersion": "42",
        "lists": 1,
        "watches": 2,
        "undecodable": 1,
        "failing": 1,
        "failures": [{"hook": "index team", "object": "ns/bad", "error": "KeyError: 'team'"}],
        "notificationsWaiting": 7,
        "secondsSinceLastEvent": 1.5,
        "secondsWatching": 1.5,
        "lastError": "boom",
    }
    assert show(route, format="table").body == (
        "NAME   KIND   SYNCED   OBJECTS   VERSION   LISTS   WATCHES   UNDECODABLE   LAST EVENT   ERROR\n"
        "foos   Foo    yes      3         42        1       2         1             1.5 s ago    boom\n"
        "pods   Pod    no       0         -         0       0         0             never        -\n"
        "\n"
        "NAME   FAILS IN     OBJECT   ERROR\n"
        "foos   index team   ns/bad   KeyError: 'team'\n"
    )


@pytest.mark.parametrize("route", [queue_route([]), caches_route([])])
def test_debug_pages_are_private(route: Route) -> None:
    far = ServingRequest("GET", "/x", peer="10.0.0.1")
    assert Router({"/x": route}).answer(far).status == 403
    assert Router({"/x": route}, lambda _: Response(401)).answer(far).status == 401
    assert Router({"/x": route}, lambda _: None).answer(far).status == 200
    assert Router({"/x": route}).answer(ServingRequest("GET", "/x", peer="127.0.0.1")).status == 200


def test_value_of_a_table_stays_on_its_line() -> None:
    assert table(("A", "B"), [("x\ny\x1b[31m", "")]).count("\n") == 2
    assert "\x1b" not in table(("A",), [("\x1b[31m",)])
