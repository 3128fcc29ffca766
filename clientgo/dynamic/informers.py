"""Factories of shared informers for resources known only at run time."""

from clientgo.cache.factory import InformerFactory
from clientgo.cache.informer import SharedInformer
from clientgo.cache.lister import Lister
from clientgo.dynamic.client import dynamic_client, metadata_client
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured
from clientgo.meta.objects import GroupVersionResource


class DynamicInformerFactory(InformerFactory):
    """Informers of any resource; their objects are `Unstructured`."""

    def for_resource(
        self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
    ) -> SharedInformer[Unstructured]:
        """Return the informer of a resource, created at the first call; objects must have the `kind`, if given."""
        client = dynamic_client(resource, kind=kind, namespaced=namespaced)
        return self.informer_for(client, client.kind)

    def lister_for(
        self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
    ) -> Lister[Unstructured]:
        """Return a lister of that informer's cache."""
        client = dynamic_client(resource, kind=kind, namespaced=namespaced)
        return Lister(self.informer_for(client, client.kind).indexer, kind=client.kind)


class MetadataInformerFactory(InformerFactory):
    """Informers of any resource that keep its objects' metadata alone; owner references need the `kind`."""

    def for_resource(
        self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
    ) -> SharedInformer[PartialObjectMetadata]:
        """Return the informer of a resource, created at the first call."""
        client = metadata_client(resource, kind=kind, namespaced=namespaced)
        return self.informer_for(client, client.kind)

    def lister_for(
        self, resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True
    ) -> Lister[PartialObjectMetadata]:
        """Return a lister of that informer's cache."""
        client = metadata_client(resource, kind=kind, namespaced=namespaced)
        return Lister(self.informer_for(client, client.kind).indexer, kind=client.kind)
