"""Factories of shared informers for resources known only at run time."""

from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from clientgo.cache.factory import InformerFactory
from clientgo.cache.informer import SharedInformer
from clientgo.cache.lister import Lister
from clientgo.dynamic.client import dynamic_client, metadata_client
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured
from clientgo.meta.objects import ApiObject, GroupVersionResource

T = TypeVar("T", bound=ApiObject)


class _ResourceInformerFactory(InformerFactory, Generic[T]):
    _client: ClassVar[Callable[..., type[Any]]]

    def for_resource(
        self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
    ) -> SharedInformer[T]:
        """Return the informer of a resource, created at the first call; objects must have the `kind`, if given."""
        client = type(self)._client(resource, kind=kind, namespaced=namespaced)
        return self.informer_for(client, client.kind)

    def lister_for(self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> Lister[T]:
        """Return a lister of that informer's cache."""
        client = type(self)._client(resource, kind=kind, namespaced=namespaced)
        return Lister(self.informer_for(client, client.kind).indexer, kind=client.kind)


class DynamicInformerFactory(_ResourceInformerFactory[Unstructured]):
    """Informers of any resource; their objects are `Unstructured`."""

    _client = staticmethod(dynamic_client)


class MetadataInformerFactory(_ResourceInformerFactory[PartialObjectMetadata]):
    """Informers of any resource that keep its objects' metadata alone; owner references need the `kind`."""

    _client = staticmethod(metadata_client)
