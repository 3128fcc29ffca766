"""A program with bad code in one hook, for one object of a thousand: the others are reconciled, and no thread ends."""

import asyncio
import json
import logging
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.manager import ByObject, CacheOptions, ControllerBuilder, Finalizers, Manager, Options, Result
from clientgo.manager.predicates import Funcs
from clientgo.meta import ObjectMeta, ObjectName, Scheme, api_type, object_name, replace
from clientgo.metrics import provider, set_provider
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from tests.manager.managed import running

pytestmark = [pytest.mark.integration]

COUNT, BAD, FINALIZER = 1000, "item-500", "example.com/item"


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Hooks:
    """The one hook that is bad, and what it does for the bad object; `calls` counts."""

    def __init__(self) -> None:
        self.bad, self.error, self.calls = "", ValueError("bad"), 0

    def __call__(self, hook: str, name: str) -> None:
        if hook == self.bad and name == BAD:
            self.calls += 1
            raise self.error


hooks = Hooks()


@api_type(group="example.com", version="v1")
@dataclass(frozen=True, slots=True)
class Item:
    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    def __post_init__(self) -> None:
        hooks("__post_init__", self.metadata.name)


def item(name: str) -> Item:
    metadata = ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}", finalizers=(FINALIZER, "example.com/kept"))
    return Item(replace(metadata, deletion_timestamp=datetime(2024, 1, 1, tzinfo=UTC)) if name == BAD else metadata)


class Limiter:
    """Rate limiter without a backoff of its own."""

    def when(self, request: ObjectName, /) -> float:
        hooks("limiter", request.name)
        return 0.5

    def forget(self, request: ObjectName, /) -> None:
        hooks("limiter", request.name)

    def num_requeues(self, request: ObjectName, /) -> int:
        hooks("limiter", request.name)
        return 0


class Program:
    """Manager with one controller, all hooks, and a dashboard."""

    def __init__(self) -> None:
        self.reconciled: set[str] = set()
        self.requester = FakeRequester(*(item(f"item-{n}") for n in range(COUNT)), scheme=Scheme(Item))
        cache = CacheOptions(by_object={Item: ByObject(transform=self.transform)})
        options = Options(name="items", cache=cache, metrics_bind_address="127.0.0.1:0", scheme=Scheme(Item))
        self.manager = Manager(self.requester, options=options)
        self.finalizers = Finalizers(self.manager.client)
        self.finalizers.register(FINALIZER, self.clean_up)
        builder = ControllerBuilder(self.manager).named("items").with_workers(2).with_limiter(Limiter())
        builder.watches(Item, self.to_requests, Funcs(create=self.accepts)).complete(self.reconcile)
        informer = self.manager.cache.informer(Item)
        informer.add_indexers({"by-name": self.index})
        informer.add_event_handler(on_add=lambda obj: hooks("handler", obj.metadata.name))

    def transform(self, obj: Item) -> Item:
        hooks("transform", obj.metadata.name)
        return obj

    def index(self, obj: Item) -> Iterable[str]:
        hooks("index", obj.metadata.name)
        return [obj.metadata.name]

    def to_requests(self, obj: Item) -> list[ObjectName]:
        hooks("map function", obj.metadata.name)
        return [object_name(obj)]

    def accepts(self, obj: Item) -> bool:
        hooks("predicate", obj.metadata.name)
        return True

    def clean_up(self, obj: Item) -> None:
        hooks("finalizer", obj.metadata.name)

    def reconcile(self, request: ObjectName) -> Result | None:
        if hooks.bad == "limiter":
            hooks(hooks.bad, request.name)
        if hooks.bad == "result" and request.name == BAD:
            hooks.calls += 1
            return Result(requeue_after="soon", priority="high")  # type: ignore[arg-type]
        hooks("reconcile", request.name)
        stored = self.manager.client.find(Item, request)
        if stored is not None:
            self.finalizers.finalize(stored)
        self.reconciled.add(request.name)
        return None

    def page(self, path: str) -> str:
        with urllib.request.urlopen(f"{self.manager.urls['metrics']}{path}", timeout=10.0) as response:
            return str(response.read(), "utf-8")


RECONCILE = 'controller_runtime_reconcile_errors_total{controller="items"}'
UNDECODABLE = 'informer_undecodable_objects_total{kind="Item"}'
CALLBACK = 'informer_callback_failures_total{callback="%s",kind="Item"}'

# Hook, what it raises, the metric that counts it, and whether the bad object is reconciled all the same.
CASES: dict[str, tuple[str, BaseException | None, str, bool]] = {
    "reconcile raises": ("reconcile", ValueError("bad"), RECONCILE, False),
    "reconcile raises an error without text": ("reconcile", Silent(), RECONCILE, False),
    "reconcile is cancelled": ("reconcile", asyncio.CancelledError(), RECONCILE, False),
    "reconcile exits": ("reconcile", SystemExit(0), RECONCILE, False),
    "reconcile returns a wrong result": ("result", None, RECONCILE, False),
    "finalizer raises": ("finalizer", BaseExceptionGroup("two", [SystemExit(1), Silent()]), RECONCILE, False),
    "rate limiter raises": ("limiter", KeyError("x"), RECONCILE, False),
    "__post_init__ raises": ("__post_init__", LookupError("bad"), UNDECODABLE, False),
    "transform raises": ("transform", SystemExit(1), UNDECODABLE, False),
    "index function raises": ("index", KeyError("team"), CALLBACK % "index", True),
    "map function raises": ("map function", GeneratorExit(), CALLBACK % "handler", False),
    "predicate raises": ("predicate", Silent(), CALLBACK % "handler", True),
    "event handler raises": ("handler", SystemExit(2), CALLBACK % "handler", True),
}


@pytest.fixture
def create() -> Iterator[Callable[[str, BaseException | None], Program]]:
    before = provider()

    def program_with(hook: str, error: BaseException | None) -> Program:
        created = Program()
        hooks.bad, hooks.error, hooks.calls = hook, error or ValueError("bad"), 0  # type: ignore[assignment]
        return created

    yield program_with
    hooks.bad = ""
    set_provider(before)


def value_of(metrics: str, name: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in metrics.splitlines() if line.startswith(name))


def shown(state: Mapping[str, Any]) -> bool:
    """Return whether the dashboard shows that the bad object fails."""
    sections = state["sections"]
    failing = [key for _, key, *_ in sections["failing"]] + [
        text for entry in sections["caches"] for text in entry["failures"]
    ]
    return any(BAD in text for text in failing)


@pytest.mark.parametrize("case", CASES)
def test_bad_code_for_one_object_of_a_thousand_concerns_that_object_only(
    case: str, create: Callable[[str, BaseException | None], Program], caplog: pytest.LogCaptureFixture
) -> None:
    hook, error, metric, is_reconciled = CASES[case]
    program, names = create(hook, error), {f"item-{number}" for number in range(COUNT)}
    with caplog.at_level(logging.WARNING), running(program.manager) as group:
        eventually(lambda: names - {BAD} <= program.reconciled and hooks.calls > 0, seconds=20.0)
        threads = threading.enumerate()
        # Every thread goes on: a new object passes through all of them.
        program.manager.client.create(item("new"))
        eventually(lambda: "new" in program.reconciled)
        assert [thread.name for thread in threads if not thread.is_alive()] == []
        assert not group.stop_event.is_set()
        assert (BAD in program.reconciled) is is_reconciled
        assert value_of(program.page("/metrics"), metric) >= 1
        eventually(lambda: shown(json.loads(program.page("/dashboard/state"))))
    assert any(BAD in caplog.handler.format(record) for record in caplog.records)
