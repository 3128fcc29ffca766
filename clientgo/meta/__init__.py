"""API objects: metadata, names, owners, selectors, schemes, encoding and decoding."""

from clientgo.internal.gotext import duration_seconds
from clientgo.meta.codec import ObjectList, Undecodable, Unencodable, decode, encode, from_dict, replace, to_dict
from clientgo.meta.constraints import (
    DNS_LABEL,
    LABEL_VALUE,
    Duration,
    ExternalDocs,
    Int32,
    Int64,
    Meta,
    Quantity,
    Rule,
    constrained,
)
from clientgo.meta.lens import change
from clientgo.meta.listwatch import compare_resource_versions
from clientgo.meta.names import ObjectName, object_name
from clientgo.meta.objects import (
    EMPTY_MAP,
    ApiObject,
    GroupVersionKind,
    GroupVersionResource,
    ListMeta,
    MicroTime,
    ObjectMeta,
    OwnerReference,
    UnknownNumber,
    UnknownValue,
)
from clientgo.meta.ownership import controller_of, controller_uids, is_controlled_by, meta_for, new_controller_ref
from clientgo.meta.scheme import ApiType, Column, ScaleSubresource, Scheme, WebhookConversion, api_of, api_type
from clientgo.meta.selectors import (
    Selector,
    everything,
    is_label_value,
    is_qualified_name,
    nothing,
    parse_selector,
    selector_for,
    selector_of,
)

__all__ = [
    "DNS_LABEL", "EMPTY_MAP", "LABEL_VALUE", "ApiObject", "ApiType", "Column", "Duration", "ExternalDocs",
    "GroupVersionKind", "GroupVersionResource", "Int32", "Int64", "ListMeta", "Meta", "MicroTime", "ObjectList",
    "ObjectMeta", "ObjectName", "OwnerReference", "Quantity", "Rule", "ScaleSubresource", "Scheme", "Selector",
    "Undecodable", "Unencodable", "UnknownNumber", "UnknownValue", "WebhookConversion", "api_of", "api_type", "change",
    "compare_resource_versions", "constrained", "controller_of", "controller_uids", "decode", "duration_seconds",
    "encode", "everything", "from_dict", "is_controlled_by", "is_label_value", "is_qualified_name", "meta_for",
    "new_controller_ref", "nothing", "object_name", "parse_selector", "replace", "selector_for", "selector_of",
    "to_dict",
]  # fmt: skip
