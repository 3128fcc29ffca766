"""Reconciler classes: declarations, finalizers, and mistakes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.backoff import Backoff
from clientgo.errors import ConfigError, NotFound
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Client, Reconciler, Result
from clientgo.manager.predicates import GenerationChanged, LabelSelectorPredicate
from clientgo.manager.reconciler import check_reconciler
from clientgo.meta import ObjectMeta, ObjectName, api_type, controller_of, meta_for, replace
from clientgo.reconcile.attempts import Attempts
from clientgo.record import EventRecorder, FakeRecorder
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running
from tests.workloads import deployment

NAME = ObjectName("ns", "a")


class Base(Reconciler[Foo], owns=[ConfigMap], workers=3, expected=[KeyError]):
    def reconcile(self, foo: Foo) -> Result | None:
        self.client.apply(ConfigMap(metadata=meta_for(foo), data={"of": foo.spec.deployment_name}), owner=foo)
        return None


def names_in(deployment: Deployment) -> list[ObjectName]:
    return [ObjectName("ns", deployment.metadata.name)]


def test_reconciler_is_called_with_the_object_and_its_owned_objects_lead_to_it() -> None:
    requester = fake(new_foo("a"))
    manager = manager_of(requester)
    controller = manager.add_reconciler(Base)
    assert (controller.name, controller.options.workers, controller.options.expected) == ("foo", 3, (KeyError,))
    with running(manager):
        built = eventually(lambda: manager.client.get(ConfigMap, NAME))
        assert dict(built.data) == {"of": "a-deployment"}
        owner = controller_of(built)
        assert owner is not None
        assert (owner.kind, owner.name) == ("Foo", "a")
        manager.client.delete(built)
        eventually(lambda: manager.api_reader.find(ConfigMap, NAME) is not None)


def test_subclass_inherits_the_declaration_and_changes_parts_of_it() -> None:
    class Derived(Base, workers=1, name="derived", predicates=[LabelSelectorPredicate("a=b")]):
        pass

    assert (Derived.declaration.kind, Derived.declaration.owns) == (Foo, [ConfigMap])
    assert (Derived.declaration.workers, Derived.declaration.name, Base.declaration.workers) == (1, "derived", 3)


def test_watched_kinds_lead_to_the_names_that_their_function_returns() -> None:
    seen: list[str] = []

    class Watching(Reconciler[Foo], watches={Deployment: names_in}):
        def reconcile(self, foo: Foo) -> None:
            seen.append(foo.metadata.name)

    manager = manager_of(fake(new_foo("a")))
    manager.add_reconciler(Watching)
    with running(manager):
        eventually(lambda: seen == ["a"])
        manager.client.create(deployment("a"))
        eventually(lambda: seen == ["a", "a"])


def test_finalizer_is_added_first_and_removed_when_finalize_is_done() -> None:
    reconciled: list[tuple[str, ...]] = []
    finalized: list[str] = []

    class Finalizing(Reconciler[Foo], finalizer="example.com/bucket"):
        def reconcile(self, foo: Foo) -> None:
            reconciled.append(foo.metadata.finalizers)

        def finalize(self, foo: Foo) -> Result | None:
            finalized.append(foo.metadata.name)
            if len(finalized) == 1:
                raise KeyError("bucket")
            return Result(requeue_after=0.001) if len(finalized) == 2 else None

    client = FakeClient(new_foo("a"))
    reconciler = Finalizing(client)
    assert reconciler.reconcile_request(NAME) is None
    client.delete(new_foo("a"))
    with pytest.raises(KeyError):
        reconciler.reconcile_request(NAME)
    assert reconciler.reconcile_request(NAME) == Result(requeue_after=0.001)
    assert client.get(Foo, NAME).metadata.finalizers == ("example.com/bucket",)
    assert reconciler.reconcile_request(NAME) is None
    assert client.find(Foo, NAME) is None
    assert set(reconciled) == {("example.com/bucket",)}
    assert finalized == ["a", "a", "a"]


def test_failed_finalizer_is_logged_as_such_and_recorded_as_an_event(caplog: pytest.LogCaptureFixture) -> None:
    class Finalizing(Reconciler[Foo], finalizer="example.com/bucket"):
        def reconcile(self, foo: Foo) -> None:
            raise NotFound("no deployment")

        def finalize(self, foo: Foo) -> None:
            raise NotFound("no bucket")

    client, recorder = FakeClient(new_foo("a")), FakeRecorder(10)
    attempts, reconciler = Attempts("Foo"), Finalizing(client, recorder)
    for _ in range(3):
        with attempts.at(NAME) as attempt:
            try:
                reconciler.reconcile_request(NAME)
            except NotFound as error:
                attempt.failed(error)
        client.delete(new_foo("a"))
    assert "cannot reconcile; will retry: no deployment" in caplog.text
    assert "cannot finalize; will retry: no bucket" in caplog.text
    # Users see an object that stays; the status reports what cannot be reconciled.
    assert recorder.drain() == ["Warning FailedFinalize cannot finalize: no bucket"]


def test_object_that_is_being_deleted_is_not_reconciled() -> None:
    foo = new_foo("a")
    gone = replace(foo.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC), finalizers=("other.com/x",))
    manager = manager_of(fake(replace(foo, metadata=gone)))

    class Failing(Reconciler[Foo]):
        def reconcile(self, foo: Foo) -> None:
            raise AssertionError("reconciled")

    reconciler = Failing(manager.client)
    with running(manager):
        assert eventually(lambda: manager.client.get(Foo, NAME)).metadata.finalizers == ("other.com/x",)
        assert reconciler.reconcile_request(NAME) is None
        assert reconciler.reconcile_request(ObjectName("ns", "missing")) is None


ONE_ERROR: Any = KeyError
ONE_PREDICATE: Any = GenerationChanged()


class NoKind(Reconciler):  # type: ignore[type-arg]
    def reconcile(self, obj: object) -> None:
        pass


class NotAKind(Reconciler[dict]):  # type: ignore[type-var, type-arg]
    def reconcile(self, obj: object) -> None:
        pass


class NoMethod(Reconciler[Foo]):
    pass


class TwoArguments(Reconciler[Foo]):
    def reconcile(self, foo: Foo, event: str) -> None:  # type: ignore[override]
        pass


class OneError(Base, expected=ONE_ERROR):
    pass


class OnePredicate(Base, predicates=ONE_PREDICATE):
    pass


@api_type(group="example.com", version="v1", status=False)
@dataclass
class Mutable:
    metadata: ObjectMeta


class OfMutable(Reconciler[Mutable]):
    def reconcile(self, mutable: Mutable) -> None:
        pass


@pytest.mark.parametrize(
    ("reconciler", "message"),
    [
        (OfMutable, "OfMutable: .*Mutable is mutable: use @dataclass"),
        (OneError, r"OneError: expected must be a list, got <class 'KeyError'>"),
        (OnePredicate, "OnePredicate: predicates must be a list, got <"),
        (NoKind, r"NoKind has no kind: write class NoKind\(Reconciler\[Kind\]\)"),
        (NotAKind, "NotAKind: builtins.dict is not an API kind: mark it with @api_type"),
        (NoMethod, r"NoMethod has no method reconcile\(self, foo\)"),
        (
            TwoArguments,
            "TwoArguments.reconcile must have the arguments \\(self, foo\\): missing a required argument: 'event'",
        ),
    ],
)
def test_mistake_is_reported_when_the_reconciler_is_added(reconciler: type[Reconciler[Foo]], message: str) -> None:
    manager = manager_of(fake())
    with pytest.raises(ConfigError, match=message):
        manager.add_reconciler(reconciler)
    manager.close()


def test_swapped_arguments_of_a_reconciler_are_reported() -> None:
    class Swapped(Reconciler[Foo]):
        def reconcile(self, foo: Foo) -> None:
            """Never called."""

    arguments: Any = (FakeRecorder(1), FakeClient())
    with pytest.raises(ConfigError, match=r"expected Swapped\(client, recorder\), in this order, got <FakeClient"):
        Swapped(*arguments)


def test_workers_of_the_manager_s_options_override_those_of_controllers() -> None:
    manager = manager_of(fake(), workers=7)
    assert manager.add_reconciler(Base).options.workers == 7
    manager.close()
    with pytest.raises(ConfigError, match="workers must be at least 1, got 0"):
        manager_of(fake(), workers=0)


def text_of(config: ConfigMap) -> list[str]:
    return [config.data.get("of", "")]


class Indexed(Reconciler[Foo], indexes={ConfigMap: {"of": text_of}}):
    def reconcile(self, foo: Foo) -> Result | None:
        for config in self.client.list(ConfigMap, namespace="ns", fields={"of": foo.spec.deployment_name}):
            self.client.delete(config)
        return None


def test_declared_indexes_select_objects_in_a_manager_and_in_a_fake_client() -> None:
    other, mine = (
        ConfigMap(metadata=ObjectMeta(name=name, namespace="ns"), data={"of": f"{name}-deployment"}) for name in "ba"
    )
    client = FakeClient(other, mine)
    for _ in range(2):  # the same declaration again changes nothing
        Indexed(client).reconcile(new_foo("a"))
    assert client.list(ConfigMap) == [client.get(ConfigMap, ObjectName("ns", "b"))]

    manager = manager_of(fake(new_foo("a"), other, mine))
    manager.add_reconciler(Indexed)
    with running(manager):
        eventually(lambda: [config.metadata.name for config in manager.client.list(ConfigMap)] == ["b"])


@pytest.mark.parametrize("indexes", [text_of, {ConfigMap: text_of}, {ConfigMap: {"of": lambda _first, _second: []}}])
def test_invalid_indexes_are_rejected(indexes: Any) -> None:
    class Invalid(Reconciler[Foo], indexes=indexes):
        def reconcile(self, foo: Foo) -> None:
            pass

    with pytest.raises((ConfigError, TypeError), match=r"indexes|object"):
        Invalid(FakeClient())


class Persistent(
    Reconciler[Foo], retries=1, timeout=5.0, backoff=Backoff(duration=0.01), expected=[OSError], name="persistent"
):
    def reconcile(self, foo: Foo) -> None:
        raise OSError("disk full")


def test_retries_timeout_and_backoff_are_those_of_the_class_and_giving_up_is_an_event() -> None:
    manager = manager_of(fake(new_foo("a")))
    recorder = FakeRecorder(1)
    assert recorder.events is not None
    controller = manager.add_reconciler(Persistent(manager.client, recorder))
    assert (controller.options.retries, controller.options.reconciliation_timeout) == (1, 5.0)
    with running(manager):
        event = recorder.events.get(timeout=20)
    assert event == "Warning GaveUp not retried any more, until it changes: OSError: disk full"


class Undeletable(Persistent, finalizer="example.com/disk", name="undeletable"):
    def finalize(self, foo: Foo) -> None:
        self.reconcile(foo)


def test_failed_finalizer_that_is_given_up_is_two_events() -> None:
    gone = replace(new_foo("a").metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    marked = replace(new_foo("a"), metadata=replace(gone, finalizers=("example.com/disk",)))
    manager = manager_of(fake(marked))
    recorder = FakeRecorder(3)
    assert recorder.events is not None
    manager.add_reconciler(Undeletable(manager.client, recorder))
    with running(manager):
        events = [recorder.events.get(timeout=20) for _ in range(2)]
    assert events == [
        "Warning FailedFinalize cannot finalize: disk full",
        "Warning GaveUp not retried any more, until it changes: OSError: disk full",
    ]


class Nightly(Reconciler[Foo]):
    def reconcile(self, foo: Foo) -> Result:
        return Result.cron("@daily", clock=self.clock)


def test_moment_of_the_next_reconciliation_is_of_the_reconciler_s_clock() -> None:
    clock = FakeClock()
    result = Nightly(FakeClient(), clock=clock).reconcile(new_foo("a"))
    assert result.requeue_after == 86400 - clock.time() % 86400


@pytest.mark.parametrize("keyword", ["retries", "timeout"])
def test_negative_limit_of_a_reconciler_is_reported(keyword: str) -> None:
    cls: Any = type("Negative", (Persistent,), {}, **{keyword: -1})
    with pytest.raises(ConfigError, match=f"Negative: {keyword} must be at least 0, got -1"):
        check_reconciler(cls)


def test_lists_given_to_a_class_may_be_changed_later() -> None:
    owned: list[type[Any]] = [ConfigMap]

    class Owning(Reconciler[Foo], owns=owned):
        def reconcile(self, foo: Foo) -> None:
            """Do nothing."""

    owned.append(Deployment)
    assert Owning.declaration.owns == [ConfigMap]


def test_unknown_class_keyword_is_an_error_that_lists_the_keywords() -> None:
    with pytest.raises(TypeError, match=r"Derived: unknown class keyword 'own': expected one of .*, owns, "):
        type("Derived", (Base,), {}, own=[ConfigMap])


class Checking(Base):
    def __init__(self, client: Client, recorder: EventRecorder, url: str) -> None:
        super().__init__(client, recorder)
        self._kind, self._finalizer, self._report = url, url, url

    def check(self, foo: Foo) -> bool:
        return foo.metadata.name == self._kind

    def reconcile(self, foo: Foo) -> Result | None:
        return super().reconcile(foo) if self.check(foo) else None


def test_reconciler_may_have_a_check_and_private_attributes_of_its_own() -> None:
    client = FakeClient(new_foo("a"))
    Checking(client, FakeRecorder(), "a").reconcile_request(NAME)
    assert client.get(ConfigMap, NAME).data == {"of": "a-deployment"}


def test_class_that_needs_further_arguments_is_an_error_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"'url': add an object: .*Checking\(manager.client, manager.rec"):
        manager_of(fake()).add_reconciler(Checking)
