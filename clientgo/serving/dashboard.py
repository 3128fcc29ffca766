"""Dashboard: a live page of a running controller, and the index of all pages.

The page is one HTML file without network access beyond its own server. It polls `/dashboard/state` and sends the
versions of the sections it has; the response contains the sections that have changed, and new reconciliations and
samples. A browser executes nothing but the file's script: the Content-Security-Policy allows it by its hash.
"""

import base64
import hashlib
import threading
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.internal.uids import random_uuid
from clientgo.kubernetes.types.core_events import Event
from clientgo.log import redact
from clientgo.meta.names import ObjectName
from clientgo.reconcile.attempts import Attempts
from clientgo.reconcile.history import Reconciliation
from clientgo.serving.checks import Informer
from clientgo.serving.compression import compressed
from clientgo.serving.message import JSON, Response, ServingRequest
from clientgo.serving.routing import Access, Handler, Route
from clientgo.serving.zpages import texts_of
from clientgo.version import VERSION
from clientgo.workqueue import WorkQueue
from clientgo.workqueue.state import KeyState

PAGE, STATE = "/dashboard", "/dashboard/state"

SAMPLES = 60
"""Number of samples of the queues that are kept: five minutes."""

SAMPLE_SECONDS = 5.0
"""Seconds between two samples."""

ROWS = 100
"""Maximum number of keys of each phase, and of failing objects, that the page shows."""

HTML = "text/html; charset=utf-8"

DESCRIPTIONS = {
    PAGE: "controllers, queues, caches and recent reconciliations, live",
    "/metrics": "metrics for Prometheus",
    "/statusz": "start time, version, informers and queues",
    "/flagz": "flags of the program",
    "/debug/queue": "keys of the queues, as JSON or with ?format=table",
    "/debug/caches": "state of the informers, as JSON or with ?format=table",
    "/debug/stacks": "stack of each thread",
    "/debug/flags/v": "log level; PUT changes it",
}


class Counters(Protocol):
    """Values of counters, by labels."""

    def counts(self, name: str) -> list[tuple[Mapping[str, str], float]]:
        """Return the labels and values of a counter."""


class RecordedEvents(Protocol):
    """Recent events of the program."""

    def keep_recent(self) -> None:
        """Keep events from now on."""

    def recent_events(self, namespace: str, name: str) -> list[Event]:
        """Return the kept events about objects of that name."""


IsCached = Callable[[ObjectName], bool]
"""Returns whether an object is in the cache of a controller's kind."""


class _Controller(NamedTuple):
    """One controller of the page, with a unique name."""

    name: str
    queue: WorkQueue[Any]
    attempts: Attempts
    is_cached: IsCached | None


class _PageState(msgspec.Struct):
    """Versions of the sections that a page has, and the last numbers of its histories and samples."""

    boot: str = ""
    sections: dict[str, str] = {}
    history: dict[str, int] = {}
    samples: int = 0


