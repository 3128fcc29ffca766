"""Clients for programs with an event loop, such as FastAPI: the methods of the library's clients as coroutines.

    client = AsyncClient(DirectClient(RESTClient(load_config())))
    pod = await client.get(Pod, ObjectName("default", "web"))
    async with client.typed(Pod, "default").watch() as events:
        async for event in events:
            print(event.type, event.object.metadata.name)

In an `async def reconcile`, `AsyncClient(self.client)` does the same. Each call runs in one of the threads of the event
loop, and a stream in a thread of its own; no logic is here. `in_thread(pods.evict)` and `streaming(pods.logs)` do the
same for other functions. A call or stream whose task is cancelled ends at once; a write may have been carried out.
"""

from clientgo.aio.calls import in_own_thread, in_thread
from clientgo.aio.clients import (
    AsyncApiReader,
    AsyncClient,
    AsyncScaleClient,
    AsyncStatusClient,
    AsyncSubresource,
    AsyncTypedClient,
)
from clientgo.aio.streams import AsyncStream, streaming

__all__ = [
    "AsyncClient", "AsyncApiReader", "AsyncSubresource",
    "AsyncTypedClient", "AsyncStatusClient", "AsyncScaleClient",
    "AsyncStream", "in_thread", "in_own_thread", "streaming",
]  # fmt: skip
