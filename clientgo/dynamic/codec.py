"""JSON codec of `Unstructured`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.cache.validation import is_table
from clientgo.dynamic.unstructured import Unstructured
from clientgo.internal.collector import without_collection
from clientgo.meta.classes.lenient import construct
from clientgo.meta.codec import Codec, ObjectList, Undecodable, encode_value, identity
from clientgo.meta.objects import ListMeta, ObjectMeta
from clientgo.meta.scheme import ApiType, api_of
from clientgo.meta.shallow_json import raw_list, reason

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Whole(msgspec.Struct):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    metadata: ListMeta | None = None
    items: list[dict[str, Any]] | None = None


_LIST = msgspec.json.Decoder(_Whole)
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
        try:
            return self._object(_OBJECT.decode(data), self.api.api_version, self.api.kind)
        except _UNREADABLE as error:
            raise Undecodable(self._kind_or_plural, identity(data), reason(error)) from error

    @without_collection()
    def decode_list(self, data: bytes) -> ObjectList[Unstructured]:
        """Decode a page of a list; report items that are not objects in its `undecodable`.

        Raises:
            Undecodable: `data` is not a list, or a Table for kubectl.
        """
        bad: list[Undecodable] = []
        try:
            try:
                page = _LIST.decode(data)
            except RecursionError:
                page, bad = self._without_the_deep(data)
        except _UNREADABLE as error:
            raise Undecodable(f"{self._kind_or_plural} list", ObjectMeta(), str(error)) from error
        if is_table(page.api_version, page.kind):
            raise Undecodable(f"{self._kind_or_plural} list", ObjectMeta(), f"it is a table ({page.api_version})")
        kind = page.kind.removesuffix("List")
        items: list[Unstructured] = []
        for content in page.items or ():
            try:
                items.append(self._object(content, page.api_version, kind))
            except msgspec.ValidationError as error:
                bad.append(Undecodable(self._kind_or_plural, identity(encode_value(content)), str(error)))
        return ObjectList(page.metadata or ListMeta(), items, tuple(bad))

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

    @property
    def _kind_or_plural(self) -> str:
        return self.api.kind or self.api.plural

    def _without_the_deep(self, data: bytes) -> tuple[_Whole, list[Undecodable]]:
        page, shallow, deep = raw_list(data), [], []
        for item in page.items or ():
            try:
                shallow.append(_OBJECT.decode(item))
            except RecursionError as error:
                deep.append(Undecodable(self._kind_or_plural, identity(item), reason(error)))
        return _Whole(str(page.api_version), str(page.kind), page.metadata, shallow), deep

    def _object(self, content: dict[str, Any], api_version: str, kind: str) -> Unstructured:
        metadata = _metadata(content.get("metadata"))  # first: it may raise, and the whole object is then reported
        own_version, own_kind = content.pop("apiVersion", ""), content.pop("kind", "")
        content.pop("metadata", None)
        # Items of a list often have no apiVersion and kind; the list has.
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