class Dashboard:
    """Content of the page and of the index; controllers and events may be added at any time."""

    path = PAGE

    def __init__(
        self,
        component: str,
        *,
        facts: Mapping[str, Callable[[], object]],
        informers: Iterable[Informer],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.component, self.facts, self.informers, self.clock = component, facts, informers, clock
        self._controllers: tuple[_Controller, ...] = ()  # replaced, never changed: threads read it without a lock
        self._events: list[RecordedEvents] = []
        self._boot = random_uuid()
        # Times are sent as seconds since the epoch. The difference is constant, so that unchanged times stay equal.
        self._epoch = clock.time() - clock.now()
        self._started = clock.now()
        # Written by the sampling thread alone.
        self._samples: deque[tuple[int, float, dict[str, Any]]] = deque(maxlen=SAMPLES)
        self._sampled = 0

    def __repr__(self) -> str:
        return f"<Dashboard of {', '.join(controller.name for controller in self._controllers) or 'no controllers'}>"

    def add_controller(self, queue: WorkQueue[Any], attempts: Attempts, is_cached: IsCached | None = None) -> None:
        """Show a controller; several may have the same name."""
        same = sum(controller.attempts.controller == attempts.controller for controller in self._controllers)
        name = f"{attempts.controller} ({same + 1})" if same else attempts.controller
        self._controllers += (_Controller(name, queue, attempts, is_cached),)

    def add_events(self, events: RecordedEvents) -> None:
        """Show these events on the pages of their objects."""
        self._events.append(events)

    def run(self, stop: threading.Event) -> None:
        """Take samples of the queues until `stop` is set."""
        while not self.clock.sleep(stop, SAMPLE_SECONDS):
            self.sample()

    def sample(self) -> None:
        """Take a sample of each queue: depth, age of the oldest key, delayed keys, keys in process."""
        now, values = self.clock.now(), {}
        for controller in self._controllers:
            load = controller.queue.load()
            age = 0.0 if load.oldest is None else max(0.0, now - load.oldest)
            values[controller.name] = [load.depth, round(age, 3), load.delayed, load.processing]
        self._sampled += 1
        self._samples.append((self._sampled, self._at(now) or 0.0, values))

    def routes(self, counters: Counters, paths: Callable[[], Iterable[str]]) -> dict[str, Handler]:
        """Return the routes of the page, and of the index of `paths`."""
        text = Path(__file__).with_name("dashboard.html").read_text(encoding="utf-8")
        page = Response(200, text, HTML, {"Content-Security-Policy": content_security_policy(text)})

        def index(request: ServingRequest) -> Response:
            existing = set(paths())
            return _index(self.component, [path for path in DESCRIPTIONS if path in existing], text, request)

        def state(request: ServingRequest) -> Response:
            try:
                body = self.state(request, counters)
            except (msgspec.MsgspecError, ValueError) as error:
                return Response(400, f"invalid parameter: {error}\n")
            return compressed(Response(200, body, JSON), request)

        return {
            "/": Route(index, access=Access.PRIVATE),
            "/debug": Route(index, access=Access.PRIVATE),
            PAGE: Route(lambda request: compressed(page, request), access=Access.PRIVATE),
            STATE: Route(state, access=Access.PRIVATE),
        }

    def state(self, request: ServingRequest, counters: Counters) -> bytes:
        """Return what has changed since the state that the request describes, as JSON."""
        page = msgspec.json.decode(request.first("have", "{}"), type=_PageState)
        if page.boot != self._boot:
            page = _PageState()  # of another run of the program
        sections = self._sections(request.first("filter"), counters)
        if key := request.first("object"):
            sections["object"] = self._object(request.first("controller"), ObjectName.parse(key))
        encoded = {name: msgspec.json.encode(part) for name, part in sections.items()}
        versions = {name: f"{zlib.crc32(text):08x}" for name, text in encoded.items()}
        changed = [name for name, version in versions.items() if page.sections.get(name) != version]
        histories = {controller.name: controller.attempts.history for controller in self._controllers}
        return msgspec.json.encode(
            {
                "boot": self._boot,
                "now": round(self._epoch + self.clock.now(), 3),
                "versions": {name: versions[name] for name in changed},
                "sections": {name: msgspec.Raw(encoded[name]) for name in changed},
                "history": {
                    name: [self._row(*numbered) for numbered in history.after(page.history.get(name, 0))]
                    for name, history in histories.items()
                    if history is not None
                },
                "samples": [sample for sample in self._samples.copy() if sample[0] > page.samples],
            }
        )

    def _sections(self, matching: str, counters: Counters) -> dict[str, Any]:
        requests: dict[str, dict[str, float]] = defaultdict(dict)
        for labels, value in counters.counts("rest_client_requests_total"):
            methods = requests[labels["code"]]
            methods[labels["method"]] = methods.get(labels["method"], 0) + value
        outcomes: dict[str, dict[str, float]] = defaultdict(dict)
        for labels, value in counters.counts("controller_runtime_reconcile_total"):
            outcomes[labels["controller"]][labels["result"]] = value
        return {
            "program": {
                "component": self.component,
                "version": VERSION,
                "started": self._at(self._started),
                "facts": texts_of(self.facts),
            },
            "controllers": [self._controller(controller, matching) for controller in self._controllers],
            "outcomes": outcomes,
            "failing": [row for controller in self._controllers for row in self._failing(controller, matching)],
            "caches": [self._cache(informer) for informer in self.informers],
            "requests": requests,
        }

    def _controller(self, controller: _Controller, matching: str) -> dict[str, Any]:
        load, workers, history = controller.queue.load(), controller.attempts.workers(), controller.attempts.history
        return {
            "name": controller.name,
            "kind": controller.attempts.kind,
            "queue": [load.depth, self._at(load.oldest), load.delayed, load.processing],
            "maxWorkers": controller.attempts.max_workers,
            "workers": [
                [worker.name, None if worker.key is None else str(worker.key), worker.trigger, self._at(worker.since)]
                for worker in workers
            ],
            "keys": [
                self._key(key) for key in controller.queue.first_keys(ROWS, matching) if key.phase != "processing"
            ],
            "recorded": 0 if history is None else history.size,
        }

    def _failing(self, controller: _Controller, matching: str) -> list[Sequence[Any]]:
        history = controller.attempts.history
        failing = [] if history is None else history.failing()
        if matching:
            failing = [each for each in failing if matching.lower() in str(each.key).lower()]
        name, at = controller.name, self._at
        return [
            (name, str(each.key), each.failures, at(each.since), redact(each.error), at(each.next_at))
            for each in failing[:ROWS]
        ]

    def _cache(self, informer: Informer) -> dict[str, Any]:
        state = informer.state()
        return {
            "name": state.name,
            "kind": state.kind,
            "synced": state.synced,
            "objects": state.objects,
            "lastEvent": self._at(state.last_event),
            "watching": self._at(state.watching_since),
            "waiting": state.waiting,
            "failing": state.failing,
            "failures": [f"{failure.name}: {failure.hook}: {redact(failure.error)}" for failure in state.failures],
            "error": redact(state.last_error),
        }

    def _object(self, controller: str, key: ObjectName) -> dict[str, Any]:
        events = [self._event(event) for source in self._events for event in source.recent_events(*key)]
        reasons = [reason for each in self._controllers if each.name == controller for reason in self._why(each, key)]
        return {"controller": controller, "key": str(key), "why": reasons, "events": _counted(events)}

    def _why(self, controller: _Controller, key: ObjectName) -> list[tuple[str, float | None, str]]:
        """Return the reasons why an object is waiting, each with its time and an error."""
        reasons = [(_PHASES[state.phase], self._at(state.at), "") for state in controller.queue.states_of(key)]
        history = controller.attempts.history
        failure = history.failure_of(key) if history is not None else None
        if failure is not None:
            times = "once" if failure.failures == 1 else f"{failure.failures} times in a row"
            fate = "retried with backoff" if failure.next_at is not None else "not retried before it changes"
            reasons.append((f"failing: {times}, {fate}; first", self._at(failure.since), redact(failure.error)))
        if not _is_cached(controller, key):
            reasons.append(("not in the cache: deleted, or not selected by this controller", None, ""))
        if not controller.attempts.max_workers:
            reasons.append(("no worker runs: the caches have not synced, or this replica stands by", None, ""))
        states = [state for informer in self.informers if (state := informer.state()).kind == controller.attempts.kind]
        reasons += [
            ("the cache may be outdated: last event", self._at(state.last_event), redact(state.last_error))
            for state in states
            if state.last_error
        ]
        reasons += [
            (f"the cache fails for this object in {failure.hook}", None, redact(failure.error))
            for state in states
            for failure in state.failures
            if failure.name == key
        ]
        return reasons or [("idle: in the cache, not queued; waits for the next event", None, "")]

    def _event(self, event: Event) -> tuple[Any, ...]:
        at = event.last_timestamp or event.event_time
        seconds = at.timestamp() if at is not None else None
        about = event.involved_object
        return event.type, event.reason, event.message, about.kind, seconds

    def _row(self, number: int, done: Reconciliation) -> tuple[Any, ...]:
        times = self._at(done.began), round(done.seconds, 6)
        return number, str(done.key), done.trigger, *times, done.outcome, redact(done.error), self._at(done.next_at)

    def _key(self, state: KeyState[Hashable]) -> tuple[str, str, float | None, int]:
        return str(state.key), state.phase, self._at(state.at), state.retries

    def _at(self, time: float | None) -> float | None:
        return None if time is None else round(self._epoch + time, 3)


def _is_cached(controller: _Controller, key: ObjectName) -> bool:
    try:
        return controller.is_cached is None or bool(run_callback(controller.is_cached, key))
    except CallbackFailed:
        return True  # unknown


_PHASES = {
    "processing": "in work: a worker took it",
    "queued": "queued: waits for a free worker, added",
    "delayed": "delayed: is queued",
}


def _counted(events: Iterable[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """Return different events with their number and latest time, the latest first."""
    counts: dict[tuple[Any, ...], tuple[int, float | None]] = {}
    for *what, at in events:
        counts[tuple(what)] = counts.pop(tuple(what), (0, None))[0] + 1, at
    return [(*what, count, at) for what, (count, at) in reversed(counts.items())]


def content_security_policy(page: str) -> str:
    """Return the policy that allows the inline script and style of a page and requests to its own server."""
    script, style = (_sources(page, tag) for tag in ("script", "style"))
    return (
        f"default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def _sources(page: str, tag: str) -> str:
    hashes = (base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in _bodies(page, tag))
    return " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"


def _bodies(page: str, tag: str) -> list[str]:
    return [part.partition(f"</{tag}>")[0] for part in page.split(f"<{tag}>")[1:]]


def _index(component: str, paths: Sequence[str], page: str, request: ServingRequest) -> Response:
    """Return the list of pages: HTML for a browser, which has the style of `page`, and otherwise text."""
    if "text/html" not in request.headers.get("accept", ""):
        width = max(map(len, paths), default=0)
        return Response(200, "".join(f"{path.ljust(width)}   {DESCRIPTIONS[path]}\n" for path in paths))
    style = "".join(f"<style>{body}</style>" for body in _bodies(page, "style"))
    items = "".join(
        f'<tr><th scope="row"><a href="{path}">{path}</a></th><td>{escape(DESCRIPTIONS[path])}</td></tr>'
        for path in map(escape, paths)
    )
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(component)}</title>{style}</head><body><header><h1>{escape(component)}</h1></header><main>"
        f'<section><h2>Pages</h2><table class="index">{items}</table></section></main></body></html>\n'
    )
    headers = {"Content-Security-Policy": content_security_policy(body), "Vary": "Accept"}
    return Response(200, body, HTML, headers)
