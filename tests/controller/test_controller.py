"""Controller with fake clientsets: one sync at a time, without threads."""

import json
from asyncio import CancelledError
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.errors import Conflict, Invalid
from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentStatus
from clientgo.meta import ObjectMeta, ObjectName, api_of
from clientgo.meta import replace as changed
from clientgo.record import FakeRecorder
from clientgo.testing.actions import Action
from clientgo.testing.clock import FakeClock
from clientgo.testing.kubernetes import FakeClientset as FakeKubernetes
from controller.api.v1alpha1 import Foo, FooSpec, FooStatus
from controller.controller import Controller, ResourceExists
from controller.desired import new_deployment
from generated.clientset.fake import FakeClientset
from generated.informers import SharedInformerFactory

KEY = ObjectName("default", "test")


def new_foo(replicas: int | None = 1, available: int | None = None, deployment: str = "test-deployment") -> Foo:
    return Foo(
        metadata=ObjectMeta(name="test", namespace="default", uid="uid", resource_version="5"),
        spec=FooSpec(deployment_name=deployment, replicas=replicas),
        status=FooStatus(available_replicas=available),
    )


def deployment_of(foo: Foo, *, version: int = 7, available: int | None = None) -> Deployment:
    built = new_deployment(foo)
    return changed(
        built,
        metadata=changed(built.metadata, resource_version=str(version), uid="d"),
        status=DeploymentStatus(available_replicas=available),
    )


class Fixture:
    """Controller whose caches hold the servers' objects; nothing runs until the test calls it."""

    def __init__(self, *foos: Foo, deployments: tuple[Deployment, ...] = ()) -> None:
        self.foos, self.kube = FakeClientset(*foos), FakeKubernetes(*deployments)
        stored = self.foos.samplecontroller_v1alpha1.foos("").list().items
        stored_deployments = self.kube.apps_v1.deployments("").list().items
        self.foo = stored[0] if stored else new_foo()
        self.foos.clear_actions()
        self.kube.clear_actions()
        self.clock, self.recorder = FakeClock(), FakeRecorder(100)
        foo_informers, kube_informers = SharedInformerFactory(self.foos), KubernetesInformerFactory(self.kube)
        self.foo_informer = foo_informers.samplecontroller.v1alpha1.foos
        self.deployment_informer = kube_informers.apps.v1.deployments
        self.controller = Controller(
            self.kube.apps_v1, self.foos.samplecontroller_v1alpha1, self.deployment_informer, self.foo_informer,
            self.recorder, clock=self.clock,
        )  # fmt: skip
        self.foo_informer.informer.indexer.replace(stored)
        self.deployment_informer.informer.indexer.replace(stored_deployments)

    def events(self) -> list[str]:
        return self.recorder.drain()


def status_update(foo: Foo, available: int) -> Action:
    return Action.of("update", replace(foo, status=FooStatus(available)), subresource="status")


@pytest.mark.feature("A-31")
@pytest.mark.behaviour("SC-01")
def test_creates_the_deployment_and_reports_its_replicas_zero_included() -> None:
    foo = new_foo()
    fixture = Fixture(foo)
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == [Action.of("create", new_deployment(foo))]
    assert fixture.foos.writes == [status_update(fixture.foo, 0)]
    assert fixture.events() == ["Normal Synced Foo synced successfully"]


@pytest.mark.feature("A-31")
@pytest.mark.behaviour("SC-02")
def test_matching_deployment_is_not_changed_and_the_status_is_written_once() -> None:
    foo = new_foo()
    fixture = Fixture(foo, deployments=(deployment_of(foo),))
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []
    assert fixture.foos.writes == [status_update(fixture.foo, 0)]


def test_sync_without_differences_writes_nothing() -> None:
    foo = new_foo(available=1)
    fixture = Fixture(foo, deployments=(deployment_of(foo, available=1),))
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []
    assert fixture.foos.writes == []
    assert fixture.events() == []


@pytest.mark.feature("A-31")
@pytest.mark.behaviour("SC-03")
def test_scaling_changes_only_the_replicas() -> None:
    foo = new_foo(replicas=2)
    fixture = Fixture(foo, deployments=(deployment_of(new_foo(replicas=1)),))
    fixture.controller.sync(KEY)
    (patch,) = fixture.kube.writes
    assert (patch.verb, patch.namespace, patch.name) == ("patch", "default", "test-deployment")
    assert json.loads(patch.patch) == {"metadata": {"uid": "d"}, "spec": {"replicas": 2}}
    assert fixture.foos.writes == [status_update(fixture.foo, 0)]


