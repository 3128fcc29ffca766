"""Fake of the manager's client, for unit tests of reconcilers: no cluster, no cache, no threads.

    client = FakeClient(app, deployment)
    client.fail("update", Deployment, Conflict("changed"), times=1)
    AppReconciler(client).reconcile(client.get(App, name))
    assert client.get(Deployment, name).spec.replicas == 3
    assert [action.verb for action in client.writes] == ["update", "update"]

`fail` makes calls fail; reactors (`prepend_reactor`) change them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from clientgo.cache.store import drop_managed_fields
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.manager.cache import check_indexed, index_name
from clientgo.manager.client import Client, DirectClient
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import EMPTY_MAP, ApiObject
from clientgo.meta.scheme import api_of, check_scope
from clientgo.meta.selectors import SelectorLike, everything
from clientgo.testing.fake import FakeControls, FakeRequester

T = TypeVar("T", bound=ApiObject)

List = list  # the class below has a method named list


class FakeClient(FakeControls, DirectClient):
    """Client that reads and writes the given objects in memory (controller-runtime's fake client).

    They are those of an API server in memory, which validates and sets defaults as any other. There are no controllers:
    workloads do not become ready, and the objects of a deleted owner remain. The given objects are stored as they are,
    with status and uid. Those that are read have no managedFields, as in a manager's cache. Lists of a class of
    `Unstructured` by a field use indexes only with `cache_unstructured`, as those of a manager with this option.
    """

    def __init__(
        self,
        *objects: object,
        field_manager: str = "fake",
        cache_unstructured: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        for obj in objects:
            if "__api_type__" in vars(type(obj)):
                check_scope(api_of(type(obj)), object_name(cast(ApiObject, obj)))
        self.fake = FakeRequester(*objects, clock=clock)
        self.calls = self.fake.calls
        # Its scheme, so that the fake knows which of the kinds in use have a status.
        super().__init__(self.fake, scheme=self.fake.scheme, field_manager=field_manager)
        self._cache_unstructured = cache_unstructured
        self.cache = self._cache
        """Cache without objects, for `cache.add_index`: lists by a field need an index here too."""

    def add_index(self, cls: type[T], field: str, values: Callable[[T], Iterable[str]]) -> None:
        """Index objects of a kind by a field, as the manager's client does."""
        self.cache.add_index(cls, field, values)

    def get(self, cls: type[T], name: ObjectName) -> T:
        """Return the object of that name; raises as the manager's client does."""
        return self._as_cached(cls, super().get(cls, name))

    def find(self, cls: type[T], name: ObjectName) -> T | None:
        """Return the object of that name, or None; raises as the manager's client does."""
        obj = super().find(cls, name)
        return None if obj is None else self._as_cached(cls, obj)

    def list(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        label_selector: SelectorLike = everything(),
        fields: Mapping[str, str] = EMPTY_MAP,
        limit: int = 0,
    ) -> List[T]:
        """Return the objects that match, at most `limit` of them; 0 for all. `NotIndexed` if a field has no index."""
        if Client._is_direct(self, cls):  # as by the manager's client; this one has no cache at all
            return super().list(cls, namespace=namespace, label_selector=label_selector, fields=fields, limit=limit)
        objects = [
            self._as_cached(cls, obj) for obj in super().list(cls, namespace=namespace, label_selector=label_selector)
        ]
        indexer = self.cache.informer(cls).indexer
        check_indexed(cls, indexer, fields)
        for name, expected in fields.items():
            objects = [obj for obj in objects if expected in indexer.values_of(index_name(name), obj)]
        return objects[: limit or None]

    def _as_cached(self, cls: type[T], obj: T) -> T:
        return obj if Client._is_direct(self, cls) else drop_managed_fields(obj)
