"""Clients as coroutines: the event loop goes on while requests are in progress, and cancelled ones end."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.aio import (
    AsyncApiReader,
    AsyncClient,
    AsyncScaleClient,
    AsyncStream,
    AsyncSubresource,
    in_own_thread,
    in_thread,
    streaming,
)
from clientgo.cache.watchtools import RetryWatcher
from clientgo.dynamic.unstructured import metadata_type, unstructured_type
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ConnectionFailed, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ApiReader, DirectClient
from clientgo.manager.client import Client
from clientgo.meta import GroupVersionResource, ObjectMeta, ObjectName, replace
from clientgo.rest import RESTClient
from clientgo.stop.stopping import current_scopes, on_stop
from clientgo.testing.client import FakeClient
from clientgo.typed.scale import ScaleClient
from clientgo.typed.subresources import Subresource

A = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"a": "1"})
NAME = ObjectName("default", "a")


def methods(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


ATTRIBUTES = {"kind", "accept", "accept_list", "lists_in_parts"}


@pytest.mark.parametrize(
    ("blocking", "build"),
    [
        (Client, AsyncClient),
        (ScaleClient, lambda client: AsyncScaleClient(client.typed(ConfigMap, "default"))),
        (ApiReader, lambda client: AsyncApiReader(client.api_reader)),
        (Subresource, lambda client: AsyncSubresource(client.subresource("status"))),
    ],
)
def test_every_method_of_a_client_has_a_counterpart(blocking: type, build: Callable[[Client], object]) -> None:
    assert methods(blocking) - ATTRIBUTES - set(dir(build(FakeClient()))) == set()


def test_objects_are_written_and_read_by_coroutines() -> None:
    async def program() -> None:
        client = AsyncClient(FakeClient())
        assert await client.find(ConfigMap, NAME) is None
        created = await client.writing(field_manager="other").create(A)
        assert await client.api_reader.get(ConfigMap, NAME) == created
        changed = await client.update(replace(created, data={"a": "2"}))
        assert await client.typed(ConfigMap, "default").get("a") == changed
        assert await client.wait(changed, condition="jsonpath={.data.a}=2") == [changed]
        assert [obj.data async for obj in client.api_reader.each(ConfigMap)] == [{"a": "2"}]
        await client.delete(changed)
        with pytest.raises(NotFound):
            await client.api_reader.get(ConfigMap, NAME)

    asyncio.run(program())


@pytest.mark.parametrize("kind", [unstructured_type, metadata_type])
def test_kinds_without_a_class_have_the_methods_of_their_typed_client(kind: Callable[..., type[Any]]) -> None:
    async def program() -> None:
        client = AsyncClient(FakeClient(A))
        cls = kind(GroupVersionResource("", "v1", "configmaps"), kind="ConfigMap")
        assert (await client.typed(cls, "default").get("a")).metadata.name == "a"

    asyncio.run(program())


def test_loop_goes_on_while_a_call_blocks() -> None:
    async def program() -> bool:
        event = threading.Event()
        blocked = asyncio.create_task(in_thread(event.wait)(20))
        await asyncio.sleep(0)
        event.set()
        return await blocked

    assert asyncio.run(program())


def test_more_calls_than_threads_take_turns_and_all_return() -> None:
    async def program() -> list[int]:
        return await asyncio.gather(*(in_thread(abs)(-n) for n in range(100)))

    for _ in range(2):  # each time in another loop
        assert asyncio.run(program()) == list(range(100))


def test_cancelled_call_ends_its_requests() -> None:
    ended = threading.Event()

    def request() -> None:
        with on_stop(ended.set):
            ended.wait(20)

    async def program() -> None:
        for wrapped in (in_thread, in_own_thread):
            ended.clear()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await wrapped(request)()
            assert ended.wait(20)

    asyncio.run(program())


def test_call_has_the_context_of_its_task() -> None:
    async def program() -> None:
        before = current_scopes()
        assert (await in_thread(current_scopes)())[:-1] == before

    asyncio.run(program())


def test_error_of_a_stream_is_raised() -> None:
    async def program() -> None:
        client = AsyncClient(FakeClient())
        with pytest.raises(ValueError, match="initial RV"):
            await anext(streaming(lambda: RetryWatcher(client.client.typed(ConfigMap), "0"))())

    asyncio.run(program())


@pytest.mark.integration
def test_watch_of_a_server_is_read_and_closed_while_it_is_silent() -> None:
    async def program(client: AsyncClient) -> None:
        created = await client.create(A)
        stream = client.typed(ConfigMap, "default").watch()
        assert (await anext(stream)).object == created
        waiting = asyncio.create_task(read(stream))
        changed = await client.patch(created, {"data": {"a": "2"}})
        await client.wait(changed, condition="jsonpath={.data.a}=2")
        await asyncio.sleep(0.05)
        await stream.aclose()
        assert [event.object for event in await waiting] == [changed]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    async def read(stream: AsyncStream[Any]) -> list[Any]:
        return [event async for event in stream]

    with Environment(server=BundledServer(simulate=False)) as config:
        requester = RESTClient(config)
        asyncio.run(program(AsyncClient(DirectClient(requester))))
        requester.close()
    with pytest.raises(ConnectionFailed):
        asyncio.run(AsyncClient(DirectClient(requester)).api_reader.find(ConfigMap, NAME))
