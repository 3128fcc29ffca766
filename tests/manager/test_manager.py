"""Start, shutdown and failures of a manager."""

import threading

import pytest

from clientgo.errors import ConfigError, LeaseNotHeld
from clientgo.kubernetes.types.core_v1 import Event
from clientgo.manager import ControllerBuilder, LeaderElectionOptions, Manager, Options
from clientgo.rest import Config
from clientgo.serving import Unhealthy
from clientgo.stop.lifecycle import Group, StillRunning
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo
from generated.clientset.fake import FakeClientset
from tests.manager.managed import fake, manager_of, new_foo, running


class Part:
    """Runnable that records its start and end."""

    def __init__(self, name: str, notes: list[str], stage: str | None = None) -> None:
        self.name = name
        self.ready = threading.Event()
        self._notes = notes
        if stage is not None:
            self.stage = stage

    def start(self, stop: threading.Event) -> None:
        self._notes.append(f"{self.name} begins")
        self.ready.set()
        stop.wait()
        self._notes.append(f"{self.name} ends")


@pytest.mark.feature("A-11")
@pytest.mark.feature("B-CR-01")
def test_stages_begin_in_order_and_end_in_the_opposite_one() -> None:
    manager, notes = manager_of(fake()), list[str]()
    manager.add(Part("leader", notes))
    for stage in ("others", "caches", "webhooks", "servers"):
        manager.add(Part(stage, notes, stage))
    with running(manager):
        eventually(lambda: len(notes) == 5)
    begun = ["servers", "webhooks", "caches", "others", "leader"]
    assert notes == [f"{name} begins" for name in begun] + [f"{name} ends" for name in reversed(begun)]


def test_runnables_of_the_cache_stage_can_read_caches() -> None:
    manager, seen = manager_of(fake(new_foo())), list[Foo]()

    class Reading:
        stage = "caches"

        def start(self, stop: threading.Event) -> None:
            seen.extend(manager.client.list(Foo))

    # Before the caches' own threads.
    manager._stages["caches"]._waiting.insert(0, Reading())  # type: ignore[union-attr]
    with running(manager):
        eventually(lambda: seen)


@pytest.mark.feature("A-11")
def test_functions_are_runnables_and_late_ones_start_at_once() -> None:
    manager, notes = manager_of(fake()), list[str]()

    def early(stop: threading.Event) -> None:
        notes.append("early")

    manager.add(early)
    with running(manager):
        eventually(lambda: notes == ["early"])
        manager.add(Part("late", notes))
        eventually(lambda: notes[-1] == "late begins")
    assert notes[-1] == "late ends"


def test_non_runnable_is_rejected() -> None:
    manager = manager_of(fake())
    with pytest.raises(TypeError, match=r"int is not a runnable: it has no start\(stop\)"):
        manager.add(7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="invalid stage 'never'"):
        manager.add(Part("x", [], "never"))
    manager.close()


@pytest.mark.feature("A-11")
def test_error_of_a_runnable_stops_all_and_is_raised() -> None:
    manager, notes = manager_of(fake()), list[str]()

    def broken(stop: threading.Event) -> None:
        raise ZeroDivisionError("broken")

    manager.add(Part("other", notes, "others"))
    manager.add(broken)
    with pytest.raises(ZeroDivisionError, match="broken"), running(manager):
        pass
    assert notes == ["other begins", "other ends"]


@pytest.mark.feature("A-11")
def test_runnable_that_does_not_end_is_named_and_cannot_write() -> None:
    manager, release = manager_of(fake(), graceful_shutdown_timeout=0.05), threading.Event()
    refused: list[type[Exception]] = []

    def stubborn(stop: threading.Event) -> None:
        release.wait()
        try:
            manager.client.create(new_foo())
        except LeaseNotHeld as error:
            refused.append(type(error))

    manager.add(stubborn)
    with pytest.raises(StillRunning, match=r"still running 0\.05 s after the stop: stubborn"), running(manager):
        pass
    release.set()
    eventually(lambda: refused == [LeaseNotHeld])


