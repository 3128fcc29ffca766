"""Watches of a server by coroutines: time limits lose no event, and abandoned watches leave nothing behind."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clientgo.aio import AsyncClient
from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import DirectClient, Manager, Reconciler
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import ends_with
from clientgo.testing.eventually import eventually

pytestmark = pytest.mark.integration

OBJECTS, WATCHES = 200, 40


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    with Environment(server=BundledServer(simulate=False)) as config:
        yield config


def named(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("aio-")]


def sockets() -> int:
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the folder itself
            count += str(descriptor.readlink()).startswith("socket:")
    return count


def test_watch_of_a_server_loses_no_event_to_time_limits(config: Config) -> None:
    requester = RESTClient(config)

    async def writes(client: AsyncClient) -> None:
        for number in range(OBJECTS):
            await client.create(named(f"limited-{number}"))

    async def program() -> list[str]:
        client = AsyncClient(DirectClient(requester))
        names = list[str]()
        async with client.typed(ConfigMap, "default").watch() as watch, asyncio.TaskGroup() as group:
            group.create_task(writes(client))
            while f"limited-{OBJECTS - 1}" not in names:
                try:
                    async with asyncio.timeout(0.005):
                        async for event in watch:
                            names.append(event.object.metadata.name)
                except TimeoutError:
                    continue
        return names

    assert [name for name in asyncio.run(program()) if "limited" in name] == [f"limited-{n}" for n in range(OBJECTS)]
    requester.close()


def test_watches_abandoned_by_a_limit_leave_no_threads_and_no_sockets(config: Config) -> None:
    requester = RESTClient(config)

    async def abandon(client: AsyncClient) -> None:
        async with asyncio.timeout(0.5):
            async for _ in client.typed(ConfigMap, "default").watch():
                pass

    async def program() -> None:
        client = AsyncClient(DirectClient(requester))
        await client.find(ConfigMap, ObjectName("default", "none"))
        before = sockets()
        errors = await asyncio.gather(*(abandon(client) for _ in range(WATCHES)), return_exceptions=True)
        assert {type(error) for error in errors} == {TimeoutError}
        await asyncio.to_thread(eventually, lambda: not threads() and sockets() <= before)

    with Group() as group, ends_with(group.stop_event):
        asyncio.run(program())
    requester.close()


class Watching(Reconciler[ConfigMap]):
    """Abandons a watch in each reconciliation."""

    ended = 0

    async def reconcile(self, config_map: ConfigMap) -> None:
        async def watch() -> None:
            async for _ in AsyncClient(self.client).typed(ConfigMap, "default").watch():
                pass

        cancelled = asyncio.create_task(watch())
        await asyncio.sleep(0)
        cancelled.cancel()
        try:
            async with asyncio.timeout(0.05):
                await watch()
        finally:
            type(self).ended += 1


def test_watches_abandoned_in_a_reconciler_leave_no_threads_and_no_sockets(config: Config) -> None:
    requester, before = RESTClient(config), sockets()
    manager = Manager(requester)
    manager.add_reconciler(Watching)
    with Group() as group:
        group.start(manager.run, group.stop_event, name="manager")
        DirectClient(requester).create(named("watched"))
        eventually(lambda: Watching.ended >= WATCHES, seconds=60)
        # Each of the workers may be in a reconciliation. The manager has a few connections of its own.
        eventually(lambda: len(threads()) <= 2 and sockets() <= before + 20)
    requester.close()
    eventually(lambda: not threads() and sockets() <= before)
