"""Dynamic and metadata clients: the verbs of typed clients for resources known only at run time."""

from typing import Any, ClassVar

from clientgo.dynamic import codec as codec  # for its side effect: it sets the codec of Unstructured
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured, metadata_type, unstructured_type
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.request import METADATA, METADATA_LIST
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.clientset import BaseClientset


class DynamicClient(StatusClient[Unstructured]):
    """A client of one resource; writes accept dicts as well."""

    kind: ClassVar[type[Any]] = Unstructured


class MetadataClient(TypedClient[PartialObjectMetadata]):
    """A client that reads the metadata of one resource's objects, patches it, and deletes objects.

    Responses, lists and watches contain only metadata; of servers without support, which send whole objects, only the
    metadata is decoded.
    """

    kind: ClassVar[type[Any]] = PartialObjectMetadata
    accept: ClassVar[str] = METADATA
    accept_list: ClassVar[str] = METADATA_LIST


class DynamicClientset(BaseClientset):
    """Clients of any resource with a shared connection pool."""

    def resource(
        self, resource: GroupVersionResource, namespace: str = "", *, kind: str = "", namespaced: bool = True
    ) -> DynamicClient:
        """Return the client of a resource, in one namespace or in all; objects must have the `kind`, if given."""
        return dynamic_client(resource, kind=kind, namespaced=namespaced)(self.requester, namespace)

    def metadata(
        self, resource: GroupVersionResource, namespace: str = "", *, kind: str = "", namespaced: bool = True
    ) -> MetadataClient:
        """Return the client of a resource's metadata, in one namespace or in all; owner references need the `kind`."""
        return metadata_client(resource, kind=kind, namespaced=namespaced)(self.requester, namespace)


def dynamic_client(resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> type[DynamicClient]:
    """Return the client class of a resource."""
    cls = unstructured_type(resource, kind=kind, namespaced=namespaced)
    return type("DynamicClient", (DynamicClient,), {"kind": cls})


def metadata_client(resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> type[MetadataClient]:
    """Return the client class of a resource's metadata."""
    cls = metadata_type(resource, kind=kind, namespaced=namespaced)
    return type("MetadataClient", (MetadataClient,), {"kind": cls})
