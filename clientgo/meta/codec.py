"""JSON codec of API objects.

Decoding is lenient, because clients must be able to read objects that violate today's rules: unknown fields are
ignored, constraints are not enforced, an unexpected `null` reads as absent, and a number in place of a quantity is that
quantity, as in Go's decoder. An object that still cannot be decoded raises `Undecodable`; in a list it is reported
separately and the others are returned.
"""

import dataclasses
import functools
import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import msgspec

from clientgo.meta.objects import ApiObject, ListMeta, MicroTime, ObjectMeta, with_tuples
from clientgo.meta.readonly import protect
from clientgo.meta.scheme import api_of
from clientgo.meta.shallow_json import names_alone, raw_list, reason
from clientgo.meta.wire import MAKING, to_wire, wire_type

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
A = TypeVar("A", bound=ApiObject)


@contextmanager
def without_collection() -> Iterator[None]:
    """Turn the cycle collector off while a list is received: a context manager, and a decorator when called.

    It starts after every 700 new objects, and now and then looks at all there are: a fifth to two thirds of what a
    large list costs, for nothing, since objects are values and no part of any cycle. It is off for every thread until
    the list that turned it off has ended. A program that has turned it off keeps it so.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Undecodable(ValueError):
    """A received object cannot be decoded to its class; `metadata` is the readable part of its metadata."""

    def __init__(self, kind: str, metadata: ObjectMeta, cause: str) -> None:
        where = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        shown = where if where.isprintable() else repr(where)  # invalid names may be received, too
        super().__init__(f"{kind} {shown or 'without a name'} cannot be decoded: {cause}")
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


def _decode_hook(wanted: type, value: Any) -> Any:
    if wanted is MicroTime and isinstance(value, str):
        return MicroTime.of(MicroTime.fromisoformat(value))
    raise NotImplementedError(f"cannot decode {wanted.__qualname__}")


def _encode_hook(value: Any) -> Any:
    if isinstance(value, MicroTime):
        return value.wire()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"cannot encode {type(value).__qualname__} as JSON")


# msgspec's errors: invalid JSON or types, invalid UTF-8, nesting deeper than Python's stack.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_ENCODER = msgspec.json.Encoder(enc_hook=_encode_hook)
_IDENTITY = msgspec.json.Decoder(_Identity, dec_hook=_decode_hook)
_NAME_ONLY = msgspec.json.Decoder(_NameOnlyObject, strict=False)


class Codec(Generic[T]):
    """Decodes and encodes objects of one kind; thread-safe."""

    def __init__(self, cls: type[T]) -> None:
        self.cls = cls
        self.api = api_of(cls)
        self._prefix = f'{{"apiVersion":"{self.api.api_version}","kind":"{self.api.kind}"'.encode()
        self._wire: Any = wire_type(cls)
        self._same = self._wire is cls
        page = _page_of(self.api.kind, self._wire)
        self._one: Any = msgspec.json.Decoder(self._wire, dec_hook=_decode_hook)
        self._page: Any = msgspec.json.Decoder(page, dec_hook=_decode_hook)
        protect(cls)
        # For its side effect: msgspec has inspected the class, so that any thread may call `_own`.
        msgspec.json.Decoder(cls, dec_hook=_decode_hook)

    def decode(self, data: bytes | msgspec.Raw) -> T:
        """Decode an object.

        Raises:
            Undecodable: it does not fit the class.
        """
        try:
            return self._own(self._one.decode(data))
        except _UNREADABLE as error:
            return self._salvage(data, error)

    @without_collection()
    def decode_list(self, data: bytes) -> ObjectList[T]:
        """Decode a page of a list; report items that cannot be decoded in its `undecodable`.

        Raises:
            Undecodable: `data` is not a list, or a Table for kubectl.
        """
        try:
            page = self._page.decode(data)
            if page.kind != "Table":
                items = page.items if self._same else [self._own(item) for item in page.items]
                return ObjectList(page.metadata, items)
        except _UNREADABLE:
            return self._one_by_one(data)
        raise self._not_a_list("the server sent a Table")

    def encode(self, obj: T) -> bytes:
        """Encode `obj` with its apiVersion and kind; it may be a model of the official client."""
        if type(obj) is self.cls:
            wire = obj if self._same else msgspec.convert(obj, self._wire, from_attributes=True)
            body = _ENCODER.encode(wire)
        elif isinstance(obj, self.cls):
            body = _ENCODER.encode(to_wire(obj))  # a subclass, which may have more fields
        else:
            body = _foreign_json(obj)
            known = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
            body = _ENCODER.encode({k: v for k, v in known.items() if k not in ("apiVersion", "kind")})
        return self._prefix + (b"," + body[1:] if len(body) > 2 else b"}")

    def _own(self, wire: Any) -> T:
        own: T = wire if self._same else msgspec.convert(wire, self.cls, from_attributes=True)
        return own

    def _salvage(self, data: bytes | msgspec.Raw, first: Exception) -> T:
        try:
            # Imported here because it loads `fractions`, 3 ms, and few programs need it.
            from clientgo.meta.quantities import numbers_to_quantities  # noqa: PLC0415

            generic = numbers_to_quantities(_without_nulls(msgspec.json.decode(data)), self.cls)
            return self._own(msgspec.convert(generic, self._wire, dec_hook=_decode_hook))
        except _UNREADABLE:
            raise Undecodable(self.api.kind, identity(data), reason(first)) from first

    def _one_by_one(self, data: bytes) -> ObjectList[T]:
        try:
            page = raw_list(data)
        except _UNREADABLE as error:
            raise self._not_a_list(reason(error)) from error
        if page.kind == "Table":
            raise self._not_a_list("the server sent a Table")
        items: list[T] = []
        bad: list[Undecodable] = []
        for raw in page.items or ():
            try:
                items.append(self.decode(raw))
            except Undecodable as error:
                bad.append(error)
        return ObjectList(page.metadata or ListMeta(), items, tuple(bad))

    def _not_a_list(self, cause: str) -> Undecodable:
        return Undecodable(f"{self.api.kind}List", ObjectMeta(), cause)


def _page_of(kind: str, item: Any) -> type[msgspec.Struct]:
    # With the kind, because a Table has no items and would read as an empty list: a cache would drop all objects.
    fields: list[tuple[str, Any, Any]] = [
        ("kind", Any, ""),
        ("metadata", ListMeta, ListMeta()),
        ("items", list[item], msgspec.field(default_factory=list)),
    ]
    return msgspec.defstruct(f"{kind}Page", fields, frozen=True)


_CODECS: dict[type, Codec[Any]] = {}


def codec_for(cls: type[T]) -> Codec[T]:
    """Return the codec of a class, created at the first use.

    Raises:
        TypeError: the class is not marked with `@api_type`, or cannot be encoded.
    """
    codec = _CODECS.get(cls)
    if codec is None:
        # One at a time for all classes: msgspec crashes the process (at least up to 0.22) if two threads inspect the
        # same type for the first time, and kinds share types.
        with MAKING:
            codec = _CODECS.get(cls)
            if codec is None:
                codec = _CODECS[cls] = getattr(cls, "__codec_class__", Codec)(cls)
    return codec


def decode(cls: type[T], data: bytes) -> T:
    """Decode an object of the class `cls`; raise `Undecodable` if it does not fit."""
    return codec_for(cls).decode(data)


def encode(obj: object) -> bytes:
    """Encode `obj` as JSON with its apiVersion and kind."""
    return codec_for(type(obj)).encode(obj)


def to_dict(obj: object) -> dict[str, Any]:
    """Convert `obj` to a dict of its JSON form."""
    return cast(dict[str, Any], msgspec.json.decode(encode(obj)))


def from_dict(cls: type[T], data: Mapping[str, Any]) -> T:
    """Convert a dict to an object of the class `cls`; raise `Undecodable` if it does not fit."""
    return decode(cls, _ENCODER.encode(data))


def encode_value(value: Any) -> bytes:
    """Encode a JSON value, which may contain Structs and dataclasses."""
    return _ENCODER.encode(value)


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
    except _UNREADABLE:
        pass  # the metadata is invalid: the name may still be readable
    try:
        found = _NAME_ONLY.decode(data).metadata
    except _UNREADABLE:
        return ObjectMeta()
    return ObjectMeta(
        name=found.name, namespace=found.namespace, uid=found.uid, resource_version=found.resource_version
    )


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value


def _foreign_json(obj: object) -> bytes:
    # The official client's models (kubernetes >= 37) are pydantic's; asking for its method spares importing either.
    dump = getattr(obj, "model_dump_json", None)
    if dump is None:
        raise TypeError(f"{type(obj).__qualname__} is not an API object: mark its class with @api_type")
    return cast(str, dump(by_alias=True, exclude_none=True)).encode()
