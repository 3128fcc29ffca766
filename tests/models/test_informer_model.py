"""Informer compared with a model of the server: in the end store and handlers equal it, after any fault."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.models.budget import examples
from tests.models.copies import Copies
from tests.models.locks import Clock, Event
from tests.models.schedules import Chance, Failed, Program, Scheduler, execute
from tests.models.server import FAULTS, ModelServer
from tests.models.views import View

CACHE = [
    "clientgo.stop.stopping", "clientgo.stop.lifecycle", "clientgo.cache.store", "clientgo.cache.listener",
    "clientgo.cache.watcher", "clientgo.cache.watchlist", "clientgo.cache.reflector", "clientgo.cache.distributor",
    "clientgo.cache.informer",
    "clientgo.testing.watchsource",
]  # fmt: skip

RIGHT = Copies(CACHE)

NAMES = st.sampled_from("abc")
ANY_FAULT = st.sampled_from(sorted(FAULTS))
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES),
    st.tuples(st.just("write"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("bookmark")),
    st.tuples(st.just("cut"), st.just("") | ANY_FAULT),
    st.tuples(st.just("compact")),
    st.tuples(st.just("fail_next"), st.sampled_from(["list", "watch"]), ANY_FAULT),
    st.tuples(st.just("fail_next"), st.just("watch"), ANY_FAULT, ANY_FAULT, ANY_FAULT),
    st.tuples(st.just("back_up")),
    st.tuples(st.just("restore")),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 5.0, 100.0])),
    st.tuples(st.just("register")),
)

HEALED = 300.0
"""Seconds after which nothing is left of any fault: several of the longest backoff's steps, and patience with lists."""

REQUESTS_IN_HEALED = 20
"""Requests that a healthy server sees in that time at the very most."""


class Following:
    """Server that performs steps while an informer follows it."""

    def __init__(self, code: Copies, *, streams: bool, page: int) -> None:
        self.server = ModelServer(code.watchsource.FakeWatch, streams=streams, page=page)
        self.informer = code.informer.SharedInformer(self.server, clock=Clock())
        self.group = code.lifecycle.Group(stop=Event(), clock=Clock())
        self.views: list[View] = []
        self.requests: list[int] = []

    def register(self) -> None:
        self.views.append(View())
        self.views[-1].added_to(self.informer)

    def wait(self, seconds: float) -> None:
        Event().wait(seconds)

    def restore(self) -> None:
        """Restore; a server that reached its former version again cannot be detected, so avoid that."""
        self.server.restore()
        self.heal()

    def heal(self) -> None:
        """End all faults, for long enough to recover."""
        self.server.heal()
        for _ in range(5):
            self.wait(HEALED / 5)
            self.server.bookmark()

    def act(self, steps: list[tuple[Any, ...]]) -> None:
        self.register()
        self.informer.start(self.group)
        for name, *values in steps:
            getattr(self if hasattr(self, name) else self.server, name)(*values)
        for _ in range(2):
            self.heal()
            self.requests.append(self.server.requests)
            self.check()
            self.server.write("last")
        self.group.stop()
        self.group.join()

    def check(self) -> None:
        stored = {key: self.informer.indexer.get_by_key(key) for key in self.informer.indexer.list_keys()}
        assert stored == self.server.objects
        assert self.informer.has_synced
        for view in self.views:
            assert view.objects == stored
            assert not view.wrong


def program(code: Copies, steps: list[tuple[Any, ...]], *, streams: bool, page: int) -> Program:
    """Perform the steps; in the end everything equals the server, and no more requests are sent."""

    def prepare(scheduler: Scheduler) -> Callable[[], object]:
        scheduler.patient = True
        following = Following(code, streams=streams, page=page)
        scheduler.spawn(lambda: following.act(steps), "server")

        def holds() -> None:
            before, after = following.requests
            assert after - before <= REQUESTS_IN_HEALED

        return holds

    return prepare


@pytest.mark.parametrize(("streams", "page"), [(False, 0), (False, 2), (True, 0)], ids=["lists", "pages", "streams"])
@given(steps=st.lists(STEPS, max_size=14), seed=st.integers(0, 2**32))
@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.too_slow])
def test_store_and_handlers_end_with_what_the_server_has(
    streams: bool, page: int, steps: list[tuple[Any, ...]], seed: int
) -> None:
    execute(program(RIGHT, steps, streams=streams, page=page), Chance(seed))


MISTAKES: dict[str, tuple[str, str, str]] = {
    "deletions missed are not told": (
        "distributor",
        "for key in keep if key in objects_by_name}",
        "for key in objects_by_name}",
    ),
    "a list tells of nothing new": (
        "distributor",
        "            self._publish(Added(obj, initial=initial))\n        elif",
        "            pass\n        elif",
    ),
    "a watch goes on from where it began": (
        "watcher",
        "        position.version = version\n\n    def _check_order",
        "        pass\n\n    def _check_order",
    ),
    "a refusal ends it": (
        "reflector",
        "            except (ClientGoError, Undecodable) as error:\n                ended = error",
        "            except (ConnectionFailed, Undecodable) as error:\n                ended = error",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_found(name: str) -> None:
    module, old, new = MISTAKES[name]
    wrong = Copies(CACHE, {module: (old, new)})
    rng = Random(1)

    def search() -> None:
        for seed in range(300):
            steps = [_step(rng) for _ in range(rng.randrange(14))]
            execute(program(wrong, steps, streams=False, page=0), Chance(seed))

    with pytest.raises(Failed):
        search()


def _step(rng: Random) -> tuple[Any, ...]:
    return rng.choice(
        (
            ("write", rng.choice("abc")), ("write", rng.choice("abc")), ("delete", rng.choice("abc")), ("compact",),
            ("cut", rng.choice(("", *FAULTS))), ("wait", rng.choice((0.0, 5.0, 100.0))), ("back_up",), ("restore",),
        )
    )  # fmt: skip
