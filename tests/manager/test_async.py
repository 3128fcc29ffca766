"""Coroutine functions of a program, in the event loops of their threads: reconcilers, finalizers, runnables."""

import asyncio
import threading

import pytest

from clientgo.aio import AsyncClient
from clientgo.errors import Cancelled
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Client, ControllerBuilder, Finalizers, Reconciler, Result
from clientgo.meta import ObjectMeta, ObjectName, replace
from clientgo.record import EventRecorder
from clientgo.stop.lifecycle import Group, MaybeCoroutine, finished
from clientgo.testing.client import FakeClient
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import KNOWN, fake, manager_of, new_foo, running


class Copying(Reconciler[Foo], finalizer="example.com/copy"):
    def __init__(self, client: Client, recorder: EventRecorder | None = None) -> None:
        super().__init__(client, recorder)
        self.aio = AsyncClient(client)
        self.loops = list[asyncio.AbstractEventLoop]()

    async def reconcile(self, foo: Foo) -> Result | None:
        self.loops.append(asyncio.get_running_loop())
        await self.aio.apply(copy_of(foo), owner=foo)
        return Result(requeue_after=600.0)

    async def finalize(self, foo: Foo) -> Result | None:
        await self.aio.delete(copy_of(foo), missing_ok=True)
        return None


def copy_of(foo: Foo) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=foo.metadata.name, namespace=foo.metadata.namespace))


def test_coroutine_functions_reconcile_and_finalize_in_the_loop_of_their_worker() -> None:
    manager = manager_of(FakeRequester(new_foo("a"), new_foo("b"), scheme=KNOWN))
    reconciler = Copying(manager.client, manager.recorder)
    manager.add_reconciler(reconciler)
    with running(manager):
        eventually(lambda: len(manager.client.list(ConfigMap)) == 2)
        foo = eventually(lambda: manager.client.get(Foo, ObjectName("ns", "a")))
        manager.client.delete(foo)
        eventually(lambda: manager.api_reader.find(Foo, ObjectName("ns", "a")) is None)
        assert [copy.metadata.name for copy in manager.client.list(ConfigMap)] == ["b"]
    assert len(set(reconciler.loops)) == 1
    assert reconciler.loops[0].is_closed()


class Endless(Reconciler[Foo]):
    def setup(self, builder: ControllerBuilder) -> None:
        builder.with_options(reconciliation_timeout=self.timeout)

    timeout = 0.0
    began, cleaned = threading.Event(), threading.Event()

    async def reconcile(self, foo: Foo) -> Result | None:
        self.began.set()
        try:
            await asyncio.sleep(600)
        finally:
            self.cleaned.set()
        return None


class Limited(Endless):
    timeout = 0.05
    began, cleaned = threading.Event(), threading.Event()


def test_coroutine_is_cancelled_at_the_end_of_the_grace_period() -> None:
    manager = manager_of(fake(new_foo("a")), graceful_shutdown_timeout=0.4)
    manager.add_reconciler(Endless)
    with running(manager):  # without StillRunning at its end
        assert Endless.began.wait(20)
    assert Endless.cleaned.is_set()


def test_coroutine_is_cancelled_at_the_time_limit_of_its_reconciliation() -> None:
    manager = manager_of(fake(new_foo("a")))
    controller = manager.add_reconciler(Limited)
    with running(manager):
        eventually(lambda: controller.queue.num_requeues(ObjectName("ns", "a")) > 1)
    assert Limited.cleaned.is_set()


class Exiting(Reconciler[Foo]):
    async def reconcile(self, foo: Foo) -> Result | None:
        await asyncio.sleep(0)
        if foo.metadata.name.startswith("bad"):
            async with asyncio.TaskGroup() as group:
                group.create_task(exit_program())
        return Result(requeue_after=600.0)


async def exit_program() -> None:
    raise SystemExit(3)


def test_system_exit_of_one_reconciliation_is_of_that_one_only(caplog: pytest.LogCaptureFixture) -> None:
    manager = manager_of(fake(new_foo("bad"), *(new_foo(f"good-{number}") for number in range(5))))
    controller = manager.add_reconciler(Exiting)
    with running(manager):  # whose end does not raise SystemExit
        eventually(lambda: controller.queue.num_requeues(ObjectName("ns", "bad")) > 5)
        assert all(controller.queue.num_requeues(ObjectName("ns", f"good-{n}")) == 0 for n in range(5))
    assert not [record for record in caplog.records if "good" in record.getMessage() and record.levelname == "ERROR"]


async def add_label(foo: Foo) -> Foo:
    await asyncio.sleep(0)
    return replace(foo, metadata=replace(foo.metadata, labels={"cleaned": "up"}))


def test_function_of_a_finalizer_may_be_a_coroutine_function() -> None:
    client = FakeClient()
    finalizers = Finalizers(client)
    finalizers.register("example.com/a", add_label)
    foo, _ = finalizers.finalize(client.create(new_foo("a")))
    client.delete(foo)
    cleaned, _ = finalizers.finalize(client.get(Foo, ObjectName("ns", "a")))
    assert (cleaned.metadata.labels, cleaned.metadata.finalizers) == ({"cleaned": "up"}, ())


def test_runnable_of_the_manager_may_be_a_coroutine_function() -> None:
    manager, began = manager_of(fake()), threading.Event()

    async def serve(_: threading.Event) -> None:
        began.set()
        await asyncio.Event().wait()

    manager.add(serve)
    with running(manager):
        assert began.wait(20)


async def twice(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_coroutine_ends_in_a_thread_without_a_group_too() -> None:
    results: list[MaybeCoroutine[int]] = [twice(2), 4]
    assert [finished(result) for result in results] == [4, 4]
    endless: MaybeCoroutine[None] = asyncio.sleep(600)
    with pytest.raises(Cancelled, match="cancelled: still running"):
        finished(endless, timeout=0.01)


def test_coroutine_s_own_cancellation_is_passed_on() -> None:
    async def cancel() -> None:
        raise asyncio.CancelledError

    with Group() as group:
        errors = list[BaseException]()

        def work() -> None:
            cancelled: MaybeCoroutine[None] = cancel()
            try:
                finished(cancelled)
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

        group.start(work, name="work")
    assert [type(error) for error in errors] == [asyncio.CancelledError]
