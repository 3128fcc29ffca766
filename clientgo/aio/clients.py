"""Methods of the library's clients as coroutines; each only calls the client's method, in a thread if it may wait."""

import asyncio
from typing import Any, Generic, TypeVar, cast

from clientgo.aio.calls import in_own_thread, in_thread
from clientgo.aio.streams import streaming
from clientgo.manager.client import Client
from clientgo.manager.kinds import ApiReader
from clientgo.manager.requesters import FieldValidation
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import ApiObject
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.scale import ScaleClient
from clientgo.typed.subresources import Subresource

T = TypeVar("T")
A = TypeVar("A", bound=ApiObject)

LISTED_AT_ONCE = 1_000
"""Objects of a cache from which a list is read in the event loop's thread; more would hold up its other tasks."""


class AsyncTypedClient(Generic[T]):
    """Methods of the typed client of a kind as coroutines: `AsyncTypedClient(clientset.core_v1.pods("default"))`."""

    def __init__(self, client: TypedClient[T]) -> None:
        self.get = in_thread(client.get)
        self.list = in_thread(client.list)
        self.list_page = in_thread(client.list_page)
        self.list_parts = streaming(client.list_parts)
        self.create = in_thread(client.create)
        self.update = in_thread(client.update)
        self.patch = in_thread(client.patch)
        self.patch_to = in_thread(client.patch_to)
        self.apply = in_thread(client.apply)
        self.delete = in_thread(client.delete)
        self.delete_collection = in_thread(client.delete_collection)
        self.watch = streaming(client.watch)
        self.watch_from = streaming(client.watch_from)


class AsyncStatusClient(AsyncTypedClient[T]):
    """Methods of the typed client of a kind with a status subresource as coroutines."""

    def __init__(self, client: StatusClient[T]) -> None:
        super().__init__(client)
        self.update_status = in_thread(client.update_status)
        self.patch_status = in_thread(client.patch_status)
        self.apply_status = in_thread(client.apply_status)


class AsyncScaleClient(AsyncStatusClient[T]):
    """Methods of the typed client of a kind with a scale subresource as coroutines."""

    def __init__(self, client: ScaleClient[T]) -> None:
        super().__init__(client)
        self.get_scale = in_thread(client.get_scale)
        self.update_scale = in_thread(client.update_scale)
        self.patch_scale = in_thread(client.patch_scale)


class AsyncSubresource:
    """Methods of a `Subresource` as coroutines."""

    def __init__(self, subresource: Subresource) -> None:
        self.name = subresource.name
        self.get = in_thread(subresource.get)
        self.create = in_thread(subresource.create)
        self.update = in_thread(subresource.update)
        self.patch = in_thread(subresource.patch)


class AsyncApiReader:
    """Methods of an `ApiReader` as coroutines."""

    def __init__(self, reader: ApiReader) -> None:
        self.get = in_thread(reader.get)
        self.find = in_thread(reader.find)
        self.list = in_thread(reader.list)
        self.each = streaming(reader.each)


List = list  # the class below has a method named list


class AsyncClient:
    """Methods of the manager's `Client`, or of a `DirectClient`, as coroutines; usable in any number of event loops."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.api_reader = AsyncApiReader(client.api_reader)
        self._get = in_thread(client.get)
        self._find = in_thread(client.find)
        self._list = in_thread(client.list)
        self.has_cached = client.has_cached
        self.still_exists = in_thread(client.still_exists)
        self.is_current = in_thread(client.is_current)
        self.wait = in_own_thread(client.wait)
        self.add_index = in_thread(client.add_index)
        self.create = in_thread(client.create)
        self.update = in_thread(client.update)
        self.update_status = in_thread(client.update_status)
        self.patch = in_thread(client.patch)
        self.patch_to = in_thread(client.patch_to)
        self.patch_status = in_thread(client.patch_status)
        self.apply = in_thread(client.apply)
        self.apply_configuration = in_thread(client.apply_configuration)
        self.delete = in_thread(client.delete)
        self.delete_all_of = in_thread(client.delete_all_of)
        self.generated = client.generated  # for `in_thread`; it sends nothing

    async def get(self, cls: type[A], name: ObjectName) -> A:
        """Return the object of that name, as `Client.get`."""
        # Other tasks have a turn, and a cancelled one ends; before the look at the cache, which they may stop.
        await asyncio.sleep(0)
        return self.client.get(cls, name) if self.has_cached(cls, name.namespace) else await self._get(cls, name)

    async def find(self, cls: type[A], name: ObjectName) -> A | None:
        """Return the object of that name, or None, as `Client.find`."""
        await asyncio.sleep(0)
        return self.client.find(cls, name) if self.has_cached(cls, name.namespace) else await self._find(cls, name)

    async def list(self, cls: type[A], *, namespace: str = "", **selection: Any) -> List[A]:
        """Return the objects that match, as `Client.list`."""
        await asyncio.sleep(0)
        if self.has_cached(cls, namespace, at_most=LISTED_AT_ONCE):
            return self.client.list(cls, namespace=namespace, **selection)
        return await self._list(cls, namespace=namespace, **selection)

    def writing(
        self, *, field_manager: str | None = None, field_validation: FieldValidation | None = None
    ) -> "AsyncClient":
        """Return a client with another field manager or field validation."""
        other = self.client.writing(field_manager=field_manager, field_validation=field_validation)
        return AsyncClient(other)

    def subresource(self, name: str) -> AsyncSubresource:
        """Return a client of a subresource such as `scale`, `eviction` or `status`."""
        return AsyncSubresource(self.client.subresource(name))

    def typed(self, cls: type[A], namespace: str = "") -> AsyncScaleClient[A]:
        """Return the typed client of a kind, for its watches and for methods missing here."""
        client: TypedClient[A] = self.client.typed(cls, namespace)
        match client:
            case ScaleClient():
                return AsyncScaleClient(client)
            case StatusClient():
                return cast("AsyncScaleClient[A]", AsyncStatusClient(client))
        return cast("AsyncScaleClient[A]", AsyncTypedClient(client))
