"""Cached reads of an `AsyncClient`: in the event loop's thread, unless they may wait or take long."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from clientgo.aio import AsyncClient
from clientgo.aio.clients import LISTED_AT_ONCE
from clientgo.errors import NotFound
from clientgo.manager import Manager
from clientgo.meta import ObjectName
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running

A = ObjectName("ns", "a")


@pytest.fixture
def manager() -> Iterator[Manager]:
    built = manager_of(fake(new_foo("a"), new_foo("b", namespace="other")))
    with running(built):
        yield built


async def without_threads() -> None:
    """Leave the running loop without threads for calls."""
    await asyncio.get_running_loop().shutdown_default_executor()


def test_synced_cache_is_read_without_a_thread(manager: Manager) -> None:
    async def program() -> None:
        client = AsyncClient(manager.client)
        assert await client.get(Foo, A) == manager.client.get(Foo, A)  # begins the cache
        await without_threads()
        assert await client.get(Foo, A) == await client.find(Foo, A) == (await client.list(Foo, namespace="ns"))[0]
        assert await client.find(Foo, A._replace(name="absent")) is None
        with pytest.raises(NotFound):
            await client.get(Foo, A._replace(name="absent"))

    asyncio.run(program())


def test_read_that_may_wait_needs_a_thread(manager: Manager) -> None:
    async def program() -> None:
        client = AsyncClient(manager.client)
        await without_threads()
        for read in (client.get(Foo, A), client.find(Foo, A), client.list(Foo)):
            with pytest.raises(RuntimeError, match="shutdown"):
                await read

    asyncio.run(program())


@pytest.mark.parametrize(
    "read",
    [lambda client: client.get(Foo, A), lambda client: client.find(Foo, A), lambda client: client.list(Foo)],
    ids=["get", "find", "list"],
)
def test_cache_that_another_task_stops_meanwhile_is_not_waited_for_in_the_event_loop(
    manager: Manager, read: Callable[[AsyncClient], Coroutine[Any, Any, object]]
) -> None:
    async def program() -> None:
        client = AsyncClient(manager.client)
        await client.get(Foo, A)
        await without_threads()
        reading = asyncio.create_task(read(client))
        await asyncio.sleep(0)
        assert manager.cache.remove(Foo)
        with pytest.raises(RuntimeError, match="shutdown"):
            await reading

    asyncio.run(program())


def test_long_list_needs_a_thread() -> None:
    async def program(client: AsyncClient) -> None:
        assert len(await client.list(Foo)) == LISTED_AT_ONCE + 1
        await without_threads()
        assert (await client.get(Foo, ObjectName("ns", "foo-0"))).metadata.name == "foo-0"
        with pytest.raises(RuntimeError, match="shutdown"):
            await client.list(Foo)

    manager = manager_of(fake(*(new_foo(f"foo-{number}") for number in range(LISTED_AT_ONCE + 1))))
    with running(manager):
        asyncio.run(program(AsyncClient(manager.client)))


def test_task_that_only_reads_the_cache_is_cancelled_and_lets_others_run(manager: Manager) -> None:
    async def read_for_ever(client: AsyncClient) -> None:
        while True:
            await client.find(Foo, A)

    async def program() -> None:
        client = AsyncClient(manager.client)
        await client.get(Foo, A)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await read_for_ever(client)

    asyncio.run(program())
