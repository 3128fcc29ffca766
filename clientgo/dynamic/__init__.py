"""Clients and informers of resources whose types are not known when the program is written.

It stands above `typed` and `cache`, because it is both over one more kind of object: `Unstructured`, which holds any
JSON, and `PartialObjectMetadata`, which holds the metadata of any object.
"""

from clientgo.dynamic.client import DynamicClient, DynamicClientset, MetadataClient
from clientgo.dynamic.informers import DynamicInformerFactory, MetadataInformerFactory
from clientgo.dynamic.metadata import PartialObjectMetadata
from clientgo.dynamic.unstructured import Unstructured

__all__ = [
    "DynamicClient", "DynamicClientset", "DynamicInformerFactory", "MetadataClient", "MetadataInformerFactory",
    "PartialObjectMetadata", "Unstructured",
]  # fmt: skip
