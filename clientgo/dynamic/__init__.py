"""Dynamic and metadata clients and informers, for resources that are known only at run time.

Their objects are `Unstructured`, which holds any JSON, or `PartialObjectMetadata`, the metadata of any object.
"""

from clientgo.dynamic.client import DynamicClient, DynamicClientset, MetadataClient
from clientgo.dynamic.informers import DynamicInformerFactory, MetadataInformerFactory
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured, unstructured_type

__all__ = [
    "DynamicClient", "DynamicClientset", "DynamicInformerFactory", "MetadataClient", "MetadataInformerFactory",
    "PartialObjectMetadata", "Unstructured", "unstructured_type",
]  # fmt: skip
