"""JSON codec of API objects.

Decoding is lenient, because clients must be able to read objects that violate today's rules: unknown fields are
ignored, constraints are not enforced, an unexpected `null` reads as absent, and a number in place of a quantity is that
quantity, as in Go's decoder. An object that still cannot be decoded raises `Undecodable`; in a list it is reported
separately and the others are returned.
"""

import dataclasses
import functools
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import msgspec

from clientgo.errors import Restorable
from clientgo.internal.callbacks import text_of
from clientgo.internal.collector import without_collection
from clientgo.meta.classes.check import check_class, has_fields
from clientgo.meta.classes.lenient import construct
from clientgo.meta.classes.wire import MAKING, to_wire, wire_type
from clientgo.meta.jsonvalues import Unencodable as Unencodable
from clientgo.meta.jsonvalues import decode_hook, encode_struct
from clientgo.meta.jsonvalues import encode_value as encode_value
from clientgo.meta.listitems import RawList, is_table, split_list
from clientgo.meta.objects import ApiObject, ListMeta, ObjectMeta, with_tuples
from clientgo.meta.readonly import protect
from clientgo.meta.scheme import ApiType, api_of
from clientgo.meta.shallow_json import UNREADABLE, names_alone, reason

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
A = TypeVar("A", bound=ApiObject)


class Undecodable(Restorable, ValueError):
    """A received object cannot be decoded to its class; `metadata` is the readable part of its metadata."""

    def __init__(self, kind: str, metadata: ObjectMeta, cause: str) -> None:
        full_name = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        printable = full_name if full_name.isprintable() else repr(full_name)  # invalid names may be received, too
        super().__init__(f"{kind} {printable or 'without a name'} cannot be decoded: {cause}")
        self.kind = kind
        self.metadata = metadata
        self.cause = cause


class UnexpectedObject(Undecodable):
    """A received object is of another kind than requested, or has no name; it says nothing about an object's state."""