@pytest.mark.feature("B-CR-01")
@pytest.mark.parametrize(("arguments", "seconds"), [(-1.0, None), (0.0, 0.0), (30.0, 30.0)])
def test_grace_period_may_be_zero_or_unlimited(arguments: float, seconds: float | None) -> None:
    assert Options(graceful_shutdown_timeout=arguments).grace == seconds
    assert Options().grace == 30.0


def test_manager_runs_only_once() -> None:
    manager = manager_of(fake())
    with running(manager):
        pass
    with pytest.raises(RuntimeError, match="a manager runs only once"):
        manager.run(threading.Event())


def test_manager_requires_a_name() -> None:
    with pytest.raises(ConfigError, match="the name of the cluster options must not be empty"):
        manager_of(fake(), name="")


@pytest.mark.feature("B-CR-02")
def test_leader_election_requires_an_id() -> None:
    with pytest.raises(ConfigError, match="leader election needs an id"):
        LeaderElectionOptions(id="")


def test_stage_waits_until_the_one_before_is_ready() -> None:
    manager, notes = manager_of(fake()), list[str]()
    slow = Part("webhooks", notes, "webhooks")
    slow.ready = threading.Event()
    release = threading.Event()

    def start(stop: threading.Event) -> None:
        release.wait(10.0)
        notes.append("ready")
        slow.ready.set()

    slow.start = start  # type: ignore[method-assign]
    manager.add(slow)
    manager.add(Part("others", notes, "others"))
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        eventually(lambda: manager._stages["webhooks"]._waiting is None)
        assert notes == []
        release.set()
        assert manager.elected.wait(10.0)
    assert notes[:2] == ["ready", "others begins"]


@pytest.mark.parametrize("election", [None, LeaderElectionOptions(id="test")])
def test_manager_stopped_before_its_start_ends(election: LeaderElectionOptions | None) -> None:
    manager, stop = manager_of(fake(new_foo()), leader_election=election), threading.Event()
    ControllerBuilder(manager).for_(Foo).named("early").complete(lambda _: None)
    stop.set()
    manager.run(stop)


def test_manager_is_not_ready_before_it_runs() -> None:
    manager = manager_of(fake())
    with pytest.raises(Unhealthy, match="not started yet"):
        manager._diagnostics.ready["shutdown"]()
    assert repr(manager) == "<Manager test of nothing>"
    manager.close()


@pytest.mark.feature("B-CR-01")
def test_zero_grace_period_neither_waits_nor_reports() -> None:
    manager, release = manager_of(fake(), graceful_shutdown_timeout=0.0), threading.Event()
    manager.add(lambda _: release.wait(10.0))
    with running(manager):
        pass
    release.set()


@pytest.mark.feature("B-CR-01")
def test_unlimited_grace_period_waits_until_the_end() -> None:
    manager, release = manager_of(fake(), graceful_shutdown_timeout=-1.0), threading.Event()

    def slow(stop: threading.Event) -> None:
        stop.wait()
        release.wait(10.0)

    manager.add(slow)
    with running(manager) as group:
        group.stop()
        assert group.alive() == ["manager"]
        release.set()


def test_fake_clientset_stands_in_for_a_cluster() -> None:
    clientset = FakeClientset(new_foo())
    manager = Manager(clientset)
    with running(manager):
        assert [foo.metadata.name for foo in manager.client.list(Foo)] == ["a"]
    assert manager.requester is clientset.requester


def test_manager_that_never_runs_opens_no_connection_and_releases_its_name() -> None:
    for _ in range(2):
        manager = Manager(Config("http://127.0.0.1:9"), options=Options(name="closed"))
        assert manager.cluster._informer_name() is None  # it has the name already
        manager.close()


def test_events_are_recorded_by_the_manager_s_name_and_sent_before_it_ends() -> None:
    requester = fake()
    manager = manager_of(requester)
    with running(manager):
        manager.recorder.event(new_foo(), "Normal", "Synced", "in order")
    (event,) = [action.object for action in requester.actions if action.verb == "create"]
    assert isinstance(event, Event | dict)
    assert requester.actions[0].resource.resource == "events"
