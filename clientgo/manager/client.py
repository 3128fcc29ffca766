"""Client that reads from the cache and writes to the server.

    foo = manager.client.find(Foo, request)
    pods = manager.client.list(Pod, namespace=request.namespace, label_selector="app=web")
    manager.client.update_status(replace(foo, status=FooStatus(available_replicas=3)))

The class determines the kind. Cached reads need no request, include this client's own writes and deletions (under the
conditions in docs/guarantees.md), and see nothing outside the cache; `client.api_reader` reads from the server instead.
Writes require the lease: a replica that does not lead gets `LeaseNotHeld`.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

from clientgo.cache.lister import not_found
from clientgo.dynamic.unstructured import Unstructured
from clientgo.dynamic.waiting import wait_for
from clientgo.errors import NotFound
from clientgo.manager.cache import Cache, check_indexed, index_name
from clientgo.manager.kindcache import KindCache
from clientgo.manager.kinds import ApiReader, Kinds
from clientgo.manager.options import CacheOptions
from clientgo.manager.owners import set_controller_reference
from clientgo.manager.requesters import FieldValidation, RecordingRequester, ValidatingRequester, limit_of_wait
from clientgo.meta.codec import to_dict
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import EMPTY_MAP, ApiObject, ObjectMeta
from clientgo.meta.scheme import Scheme, api_of, check_namespace, check_scope
from clientgo.meta.selectors import SelectorLike, everything, field_selector_for, selector_of
from clientgo.rest.request import MERGE_PATCH, Requester, checked_requester
from clientgo.typed.create import CreateClient, Patch
from clientgo.typed.options import DeleteOptions
from clientgo.typed.scale import ScaleClient
from clientgo.typed.subresources import Subresource

if TYPE_CHECKING:  # most programs apply no configurations
    from clientgo.meta.applyconfiguration import ObjectApplyConfiguration

T = TypeVar("T", bound=ApiObject)

R = TypeVar("R", bound=ApiObject)
C = TypeVar("C", bound=CreateClient[Any])


List = list  # the class below has a method named list


class Client:
    """Reads from `cache` and writes through `writer` as `field_manager`. Thread-safe.

    `api_reader` has `get`, `find` and `list` as well, which read from the server. `field_validation` tells the server
    how to treat unknown fields; None leaves that to the server. Objects of a class of `Unstructured` are read from the
    server unless `cache_unstructured`, because a program that learns of a kind at run time rarely means to cache all of
    it.
    """

    def __init__(
        self,
        cache: Cache,
        writer: Requester,
        kinds: Kinds,
        *,
        field_manager: str,
        field_validation: FieldValidation | None = None,
        cache_unstructured: bool = False,
    ) -> None:
        self._cache = cache
        self._recorder = RecordingRequester(writer, cache)
        self._writer: Requester = self._recorder
        self._kinds = kinds
        self._field_manager = field_manager
        self._cache_unstructured = cache_unstructured
        self.api_reader = ApiReader(writer, kinds)
        if field_validation is not None:
            self._writer = ValidatingRequester(self._recorder, field_validation)

    def writing(self, *, field_manager: str | None = None, field_validation: FieldValidation | None = None) -> Self:
        """Return a client with another field manager or field validation."""
        other = copy(self)
        if field_manager is not None:
            other._field_manager = field_manager
        if field_validation is not None:
            other._writer = ValidatingRequester(self._recorder, field_validation)
        return other

    def has_cached(self, cls: type[Any], namespace: str = "", *, at_most: int | None = None) -> bool:
        """Return whether objects of a kind are read from memory without waiting, and are at most so many."""
        return not self._is_direct(cls) and self._cache.has_synced_in(cls, namespace, at_most=at_most)

    def get(self, cls: type[T], name: ObjectName) -> T:
        """Return the object of that name.

        Raises:
            NotFound: there is none in the cache.
            CacheNotSynced: the cache cannot be read.
            LookupError: the namespace is not cached.
            ValueError: the name has a namespace although the kind is cluster-scoped, or lacks one.
        """
        check_scope(api_of(cls), name)
        if self._is_direct(cls):
            return self.api_reader.get(cls, name)
        obj = self._cached(cls, name.namespace).overlay.get_by_key(name)
        if obj is None:
            raise not_found(cls, name.name)
        return obj

    def find(self, cls: type[T], name: ObjectName) -> T | None:
        """Return the object of that name, or None; raises as `get` does otherwise."""
        check_scope(api_of(cls), name)
        if self._is_direct(cls):
            return self.api_reader.find(cls, name)
        return self._cached(cls, name.namespace).overlay.get_by_key(name)

    def still_exists(self, obj: ApiObject) -> bool:
        """Read from the server whether an object, with this uid, exists and is not being deleted.

        A cache may still show an object that was deleted, or deleted and created again under its name. Check before
        creating for it what garbage collection does not delete: objects without an owner, or outside the cluster.
        """
        stored = self.api_reader.find(type(obj), object_name(obj))
        return stored is not None and _is_alive(stored.metadata, obj.metadata)

    def is_current(self, obj: ApiObject) -> bool:
        """Read from the server whether an object still exists, as for `still_exists`, with the same spec.

        A cache may show a spec that its author has changed since. Check before deleting what the spec asks for no more.
        It compares `metadata.generation`, which the server increases with each change of the spec, or all fields but
        the metadata and status of kinds without a generation, such as Service and ConfigMap.
        """
        stored = self.api_reader.find(type(obj), object_name(obj))
        return stored is not None and _is_alive(stored.metadata, obj.metadata) and _have_same_spec(stored, obj)

    def list(
        self,
        cls: type[T],
        *,
        namespace: str = "",
        label_selector: SelectorLike = everything(),
        fields: Mapping[str, str] = EMPTY_MAP,
        limit: int = 0,
    ) -> List[T]:
        """Return the objects that match, in no order, at most `limit` of them; 0 for all.

        Each of `fields` needs an index (`indexes` of a `Reconciler`, or `Cache.add_index`).

        Raises:
            NotIndexed: a field has no index.
            CacheNotSynced: the cache cannot be read.
            LookupError: the namespace is not cached.
        """
        selector = selector_of(label_selector)
        if self._is_direct(cls):
            return self.api_reader.list(
                cls,
                namespace=namespace,
                label_selector=selector,
                field_selector=field_selector_for(fields),
                limit=limit,
            )
        cached = self._cached(cls, namespace)
        objects: Iterable[T]
        if fields:
            check_indexed(cls, cached.informer.indexer, fields)
            (first, value), *remaining = fields.items()
            objects = cached.overlay.by_index(index_name(first), value)
            for name, expected in remaining:
                objects = [
                    item for item in objects if expected in cached.informer.indexer.values_of(index_name(name), item)
                ]
            objects = (obj for obj in objects if namespace in ("", obj.metadata.namespace))
        else:
            objects = cached.list(namespace)
        matching = (obj for obj in objects if selector.empty or selector.matches(obj.metadata.labels))
        return List(islice(matching, limit or None))

    def wait(
        self, *objects: T, condition: str | Callable[[T], bool] = "Ready", timeout: float | None = 60.0
    ) -> List[T]:
        """Wait until each object has the state, by watch, and return the last states; see `waiting.wait_for`.

        No longer than the time limit of the reconciliation. The cache may show the states later. In a reconciler, an
        event or `requeue_after` is better: a wait occupies a worker.
        """
        return wait_for(self._writer, *objects, condition=condition, timeout=limit_of_wait(timeout))

    def add_index(self, cls: type[T], field: str, values: Callable[[T], Iterable[str]]) -> None:
        """Index the cached objects of a kind by a field; the same function again changes nothing.

        Of kinds that are read from the server, the server selects: it needs no index.

        Raises:
            ValueError: the field already has an index by another function.
        """
        if not self._is_direct(cls):
            self._cache.add_index(cls, field, values)

    def create(self, obj: T, *, owner: ApiObject | None = None, dry_run: bool = False) -> T:
        """Create `obj`, controlled by `owner` if given, and return it as stored; `AlreadyExists` if the name is in use.

        Raises:
            AlreadyOwnedError: it has another controller.
        """
        obj = _controlled(obj, owner)
        return self._client_for(obj).create(obj, field_manager=self._field_manager, dry_run=dry_run)

    def update(self, obj: T, *, dry_run: bool = False) -> T:
        """Replace the object of that name; `Conflict` if it changed since `obj` was read."""
        return self._client_for(obj).update(obj, field_manager=self._field_manager, dry_run=dry_run)

    def update_status(self, obj: T, *, dry_run: bool = False) -> T:
        """Replace only the status; `Conflict` if the object changed since `obj` was read."""
        return self._client_for(obj).update_status(obj, field_manager=self._field_manager, dry_run=dry_run)

    def patch(
        self,
        obj: T,
        patch: Patch,
        *,
        content_type: str = MERGE_PATCH,
        subresource: str = "",
        dry_run: bool = False,
    ) -> T:
        """Patch the object with the name of `obj`, regardless of its current state."""
        return self._client_for(obj).patch(
            obj.metadata.name,
            patch,
            content_type=content_type,
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=dry_run,
        )

    def patch_to(self, old: T, new: T, *, optimistic_lock: bool = False, dry_run: bool = False) -> T:
        """Send what differs between two states of an object, and of its status; see `TypedClient.patch_to`.

        What both have alike stays as it is on the server, also fields that the class lacks: use it for objects of
        others. Return the object, or `old` if nothing differs.

        Raises:
            Conflict: the object changed since `old` was read, with `optimistic_lock`.
            ValueError: the names differ.
        """
        return self._client_for(old).patch_to(
            old, new, optimistic_lock=optimistic_lock, field_manager=self._field_manager, dry_run=dry_run
        )

    def patch_status(self, obj: T, patch: Patch, *, content_type: str = MERGE_PATCH, dry_run: bool = False) -> T:
        """Patch the status of the object with the name of `obj`."""
        return self.patch(obj, patch, content_type=content_type, subresource="status", dry_run=dry_run)

    def apply(
        self,
        obj: T,
        *,
        owner: ApiObject | None = None,
        force: bool = False,
        status: bool = False,
        dry_run: bool = False,
    ) -> T:
        """Server-side apply: set the fields in `obj`, or of its status, and own them; `owner` becomes its controller.

        Each call is a request; the server writes nothing if nothing changes. `create_or_patch` compares first.

        Raises:
            AlreadyOwnedError: `obj`, or the object that the cache already has under its name, has another controller.
            Conflict: another manager owns one of them and `force` is not set.
        """
        obj = _controlled(obj, owner)
        client = self._client_for(obj)
        # An apply of the same field manager would replace the reference to another controller without a word.
        if owner is not None and (stored := self._cache.known(obj)) is not None:
            set_controller_reference(owner, stored)
        act = client.apply_status if status else client.apply
        return act(obj, field_manager=self._field_manager, force=force, dry_run=dry_run)

    def apply_configuration(
        self, configuration: "ObjectApplyConfiguration[T]", *, force: bool = False, status: bool = False
    ) -> T:
        """Server-side apply of a generated apply configuration, which contains only the fields that were set.

        Raises:
            Conflict: another manager owns one of its fields and `force` is not set.
            ValueError: it has no name.
        """
        client: ScaleClient[T] = self.typed(configuration.kind, _namespace_in(configuration))
        act = client.apply_status if status else client.apply
        return act(configuration, field_manager=self._field_manager, force=force)

    def delete(self, obj: ApiObject, options: DeleteOptions | None = None, *, missing_ok: bool = False) -> None:
        """Delete the object with the name of `obj`. Finalizers may delay the deletion.

        Raises:
            NotFound: there is none, unless `missing_ok`, or the server does not serve its kind.
        """
        try:
            self._client_for(obj).delete(obj.metadata.name, options)
        except NotFound as error:
            if not (missing_ok and error.details.name):  # without a name the kind itself is missing
                raise

    def delete_all_of(
        self,
        cls: type[Any],
        options: DeleteOptions | None = None,
        *,
        namespace: str = "",
        label_selector: SelectorLike = everything(),
        field_selector: str = "",
    ) -> None:
        """Delete every object that matches in one namespace, or in the cluster for cluster-scoped kinds."""
        client = self.typed(cls, namespace)
        client.delete_collection(options, label_selector=label_selector, field_selector=field_selector)

    def subresource(self, name: str) -> Subresource:
        """Return a client of a subresource such as `scale`, `eviction` or `status`."""
        return Subresource(name, self._writer, field_manager=self._field_manager)

    def typed(self, cls: type[T], namespace: str = "") -> ScaleClient[T]:
        """Return the typed client of a kind, for methods missing here; it reads from the server and is fenced too."""
        return self._kinds.client(cls, self._writer, namespace)

    def generated(self, client: type[C], namespace: str = "") -> C:
        """Return a generated client, such as `PodClient`, for methods that only it has; it is fenced too."""
        return client(self._writer, namespace)

    def _cached(self, cls: type[T], namespace: str) -> KindCache[T]:
        check_namespace(api_of(cls), namespace)
        return self._cache.synced_in(cls, namespace)

    def _client_for(self, obj: T) -> ScaleClient[T]:
        name = object_name(obj)
        check_scope(api_of(type(obj)), name)
        return self.typed(type(obj), name.namespace)

    def _is_direct(self, cls: type) -> bool:
        return issubclass(cls, Unstructured) and not self._cache_unstructured


class DirectClient(Client):
    """Client without a cache, for tests and programs without a manager: it also reads from the server."""

    def __init__(self, requester: Requester, *, scheme: Scheme | None = None, field_manager: str = "clientgo") -> None:
        kinds = Kinds(scheme)
        cache = Cache(checked_requester(requester), kinds, CacheOptions())
        super().__init__(cache, requester, kinds, field_manager=field_manager)

    def _is_direct(self, _cls: type) -> bool:
        return True


def _controlled(obj: T, owner: ApiObject | None) -> T:
    return obj if owner is None else set_controller_reference(owner, obj)


def _namespace_in(configuration: "ObjectApplyConfiguration[Any]") -> str:
    namespace = getattr(configuration.get("metadata"), "namespace", "")
    return namespace if isinstance(namespace, str) else ""  # otherwise not set


def _have_same_spec(stored: ApiObject, obj: ApiObject) -> bool:
    if stored.metadata.generation:
        return stored.metadata.generation == obj.metadata.generation
    contents = (to_dict(each).items() for each in (stored, obj))
    before, after = ({name: value for name, value in each if name not in ("metadata", "status")} for each in contents)
    return before == after


def _is_alive(stored: ObjectMeta, expected: ObjectMeta) -> bool:
    return stored.uid == expected.uid and stored.deletion_timestamp is None
