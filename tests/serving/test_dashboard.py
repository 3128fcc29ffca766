"""Dashboard: its state, the changes that it sends, and the pages of a running program."""

import gzip
import json
import re
import threading
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

import pytest

from clientgo.cache.state import InformerState, ObjectFailure
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.metrics import provider, set_provider
from clientgo.program.commandline import ServingFlags
from clientgo.program.flags import Address
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import History
from clientgo.record import EventBroadcaster
from clientgo.serving import Diagnostics, ServingRequest
from clientgo.serving.dashboard import PAGE, ROWS, SAMPLES, STATE, Dashboard
from clientgo.testing.clock import FakeClock
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue
from controller.api.v1alpha1 import Foo, FooSpec
from tests.serving.diagnosed import LOOPBACK, METRICS, get, serving

KEY = ObjectName("ns", "a")
HOSTILE = "<img src=x onerror=alert(1)>"


class Informer:
    """Informer with the last error of its watch, and the failures of single objects."""

    error = ""
    failures: tuple[ObjectFailure, ...] = ()

    def state(self) -> InformerState:
        return InformerState("foos", "Foo", True, 1, "42", 1, 2, 0, None, None, self.error, failures=self.failures)


class Counters:
    """Counter of requests."""

    def counts(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        if name != "rest_client_requests_total":
            return []
        labels = {"code": "200", "method": "GET"}
        return [({**labels, "host": "a"}, 2.0), ({**labels, "host": "b"}, 3.0)]


class Rig:
    """Dashboard of one controller, with a clock that tests step."""

    def __init__(self) -> None:
        self.clock, self.informer, self.cached = FakeClock(), Informer(), {KEY}
        limiter = ItemExponentialFailureRateLimiter[ObjectName](1.0, 1000.0)
        self.queue = RateLimitingQueue(limiter, clock=self.clock)
        self.attempts = Attempts("Foo", clock=self.clock)
        self.attempts.history = History()
        self.attempts.set_workers(1)
        self.dashboard = Dashboard(
            "foos", facts={"Coordination": lambda: "leads"}, informers=[self.informer], clock=self.clock
        )
        self.dashboard.add_controller(self.queue, self.attempts, self.cached.__contains__)

    def state(self, have: Mapping[str, Any] | None = None, **query: str) -> dict[str, Any]:
        """Return the response to a page that has this state."""
        parameters = {name: [value] for name, value in {**query, "have": json.dumps(have or {})}.items()}
        document: dict[str, Any] = json.loads(
            self.dashboard.state(ServingRequest("GET", STATE, parameters), Counters())
        )
        return document

    def fail(self) -> None:
        """Let the next attempt fail."""
        with self.queue.processing() as key, self.attempts.at(key, self.queue.trigger(key)) as attempt:
            attempt.failed(ValueError(HOSTILE), retry_in=self.queue.add_rate_limited(key))

    def why(self) -> list[str]:
        """Return the reasons why the object is waiting."""
        result = self.state(object=str(KEY), controller="foo")["sections"]["object"]
        return [text.partition(":")[0] for text, *_ in result["why"]]


def having(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page has after this answer."""
    history = {name: rows[-1][0] for name, rows in response["history"].items() if rows}
    samples = response["samples"][-1][0] if response["samples"] else 0
    return {"boot": response["boot"], "sections": response["versions"], "history": history, "samples": samples}


def test_fact_or_cache_check_that_raises_does_not_prevent_the_page() -> None:
    rig = Rig()

    def fail(*_: object) -> bool:
        raise SystemExit("over")

    dashboard = Dashboard("foos", facts={"Broken": fail}, informers=[rig.informer], clock=rig.clock)
    dashboard.add_controller(rig.queue, rig.attempts, fail)
    rig.dashboard = dashboard
    assert rig.state()["sections"]["program"]["facts"] == {"Broken": "unknown: SystemExit: over"}
    assert rig.why() == ["idle"]


def test_state_shows_program_caches_requests_and_controllers() -> None:
    rig = Rig()
    rig.queue.add(KEY)
    sections = rig.state()["sections"]
    assert sections["program"]["facts"] == {"Coordination": "leads"}
    assert sections["requests"] == {"200": {"GET": 5.0}}
    assert [(item["kind"], item["objects"]) for item in sections["caches"]] == [("Foo", 1)]
    [controllers] = sections["controllers"]
    at = round(rig.clock.time(), 3)
    assert (controllers["name"], controllers["queue"], controllers["keys"]) == (
        "foo",
        [1, at, 0, 0],
        [["ns/a", "queued", at, 0]],
    )


def test_failure_is_shown_with_its_error_and_retry() -> None:
    rig = Rig()
    rig.queue.add(KEY)
    rig.fail()
    response, at = rig.state(), round(rig.clock.time(), 3)
    assert response["history"]["foo"] == [[1, "ns/a", "event", at, 0.0, "error", f"ValueError: {HOSTILE}", at + 1.0]]
    assert response["sections"]["failing"] == [["foo", "ns/a", 1, at, f"ValueError: {HOSTILE}", at + 1.0]]
    assert response["sections"]["controllers"][0]["keys"] == [["ns/a", "delayed", at + 1.0, 1]]
    rig.clock.step(1.0)
    rig.fail()
    assert [row[2] for row in rig.state(having(response))["history"]["foo"]] == ["retry"]


def test_credentials_in_errors_are_hidden() -> None:
    rig = Rig()
    rig.queue.add(KEY)
    with rig.queue.processing() as key, rig.attempts.at(key) as attempt:
        attempt.failed(ValueError("http://me:canary@proxy:3128 failed"))
    assert "canary" not in json.dumps(rig.state(object=str(KEY), controller="foo"))


def test_only_changes_are_sent() -> None:
    rig = Rig()
    rig.queue.add(KEY)
    rig.dashboard.sample()
    first = rig.state()
    rig.clock.step(10.0)
    second = rig.state(having(first))
    assert (second["sections"], second["samples"], second["history"]) == ({}, [], {"foo": []})
    rig.fail()
    third = rig.state(having(first))
    assert sorted(third["sections"]) == ["controllers", "failing"]
    assert len(third["history"]["foo"]) == 1


def test_page_of_an_earlier_run_gets_everything() -> None:
    rig = Rig()
    assert rig.state({**having(rig.state()), "boot": "earlier"})["sections"].keys() >= {"program", "controllers"}


def test_rows_are_limited_and_the_filter_finds_the_others() -> None:
    rig = Rig()
    for number in range(10_000):
        rig.queue.add_after(ObjectName("ns", f"foo-{number}"), 1000.0 + number)
    [controllers] = rig.state()["sections"]["controllers"]
    assert (controllers["queue"][2], len(controllers["keys"]), controllers["keys"][0][0]) == (10_000, ROWS, "ns/foo-0")
    [controllers] = rig.state(filter="FOO-9999")["sections"]["controllers"]
    assert [row[0] for row in controllers["keys"]] == ["ns/foo-9999"]
    assert len(json.dumps(rig.state())) < 20_000


def test_samples_of_the_last_minutes_are_kept() -> None:
    rig = Rig()
    rig.queue.add(KEY)
    rig.clock.step(2.0)
    for _ in range(SAMPLES + 5):
        rig.dashboard.sample()
    samples = rig.state()["samples"]
    assert len(samples) == SAMPLES
    assert samples[-1][2] == {"foo": [1, 2.0, 0, 0]}


def test_reason_why_an_object_waits_is_shown() -> None:
    rig = Rig()
    assert rig.why() == ["idle"]
    rig.informer.failures = (
        ObjectFailure("index team", ObjectName("ns", "other"), "no"),
        ObjectFailure("x", KEY, "no"),
    )
    assert rig.why() == ["the cache fails for this object in x"]
    rig.informer.failures = ()
    rig.queue.add(KEY)
    assert rig.why() == ["queued"]
    with rig.queue.processing():
        assert rig.why() == ["in work"]
    rig.queue.add(KEY)
    rig.fail()
    assert rig.why() == ["delayed", "failing"]
    rig.cached.clear()
    rig.informer.error = "connection refused"
    rig.attempts.set_workers(0)
    assert rig.why() == ["delayed", "failing", "not in the cache", "no worker runs", "the cache may be outdated"]


def test_events_of_an_object_are_counted() -> None:
    rig = Rig()
    with EventBroadcaster(clock=rig.clock) as broadcaster:
        broadcaster.keep_recent()
        rig.dashboard.add_events(broadcaster)
        recorder = broadcaster.new_recorder(component="foos")
        for name, reason in (("a", "Synced"), ("b", "Synced"), ("a", "Failed"), ("a", "Synced")):
            foo = Foo(metadata=ObjectMeta(namespace="ns", name=name), spec=FooSpec(deployment_name="x"))
            recorder.event(foo, "Normal", reason, HOSTILE)
        events = rig.state(object=str(KEY), controller="foo")["sections"]["object"]["events"]
    at = int(rig.clock.time())
    assert events == [["Normal", "Synced", HOSTILE, "Foo", 2, at], ["Normal", "Failed", HOSTILE, "Foo", 1, at]]


class Links(HTMLParser):
    """Tags and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]


@pytest.mark.integration
def test_index_links_to_pages_that_exist() -> None:
    with serving(METRICS) as diagnostics:
        url = diagnostics.urls["metrics"]
        status, text = get(url, "/")
        assert (status, get(url, "/debug")) == (200, (200, text))
        assert get(url, "/nothing")[0] == 404
        paths = re.findall(r"^(\S+)   ", text, re.MULTILINE)
        assert paths[:4] == [PAGE, "/metrics", "/statusz", "/flagz"]
        assert [path for path in paths if get(url, path)[0] != 200] == []
        assert Links(get(url, "/", Accept="text/html")[1]).links == paths


@pytest.mark.integration
def test_page_is_self_contained_and_small() -> None:
    with serving(METRICS) as diagnostics:
        assert diagnostics.urls["dashboard"] == diagnostics.urls["metrics"] + PAGE
        status, page = get(diagnostics.urls["metrics"], PAGE)
    assert status == 200
    assert len(page) < 60_000
    assert Links(page).links == ["./"]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|//[a-z]+\.[a-z]+/", page)


@pytest.mark.integration
def test_state_is_compressed_and_invalid_parameters_are_rejected() -> None:
    queue, attempts = RateLimitingQueue[ObjectName](), Attempts("Foo")
    for number in range(50):
        queue.add(ObjectName("ns", f"foo-{number}"))
    with serving(METRICS) as diagnostics:
        diagnostics.add_controller(queue, attempts)
        url = diagnostics.urls["metrics"]
        body = get(url, STATE, Accept_Encoding="gzip")[1]
        assert json.loads(gzip.decompress(body.encode("latin-1")))["sections"]["controllers"][0]["queue"][0] == 50
        assert get(url, f"{STATE}?have=x")[0] == 400
        assert get(url, f"{STATE}?object=a/b/c")[0] == 400
    assert attempts.history is not None


@pytest.mark.integration
@pytest.mark.parametrize(("address", "size"), [(None, 200), (LOOPBACK, 0)], ids=["no pages", "no history"])
def test_nothing_is_recorded_unless_it_is_shown(address: Address | None, size: int) -> None:
    attempts, before = Attempts("Foo"), provider()
    options = ServingFlags(metrics_bind_address=address, reconcile_history=size)
    Diagnostics(options, component="foos").add_controller(RateLimitingQueue[ObjectName](), attempts)
    set_provider(before)
    assert attempts.history is None


def test_controllers_of_one_name_are_shown_apart() -> None:
    rig = Rig()
    rig.dashboard.add_controller(RateLimitingQueue[ObjectName](), Attempts("Foo"))
    assert [item["name"] for item in rig.state()["sections"]["controllers"]] == ["foo", "foo (2)"]


def test_samples_are_taken_until_the_stop() -> None:
    rig, stop = Rig(), threading.Event()
    stop.set()
    rig.dashboard.run(stop)
    assert rig.state()["samples"] == []
