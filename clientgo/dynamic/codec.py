"""JSON codec of `Unstructured`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from clientgo.dynamic.unstructured import Unstructured
from clientgo.meta.classes.lenient import construct
from clientgo.meta.codec import Codec, Undecodable, encode_value, identity
from clientgo.meta.listitems import RawList
from clientgo.meta.objects import ObjectMeta
from clientgo.meta.scheme import ApiType, api_of
from clientgo.meta.shallow_json import UNREADABLE, reason

_OBJECT = msgspec.json.Decoder(dict[str, Any])
_OF_ANY_KIND = ApiType(group="", version="", kind="", plural="objects", singular="object")


class UnstructuredCodec(Codec[Unstructured]):
    """Decodes and encodes objects of one resource, as leniently as the codec of typed objects."""

    def __init__(self, cls: type[Unstructured]) -> None:
        # Not the base's, which derives a wire type.
        self.cls = cls
        self.api = _OF_ANY_KIND if cls is Unstructured else api_of(cls)

    def decode(self, data: bytes | msgspec.Raw) -> Unstructured:
        """Decode an object; raise `Undecodable` if it is not one."""
        return self._decode(data, self.api.api_version, self.api.kind)

    def encode(self, obj: Unstructured | Mapping[str, Any]) -> bytes:
        """Encode `obj`; add its apiVersion and kind if they are missing and known."""
        content = obj.to_dict() if isinstance(obj, Unstructured) else dict(obj)
        for name, expected in (("apiVersion", self.api.api_version), ("kind", self.api.kind)):
            if not content.get(name) and (expected or name in content):
                content[name] = expected
        return encode_value(content)

    def encode_applied(self, obj: Unstructured | Mapping[str, Any], subresource: str = "") -> bytes:
        """Encode `obj` for server-side apply; content is sent as it is."""
        del subresource
        return self.encode(obj)

    def _item_decoder(self, page: RawList) -> Callable[[msgspec.Raw], Unstructured]:
        # Items of a list often have no apiVersion and kind; the list has.
        kind = str(page.kind or "").removesuffix("List")
        return partial(self._decode, api_version=str(page.api_version or ""), kind=kind)

    def _decode(self, data: bytes | msgspec.Raw, api_version: str, kind: str) -> Unstructured:
        try:
            return self._object(_OBJECT.decode(data), api_version, kind)
        except UNREADABLE as error:
            raise Undecodable(self.api.kind or self.api.plural, identity(data), reason(error)) from error

    def _object(self, content: dict[str, Any], api_version: str, kind: str) -> Unstructured:
        metadata = _metadata(content.get("metadata"))  # first: it may raise, and the whole object is then reported
        own_version, own_kind = content.pop("apiVersion", ""), content.pop("kind", "")
        content.pop("metadata", None)
        return self.cls(
            api_version=str(own_version or api_version),
            kind=str(own_kind or kind),
            metadata=metadata,
            content=content,
        )


Unstructured.__codec_class__ = UnstructuredCodec


def _metadata(content: Any) -> ObjectMeta:
    if content is None:
        return ObjectMeta()
    try:
        return msgspec.convert(content, ObjectMeta)
    except msgspec.ValidationError:
        try:
            meta: ObjectMeta = construct(ObjectMeta, content)
        except ValueError as error:
            raise msgspec.ValidationError(str(error)) from error
        return meta