def test_foreign_deployment_of_the_name_is_not_scaled() -> None:
    fixture = Fixture(new_foo(replicas=2), deployments=(deployment_of(new_foo(replicas=1)),))
    client = fixture.kube.apps_v1.deployments("default")
    client.delete("test-deployment")
    foreign = new_deployment(new_foo(replicas=9))
    client.create(changed(foreign, metadata=changed(foreign.metadata, uid="another", owner_references=())))
    with pytest.raises(Invalid, match=r"metadata\.uid: .*field is immutable"):
        fixture.controller.sync(KEY)
    assert client.get("test-deployment").spec.replicas == 9


@pytest.mark.feature("B-REC-12", "A-31")
@pytest.mark.behaviour("SC-04")
def test_foreign_deployment_is_not_changed_and_is_reported() -> None:
    foo = new_foo()
    theirs = deployment_of(foo)
    theirs = changed(theirs, metadata=changed(theirs.metadata, owner_references=()))
    fixture = Fixture(foo, deployments=(theirs,))
    message = 'Resource "test-deployment" already exists and is not managed by Foo'
    with pytest.raises(ResourceExists, match=message):
        fixture.controller.sync(KEY)
    assert fixture.kube.writes == []
    assert fixture.foos.writes == []
    assert fixture.events() == [f"Warning ErrResourceExists {message}"]


def test_writes_have_a_field_manager() -> None:
    fixture = Fixture(new_foo())
    fixture.controller.sync(KEY)
    assert {write.field_manager for write in (*fixture.kube.writes, *fixture.foos.writes)} == {"sample-controller"}


def test_deleted_foo_needs_nothing() -> None:
    fixture = Fixture()
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []


def test_foo_without_a_deployment_name_is_reported_and_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    fixture = Fixture(new_foo(deployment=""))
    fixture.controller.queue.add(KEY)
    fixture.controller.process_next()
    assert "deploymentName must be specified" in caplog.text
    assert fixture.controller.queue.num_requeues(KEY) == 0
    assert fixture.kube.writes == []


@pytest.mark.feature("C-52")
def test_write_is_not_repeated_while_the_cache_is_behind() -> None:
    fixture = Fixture(new_foo())
    fixture.controller.sync(KEY)
    fixture.kube.clear_actions()
    fixture.foos.clear_actions()
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []
    assert fixture.foos.writes == []


def test_deployment_that_vanished_is_created_again_at_once() -> None:
    foo = new_foo()
    fixture = Fixture(foo)
    fixture.controller.sync(KEY)
    gone = fixture.kube.apps_v1.deployments("default").get("test-deployment")
    fixture.kube.tracker.delete(api_of(Deployment).gvr, "default", "test-deployment")
    informer = fixture.deployment_informer.informer
    informer.distributor.apply("", "DELETED", gone, "150")  # as its reflector does
    fixture.controller.delete_deployment(gone)
    assert list(fixture.controller.queue.get()) == list(KEY)
    fixture.kube.clear_actions()
    fixture.controller.sync(KEY)
    assert [action.verb for action in fixture.kube.writes] == ["create"]


def test_deployment_is_not_recreated_for_a_deleted_foo_in_the_cache() -> None:
    fixture = Fixture(new_foo(available=1))
    fixture.foos.samplecontroller_v1alpha1.foos("default").delete("test")
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []


def test_deployment_is_not_recreated_for_a_replaced_foo() -> None:
    fixture = Fixture(new_foo(available=1))
    other = new_foo()
    fixture.foos.prepend_reactor(
        "get", "foos", lambda _: (True, replace(other, metadata=changed(other.metadata, uid="another")))
    )
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []


def renamed(*, shared: bool = True) -> tuple[Fixture, Deployment]:
    """Return a controller with a Foo whose Deployment `old` was renamed; the server has the new name if `shared`."""
    former = deployment_of(new_foo(deployment="old"))
    fixture = Fixture(new_foo(available=1, deployment="new"), deployments=(former,))
    if not shared:
        newer = new_foo(deployment="newest")
        fixture.foos.prepend_reactor("get", "foos", lambda _: (True, newer))
    return fixture, former


def test_the_deployment_of_a_former_name_is_deleted_after_the_new_one_is_created() -> None:
    fixture, former = renamed()
    fixture.controller.sync(KEY)
    assert [(write.verb, write.name) for write in fixture.kube.writes] == [("create", "new"), ("delete", "old")]
    fixture.deployment_informer.informer.indexer.replace((fixture.kube.writes[0].object, former))
    fixture.controller.sync(KEY)  # the cache still has it
    assert [d.metadata.name for d in fixture.kube.apps_v1.deployments("default").list().items] == ["new"]