class ObjectList(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list: its metadata, the decoded objects, and errors for the others."""

    metadata: ListMeta
    items: list[T]
    undecodable: tuple[Undecodable, ...] = ()


class _Identity(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _NameOnly(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(default="", name="resourceVersion")


class _NameOnlyObject(msgspec.Struct, frozen=True):
    metadata: _NameOnly = _NameOnly()


# msgspec's errors: invalid JSON or types, invalid UTF-8, nesting deeper than Python's stack.

_convert = msgspec.convert  # one look-up less for each object
_IDENTITY = msgspec.json.Decoder(_Identity, dec_hook=decode_hook)
_NAME_ONLY = msgspec.json.Decoder(_NameOnlyObject, strict=False)


class Codec(Generic[T]):
    """Decodes and encodes objects of one kind; thread-safe."""

    def __init__(self, cls: type[T], api: ApiType | None = None) -> None:
        self.cls = cls
        self.api = api or api_of(cls)
        self._head = f'{{"apiVersion":"{self.api.api_version}","kind":"{self.api.kind}",'.encode()
        check_class(cls)
        self._wire: Any = wire_type(cls)
        self._same = self._wire is cls
        self._decoder: Any = msgspec.json.Decoder(self._wire, dec_hook=decode_hook)
        protect(cls)
        # For its side effect: msgspec has inspected the class, so that any thread may call `_own`.
        msgspec.json.Decoder(cls, dec_hook=decode_hook)

    def decode(self, data: bytes | msgspec.Raw) -> T:
        """Decode an object.

        Raises:
            Undecodable: it does not fit the class.
        """
        try:
            obj: T = self._decoder.decode(data)
            return obj if self._same else _convert(obj, self.cls, from_attributes=True)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # the class's own `__post_init__` may raise anything
            return self._salvage(data, error)

    def decode_list(self, data: bytes) -> ObjectList[T]:
        """Decode a page of a list; report items that cannot be decoded in its `undecodable`.

        Raises:
            Undecodable: `data` is not a list, or a Table for kubectl.
        """
        return self.decode_items(self.split_list(data))

    def split_list(self, data: bytes) -> RawList:
        """Split a page of a list into undecoded items.

        Raises:
            Undecodable: `data` is not a list, or a Table for kubectl.
        """
        kind = f"{self.api.kind}List" if self.api.kind else f"{self.api.plural} list"
        try:
            page = split_list(data)
        except UNREADABLE as error:
            raise Undecodable(kind, ObjectMeta(), reason(error)) from error
        if is_table(page.api_version, page.kind):
            raise Undecodable(kind, ObjectMeta(), f"it is a table ({page.api_version})")
        return page

    @without_collection()
    def decode_items(self, page: RawList) -> ObjectList[T]:
        """Decode the items of a list, each alone; report those that cannot be decoded in its `undecodable`."""
        decode_item = self._item_decoder(page)
        items: list[T] = []
        bad: list[Undecodable] = []
        for raw in page.items or ():
            try:
                items.append(decode_item(raw))
            except Undecodable as error:
                bad.append(error)
        return ObjectList(page.metadata or ListMeta(), items, tuple(bad))

    def encode(self, obj: T) -> bytes:
        """Encode `obj` with its apiVersion and kind; it may be a model of the official client.

        Raises:
            Unencodable: a part of it has no JSON form.
        """
        return self._with_kind(obj)

    def encode_applied(self, obj: T, subresource: str = "") -> bytes:
        """Encode `obj` for server-side apply: with its defaults, except those that are None or empty.

        The status of a kind that has it as a subresource is sent alone, and only to the subresource.

        Raises:
            Unencodable: a part of it has no JSON form.
        """
        body = self._with_kind(obj, declared=True)
        if not self.api.status or subresource not in ("", "status"):
            return body
        members: dict[str, Any] = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        if not subresource:
            return msgspec.json.encode({field: part for field, part in members.items() if field != "status"})
        metadata = identity(body)
        names = ObjectMeta(name=metadata.name, namespace=metadata.namespace)
        status = {field: part for field, part in members.items() if field in ("apiVersion", "kind", "status")}
        return msgspec.json.encode({**status, "metadata": names})

    def _with_kind(self, obj: T, *, declared: bool = False) -> bytes:
        try:
            if not isinstance(obj, self.cls):
                content = _foreign_content(obj)
                body = encode_value({key: item for key, item in content.items() if key not in ("apiVersion", "kind")})
            else:  # converted by its own class: a subclass may have more fields
                body = encode_struct(to_wire(obj, declared=declared))
        except Unencodable as error:
            raise self._named(obj, error) from error.__cause__
        except msgspec.ValidationError as error:
            raise self._named(obj, _located(obj, error)) from error
        return self._head + body[1:] if len(body) > 2 else self._head[:-1] + b"}"

    def _named(self, obj: T, error: Unencodable) -> Unencodable:
        name = text_of(getattr(getattr(obj, "metadata", None), "name", ""))
        location = f"{error.where.removeprefix('.')} of " if error.where else ""
        return Unencodable(f"{location}{self.api.kind} {name}", error.cause)

    def _salvage(self, data: bytes | msgspec.Raw, first: BaseException) -> T:
        try:
            obj: T = construct(self.cls, msgspec.json.decode(data))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # as in `decode`
            raise Undecodable(self.api.kind, identity(data), reason(error)) from first
        return obj

    def _item_decoder(self, page: RawList) -> Callable[[msgspec.Raw], T]:
        del page
        return self.decode


class _PartCodec(Codec[T]):
    """Decodes and encodes parts of objects, such as Conditions, which have neither apiVersion nor kind."""

    def __init__(self, cls: type[T]) -> None:
        super().__init__(cls, ApiType(group="", version="", kind=cls.__name__))

    def encode(self, obj: T) -> bytes:
        """Encode a part; raise `Unencodable` if it has no JSON form."""
        try:
            return encode_struct(to_wire(obj))
        except msgspec.ValidationError as error:
            raise _located(obj, error) from error


def _located(obj: object, error: msgspec.ValidationError) -> Unencodable:
    """Return the error with the place and the remedy, if a value has no JSON form."""
    try:
        encode_value(obj)
    except Unencodable as located:
        return located
    return Unencodable("", text_of(error))


_Codecs = dict[type, Codec[Any]]
_CODECS: _Codecs = {}
_PART_CODECS: _Codecs = {}


def codec_for(cls: type[T]) -> Codec[T]:
    """Return the codec of a class, created at the first use.

    Raises:
        TypeError: the class is not marked with `@api_type`, or cannot be encoded.
    """
    return _CODECS.get(cls) or _created(cls, getattr(cls, "__codec_class__", Codec), _CODECS)


def _part_or_object_codec(cls: type[T]) -> Codec[T]:
    """Return the codec of a class of objects, or of parts of objects; a subclass of a marked class is neither."""
    if not has_fields(cls) or hasattr(cls, "__api_type__") or hasattr(cls, "__codec_class__"):
        return codec_for(cls)
    return _PART_CODECS.get(cls) or _created(cls, _PartCodec, _PART_CODECS)


def _created(cls: type[T], codec_class: Callable[[type[T]], Codec[T]], codecs: _Codecs) -> Codec[T]:
    # One at a time for all classes: msgspec crashes the process (at least up to 0.22) if two threads inspect the
    # same type for the first time, and kinds share types.
    with MAKING:
        if cls not in codecs:
            codecs[cls] = codec_class(cls)
        return codecs[cls]


def decode(cls: type[T], data: bytes) -> T:
    """Decode an object of the class `cls`; raise `Undecodable` if it does not fit."""
    return codec_for(cls).decode(data)


def encode(obj: object) -> bytes:
    """Encode `obj` as JSON with its apiVersion and kind."""
    return codec_for(type(obj)).encode(obj)


def to_dict(obj: object) -> dict[str, Any]:
    """Convert an object, or a part of one such as a Condition or a spec, to a dict of its JSON form."""
    return cast(dict[str, Any], msgspec.json.decode(_part_or_object_codec(type(obj)).encode(obj)))


def from_dict(cls: type[T], data: Mapping[str, Any]) -> T:
    """Convert a dict to an object of the class `cls`, or to a part of one; raise `Undecodable` if it does not fit."""
    return _part_or_object_codec(cls).decode(encode_value(data))


class _Replaceable(Protocol[P, R]):
    """A dataclass or Struct, as type checkers see it from Python 3.13 on."""

    def __replace__(self, /, *args: P.args, **changes: P.kwargs) -> R:
        """Return a copy with these attributes changed."""


if TYPE_CHECKING and sys.version_info >= (3, 13):

    @overload
    def replace(obj: _Replaceable[P, R], /, *args: P.args, **changes: P.kwargs) -> R: ...

    # If the class of an object is not known, only its metadata can be changed.
    @overload
    def replace(obj: A, /, *, metadata: ObjectMeta) -> A: ...

    def replace(obj: Any, /, *_: Any, **changes: Any) -> Any:
        """Return a copy of `obj` with some attributes changed; their names and types are checked."""

else:

    def replace(obj: T, **changes: Any) -> T:
        """Return a copy of `obj` with some attributes changed; objects are immutable."""
        if isinstance(obj, msgspec.Struct):
            return msgspec.structs.replace(obj, **with_tuples(type(obj), changes))
        kind: Any = type(obj)
        if (names := _plain_fields(kind)) is None:
            return cast(T, dataclasses.replace(cast(Any, obj), **changes))
        for name in names:
            if name not in changes:
                changes[name] = getattr(obj, name)
        copy: T = kind(**changes)
        return copy


@functools.lru_cache(maxsize=1024)
def _plain_fields(kind: type) -> tuple[str, ...] | None:
    """Return the fields of a dataclass without special ones (InitVar, ClassVar, init=False); None for other classes.

    `dataclasses.replace` inspects every field each time, which takes longer than making the copy.
    """
    if not dataclasses.is_dataclass(kind):
        return None
    fields = dataclasses.fields(kind)
    # Further entries of the dictionary are InitVars or ClassVars.
    plain = len(kind.__dataclass_fields__) == len(fields) and all(field.init for field in fields)
    return tuple(field.name for field in fields) if plain else None


def identity(data: bytes | msgspec.Raw) -> ObjectMeta:
    """Decode the readable part of an object's metadata; empty if nothing can be read."""
    try:
        return _IDENTITY.decode(data).metadata
    except RecursionError:
        data = names_alone(bytes(data))
    except UNREADABLE:
        pass  # the metadata is invalid: the name may still be readable
    try:
        metadata = _NAME_ONLY.decode(data).metadata
    except UNREADABLE:
        return ObjectMeta()
    return ObjectMeta(
        name=metadata.name, namespace=metadata.namespace, uid=metadata.uid, resource_version=metadata.resource_version
    )


def _foreign_content(obj: object) -> dict[str, Any]:
    # The official client's models (kubernetes >= 37) are pydantic's; asking for its method spares importing either.
    dump = getattr(obj, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(obj).__qualname__} is not an API object: mark its class with @api_type")
    return cast(dict[str, Any], dump(by_alias=True, exclude_none=True))
