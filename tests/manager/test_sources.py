"""Mapping from events to requests, and channels."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.kubernetes.types.core_v1 import ConfigMap, Node
from clientgo.manager import ControllerBuilder
from clientgo.manager.eventhandlers import EventHandler, MapFunc, MapFuncs, itself, owners_of
from clientgo.manager.predicates import And, Funcs, Predicate
from clientgo.manager.sources import Channel
from clientgo.meta import ObjectMeta, ObjectName, OwnerReference, object_name, replace
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.metrics import recorded_metrics
from clientgo.workqueue import LOW, NORMAL
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

A, B = ObjectName("ns", "a"), ObjectName("ns", "b")


class Asked:
    """Names added to a queue."""

    def __init__(self) -> None:
        self.requests: list[tuple[ObjectName, int]] = []

    def __call__(self, request: ObjectName, priority: int) -> None:
        self.requests.append((request, priority))


def config(*references: OwnerReference, version: str = "1") -> ConfigMap:
    return ConfigMap(
        metadata=ObjectMeta(name="c", namespace="ns", resource_version=version, owner_references=references)
    )


def reference(
    name: str = "a",
    *,
    controller: bool | None = True,
    kind: str = "Foo",
    api_version: str = "samplecontroller.k8s.io/v1alpha1",
) -> OwnerReference:
    return OwnerReference(name=name, uid="u", controller=controller, kind=kind, api_version=api_version)


@pytest.mark.feature("A-13")
def test_only_the_controlling_owner_of_the_kind_is_enqueued() -> None:
    owners = owners_of(Foo)
    assert list(owners(config(reference(), reference("b", controller=None)))) == [A]
    assert list(owners(config(reference(kind="Bar")))) == []
    assert list(owners(config(reference(api_version="other.example.com/v1")))) == []
    assert list(owners(config())) == []


@pytest.mark.feature("A-13")
def test_any_owner_is_enqueued_on_request() -> None:
    owners = owners_of(Foo, any_owner=True)
    assert list(owners(config(reference(), reference("b", controller=None)))) == [A, B]


def test_owner_of_any_version_is_enqueued() -> None:
    assert list(owners_of(Foo)(config(reference(api_version="samplecontroller.k8s.io/v2")))) == [A]


def test_cluster_scoped_owner_is_enqueued_without_a_namespace() -> None:
    (result,) = owners_of(Node)(config(reference("n", api_version="v1", kind="Node")))
    assert result == ObjectName("", "n")


@pytest.mark.feature("A-13")
def test_update_enqueues_names_of_old_and_new_object_once() -> None:
    requested = Asked()
    handler: EventHandler[ConfigMap] = EventHandler(requested, (owners_of(Foo, any_owner=True), Predicate()))
    handler.updated(config(reference("a"), version="1"), config(reference("b"), reference("a"), version="2"))
    assert requested.requests == [(A, NORMAL), (B, NORMAL)]


@pytest.mark.feature("B-CR-07")
def test_initial_and_unchanged_objects_have_low_priority() -> None:
    requested, foo = Asked(), new_foo()
    handler: EventHandler[Foo] = EventHandler(requested, (itself, Predicate()))
    handler.listed(foo)
    handler.updated(foo, foo)
    handler.created(foo)
    handler.updated(foo, replace(foo, metadata=replace(foo.metadata, resource_version="2")))
    handler.deleted(foo)
    handler.happened(foo)
    assert requested.requests == [(A, LOW), (A, LOW), (A, NORMAL), (A, NORMAL), (A, NORMAL), (A, NORMAL)]


def test_missed_deletion_is_handled() -> None:
    requested = Asked()
    handler: EventHandler[Foo] = EventHandler(requested, (itself, Predicate()))
    handler.deleted(DeletedFinalStateUnknown(A, new_foo()))
    handler.deleted(DeletedFinalStateUnknown(B, None))
    assert requested.requests == [(A, NORMAL)]


@pytest.mark.feature("A-13")
def test_predicates_are_called_by_event_type() -> None:
    requested, foo, never = Asked(), new_foo(), lambda *_: False
    none = Funcs(create=never, update=never, delete=never, generic=never)
    handler: EventHandler[Foo] = EventHandler(requested, (itself, none))
    handler.listed(foo)
    handler.created(foo)
    handler.updated(foo, foo)
    handler.deleted(foo)
    handler.happened(foo)
    assert requested.requests == []


@pytest.mark.feature("A-13")
def test_repeated_names_of_a_map_function_are_enqueued_once() -> None:
    requested, foo = Asked(), new_foo()
    handler: EventHandler[Foo] = EventHandler(requested, (lambda obj: [object_name(obj)] * 3, Predicate()))
    handler.created(foo)
    assert requested.requests == [(A, NORMAL)]


@pytest.mark.parametrize("names", ["ab", A])
def test_map_function_that_returns_a_name_in_place_of_a_list_is_an_error(names: Any) -> None:
    handler: EventHandler[Foo] = EventHandler(requested := Asked(), (lambda _obj: names, Predicate()))
    with pytest.raises(TypeError, match="expected a list of names"):
        handler.created(new_foo())
    assert requested.requests == []


@pytest.mark.feature("B-CR-07")
def test_each_event_type_can_have_its_own_map_function() -> None:
    def moved(old: ConfigMap, new: ConfigMap) -> list[ObjectName]:
        return [ObjectName(old.metadata.resource_version, new.metadata.resource_version)]

    def named(name: str) -> MapFunc[ConfigMap]:
        return lambda _: [ObjectName("", name)]

    requested = Asked()
    functions = MapFuncs(create=named("created"), update=moved, delete=named("deleted"), generic=named("happened"))
    handler = EventHandler(requested, (functions, Predicate()))
    handler.listed(config())
    handler.created(config())
    handler.updated(config(), config(version="2"))
    handler.updated(config(), config())
    handler.deleted(config())
    handler.happened(config())
    assert [(request.namespace + request.name, priority) for request, priority in requested.requests] == [
        ("created", LOW), ("created", NORMAL), ("12", NORMAL), ("11", LOW), ("deleted", NORMAL), ("happened", NORMAL),
    ]  # fmt: skip


@pytest.mark.feature("B-CR-07")
def test_event_without_a_map_function_is_ignored() -> None:
    requested = Asked()
    handler = EventHandler(requested, (MapFuncs[ConfigMap](), Predicate()))
    handler.listed(config())
    handler.created(config())
    handler.updated(config(), config(version="2"))
    handler.deleted(config())
    handler.happened(config())
    assert requested.requests == []


@pytest.mark.parametrize(
    "requests",
    [None, "ns/a", [("ns", "a")], ["a"], [None], [[]], [A, ObjectName("ns", 7)], [A, ObjectName(["x"], "a")], 5],  # type: ignore[arg-type]
)
def test_map_function_that_returns_no_names_fails_and_enqueues_nothing(requests: Any) -> None:
    requested = Asked()
    handler: EventHandler[Foo] = EventHandler(requested, (lambda _: requests, Predicate()))
    with pytest.raises(TypeError):
        handler.created(new_foo())
    assert requested.requests == []


class Flaky:
    """Map function, or method of a predicate, that fails for some objects until it is healed."""

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)

    def __call__(self, obj: Foo) -> list[ObjectName]:
        if obj.metadata.name in self.failing:
            raise SystemExit("no connection")
        return [object_name(obj)]

    def accepts(self, obj: Foo) -> bool:
        return bool(self(obj))


class Failing(Predicate):
    """Predicate that raises for every event, and for none once it is healed."""

    def __init__(self) -> None:
        self.healed = False

    def update(self, old: Foo, new: Foo) -> bool:
        if not self.healed:
            raise KeyError("team")
        return True

    def create(self, obj: Foo) -> bool:
        return self.update(obj, obj)

    delete = generic = create


ONE, TWO = replace(new_foo(), metadata=ObjectMeta(name="a", namespace="ns", resource_version="1")), new_foo()


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(lambda handler: handler.listed(ONE), id="listed"),
        pytest.param(lambda handler: handler.created(ONE), id="created"),
        pytest.param(lambda handler: handler.updated(ONE, TWO), id="updated"),
        pytest.param(lambda handler: handler.deleted(TWO), id="deleted"),
        pytest.param(lambda handler: handler.happened(TWO), id="happened"),
    ],
)
@pytest.mark.parametrize("negated", [False, True], ids=["plain", "negated"])
def test_event_whose_predicate_raises_is_reconciled_once_and_reported(
    handle: Callable[[EventHandler[Foo]], None], negated: bool
) -> None:
    requested, failing = Asked(), Failing()
    handler: EventHandler[Foo] = EventHandler(requested, (itself, And(~failing if negated else failing)))
    for _ in range(3):  # the informer's retries
        with pytest.raises(KeyError, match="team"):
            handle(handler)
    assert [request for request, _ in requested.requests] == [object_name(TWO)]
    failing.healed = True
    handle(handler)


def test_later_change_is_reconciled_although_its_predicate_raises_again() -> None:
    requested = Asked()
    handler: EventHandler[Foo] = EventHandler(requested, (itself, Failing()))
    for new in (TWO, replace(TWO, metadata=replace(TWO.metadata, resource_version="9"))):
        with pytest.raises(KeyError):
            handler.updated(ONE, new)
    assert len(requested.requests) == 2


def test_map_function_that_raises_for_the_old_object_is_used_for_the_new_one() -> None:
    requested, moved = Asked(), replace(TWO, metadata=replace(TWO.metadata, name="b", resource_version="9"))
    handler: EventHandler[Foo] = EventHandler(requested, (Flaky("a"), Predicate()))
    for _ in range(2):
        with pytest.raises(SystemExit):
            handler.updated(ONE, moved)
    assert requested.requests == [(B, NORMAL)]


def test_update_is_reconciled_although_its_predicate_always_raises(caplog: pytest.LogCaptureFixture) -> None:
    requester = fake(ONE)
    manager, reconciled = manager_of(requester), list[int | None]()
    broken = Funcs(update=lambda old, new: bool(1 / 0))

    def reconcile(request: ObjectName) -> None:
        reconciled.append(manager.client.get(Foo, request).spec.replicas)

    ControllerBuilder(manager).for_(Foo, broken).complete(reconcile)
    with running(manager):
        eventually(lambda: len(reconciled) == 1)
        changed = manager.client.patch(ONE, {"spec": {"replicas": 7}})
        eventually(lambda: reconciled[1:] == [changed.spec.replicas])
        [informer] = [each for each in manager._diagnostics.informers if each.state().failing]
        assert [str(failure.name) for failure in informer.state().failures] == ["ns/a"]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("hook", ["map function", "predicate"])
def test_event_of_a_channel_that_fails_is_handled_again_with_backoff(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    flaky, clock, stop = Flaky("a"), FakeClock(), threading.Event()
    requested, other = Asked(), Asked()
    as_map, as_predicates = (flaky, ()) if hook == "map function" else (itself, (Funcs(generic=flaky.accepts),))
    channel: Channel[Foo] = Channel(as_map, as_predicates, clock=clock)
    with recorded_metrics() as metrics:
        channel.start(requested, (), stop)
        channel.start(other, (Funcs(generic=lambda obj: obj.metadata.name != "a"),), stop)
        channel.send(new_foo("a"))
        channel.send(new_foo("b"))
        early = [(A, NORMAL)] if hook == "predicate" else []  # as if it had been accepted
        assert requested.requests == [*early, (B, NORMAL)]
        assert other.requests == [(B, NORMAL)]
        assert "object=ns/a" in caplog.text
        assert "SystemExit: no connection" in caplog.text
        for sleeps, failures in ((1, 1), (2, 2), (3, 2)):  # due after 1 s, and 2 s later
            clock.wait_for_sleeps(sleeps)
            state = channel.state()
            assert (state.failing, [str(failure.name) for failure in state.failures]) == (1, ["ns/a"])
            assert metrics["informer_callback_failures_total", "Foo", "handler"].value == failures
            clock.step(1.0)
            if failures == 2:
                flaky.failing.clear()
    eventually(lambda: requested.requests == [*early, (B, NORMAL), *([] if early else [(A, NORMAL)])])
    eventually(lambda: not any(thread.name == "channel-retries" for thread in threading.enumerate()))
    assert other.requests == [(B, NORMAL)]
    assert channel.state().failing == 0


def test_failures_of_map_functions_are_shown_with_their_names() -> None:
    requester, flaky = fake(new_foo("a")), Flaky("a", "b")
    manager, channel = manager_of(requester), Channel[Foo](flaky, name="hooks")
    builder = ControllerBuilder(manager).for_(ConfigMap).watches(Foo, flaky).watches_source(channel)
    builder.complete(lambda _: None)
    channel.send(new_foo("b"))
    with running(manager):
        states = eventually(
            lambda: [informer.state() for informer in manager._diagnostics.informers if informer.state().failing],
            lambda states: len(states) == 2,
        )
    failures = {(state.name, failure.hook, str(failure.name)) for state in states for failure in state.failures}
    assert failures == {("foos", "map function Flaky", "ns/a"), ("channel source: hooks", "map function Flaky", "ns/b")}


def test_stop_ends_the_retries_of_a_channel() -> None:
    clock, stop = FakeClock(), threading.Event()
    channel: Channel[Foo] = Channel(Flaky("a"), clock=clock)
    channel.start(Asked(), (), stop)
    channel.send(new_foo("a"))
    clock.wait_for_sleeps(1)
    stop.set()
    eventually(lambda: not any(thread.name == "channel-retries" for thread in threading.enumerate()))


def test_event_that_succeeds_before_its_retry_is_not_handled_again() -> None:
    flaky, clock, stop = Flaky("a"), FakeClock(), threading.Event()
    requested, channel, foo = Asked(), Channel[Foo](flaky, clock=clock), new_foo("a")
    channel.start(requested, (), stop)
    channel.send(foo)
    clock.wait_for_sleeps(1)
    flaky.failing.clear()
    channel.send(foo)  # the same object: a program may send one that it holds again and again
    clock.step(1.0)
    eventually(lambda: not any(thread.name == "channel-retries" for thread in threading.enumerate()))
    assert requested.requests == [(A, NORMAL)]
    assert not stop.is_set()  # which ends every controller


def test_sending_anything_but_an_object_is_rejected() -> None:
    with pytest.raises(AttributeError):
        Channel[Foo]().send(None)  # type: ignore[arg-type]