def test_nothing_is_created_or_deleted_for_a_name_that_is_no_longer_in_the_spec() -> None:
    fixture, _ = renamed(shared=False)
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []


def test_deployment_that_the_foo_does_not_control_is_never_deleted() -> None:
    other = new_foo(deployment="other")
    foreign = deployment_of(replace(other, metadata=changed(other.metadata, uid="another")))
    fixture = Fixture(new_foo(), deployments=(foreign,))
    fixture.controller.sync(KEY)
    assert [write.verb for write in fixture.kube.writes] == ["create"]


@pytest.mark.parametrize("collected", [True, False])
def test_foo_that_is_being_deleted_is_left_to_the_garbage_collector(collected: bool) -> None:
    foo = new_foo(replicas=2)
    leaving = replace(foo, metadata=changed(foo.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))
    fixture = Fixture(leaving, deployments=() if collected else (deployment_of(new_foo(replicas=1)),))
    fixture.controller.sync(KEY)
    assert fixture.kube.writes == []
    assert fixture.foos.writes == []


@pytest.mark.feature("A-31")
def test_failed_sync_is_retried_with_backoff_and_success_resets_it() -> None:
    fixture = Fixture(new_foo())

    def refuse(_: Action) -> tuple[bool, object]:
        raise Conflict("the object has been modified")

    fixture.kube.prepend_reactor("create", "deployments", refuse)
    queue = fixture.controller.queue
    queue.add(KEY)
    for failures, delay in ((1, 0.005), (2, 0.01), (3, 0.02)):
        fixture.controller.process_next()
        assert (queue.num_requeues(KEY), len(queue)) == (failures, 0)
        fixture.clock.step(delay)
    fixture.kube.prepend_reactor("create", "deployments", lambda _: (True, deployment_of(new_foo())))
    fixture.controller.process_next()
    assert queue.num_requeues(KEY) == 0


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("error", [Silent(), CancelledError(), SystemExit(1)], ids=lambda error: type(error).__name__)
def test_sync_that_raises_anything_is_retried(error: BaseException) -> None:
    fixture = Fixture(new_foo())

    def fail(_: Action) -> tuple[bool, object]:
        raise error

    fixture.kube.prepend_reactor("create", "deployments", fail)
    fixture.controller.queue.add(KEY)
    fixture.controller.process_next()
    assert dict(fixture.controller.queue.state().waiting) == {KEY: 0.005}


def waiting(fixture: Fixture) -> list[ObjectName]:
    return [fixture.controller.queue.get() for _ in range(len(fixture.controller.queue))]


@pytest.mark.feature("C-26", "A-31")
def test_changed_deployment_enqueues_its_foo_and_a_resync_does_not() -> None:
    fixture = Fixture()
    old, new = deployment_of(new_foo(), version=1), deployment_of(new_foo(), version=2)
    fixture.controller.update_deployment(old, old)
    assert waiting(fixture) == []
    fixture.controller.update_deployment(old, new)
    assert waiting(fixture) == [KEY]


def test_resynced_foo_is_enqueued() -> None:
    fixture = Fixture()
    fixture.controller.update_foo(new_foo(), new_foo())
    assert waiting(fixture) == [KEY]


@pytest.mark.feature("A-31")
@pytest.mark.parametrize("unseen", [pytest.param(False, id="seen"), pytest.param(True, id="unseen: a tombstone")])
def test_deleted_deployment_enqueues_its_foo(unseen: bool) -> None:
    fixture = Fixture()
    gone = deployment_of(new_foo())
    fixture.controller.delete_deployment(
        DeletedFinalStateUnknown(ObjectName("default", "test-deployment"), gone) if unseen else gone
    )
    assert waiting(fixture) == [KEY]


def test_foreign_deployments_are_ignored() -> None:
    fixture = Fixture()
    built = deployment_of(new_foo())
    (owner,) = built.metadata.owner_references
    for reference in (
        changed(owner, kind="Bar"),
        changed(owner, api_version="other.example.com/v1"),
        changed(owner, controller=False),
    ):
        stranger = changed(built, metadata=changed(built.metadata, owner_references=(reference,)))
        fixture.controller.handle_deployment(stranger)
    fixture.controller.delete_deployment(DeletedFinalStateUnknown(ObjectName("default", "x"), None))
    assert waiting(fixture) == []
