"""Clients of resources named at run time: the typed clients' verbs over objects of any shape."""

from typing import Any, ClassVar

from clientgo.dynamic import codec as codec  # for its effect: Unstructured has its codec from here on
from clientgo.dynamic.metadata import PartialObjectMetadata, metadata_type
from clientgo.dynamic.unstructured import Unstructured, unstructured_type
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.request import METADATA, METADATA_LIST
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.clientset import BaseClientset


class DynamicClient(StatusClient[Unstructured]):
    """Reads and writes objects of one resource; a dict of JSON is taken wherever an object is written."""

    kind: ClassVar[type[Any]] = Unstructured


class MetadataClient(TypedClient[PartialObjectMetadata]):
    """Reads the metadata of one resource's objects; deletes them, and patches what stands in their metadata.

    The server is asked to send no more than that, in answers, lists and watches; one that can't sends whole objects,
    of which the metadata is kept.
    """

    kind: ClassVar[type[Any]] = PartialObjectMetadata
    accept: ClassVar[str] = METADATA
    accept_list: ClassVar[str] = METADATA_LIST


class DynamicClientset(BaseClientset):
    """Clients of any resource, over one connection pool."""

    def resource(
        self, resource: GroupVersionResource, namespace: str = "", *, kind: str = "", namespaced: bool = True
    ) -> DynamicClient:
        """The client of a resource, in one namespace or in all; `kind` is what objects must be, if that matters."""
        return dynamic_client(resource, kind=kind, namespaced=namespaced)(self.requester, namespace)

    def metadata(
        self, resource: GroupVersionResource, namespace: str = "", *, kind: str = "", namespaced: bool = True
    ) -> MetadataClient:
        """Return the client of a resource's metadata, in one namespace or in all; owner references need the `kind`."""
        return metadata_client(resource, kind=kind, namespaced=namespaced)(self.requester, namespace)


def dynamic_client(resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> type[DynamicClient]:
    """The client class of a resource."""
    cls = unstructured_type(resource, kind=kind, namespaced=namespaced)
    return type("DynamicClient", (DynamicClient,), {"kind": cls})


def metadata_client(resource: GroupVersionResource, *, kind: str = "", namespaced: bool = True) -> type[MetadataClient]:
    """Return the client class of a resource's metadata."""
    cls = metadata_type(resource, kind=kind, namespaced=namespaced)
    return type("MetadataClient", (MetadataClient,), {"kind": cls})
