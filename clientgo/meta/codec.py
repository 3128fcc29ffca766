"""JSON bytes to objects and back: the one place that knows how, and the one to make faster.

Decoding is lenient, because a server's answer must be readable whatever rules hold today: unknown fields are ignored,
constraints are not enforced, a `null` where a value should be reads as absent, and a number where a quantity should be
is that quantity (as Go's decoder has it). An object that still can't be read raises `Undecodable`; in a list it is set
aside and the others are returned.
"""

import dataclasses
import functools
import gc
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import msgspec

from clientgo.meta.objects import ApiObject, ListMeta, MicroTime, ObjectMeta
from clientgo.meta.readonly import protect
from clientgo.meta.scheme import api_of
from clientgo.meta.shallow_json import names_alone, raw_list, reason
from clientgo.meta.wire import MAKING, to_wire, wire_type

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
A = TypeVar("A", bound=ApiObject)


def without_collection(work: Callable[P, R]) -> Callable[P, R]:
    """Turn the cycle collector off while `work` runs.

    It starts after every 700 new objects, and now and then looks at all there are: two thirds of what a list of 32,000
    objects costs, for nothing, since objects are values and no part of any cycle. For functions that hold the
    interpreter nearly all of their time, because the collector is off for every thread. A program that has turned it
    off keeps it so.
    """

    @functools.wraps(work)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> R:
        was_on = gc.isenabled()
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            if was_on:
                gc.enable()

    return quiet


class Undecodable(ValueError):
    """An object the server sent that its class cannot hold; `metadata` is what could be read of its own."""

    def __init__(self, kind: str, metadata: ObjectMeta, cause: str) -> None:
        where = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        shown = where if where.isprintable() else repr(where)  # no server lets a name be such, but anybody can send one
        super().__init__(f"{kind} {shown or 'without a name'} can't be decoded: {cause}")
        self.kind = kind
        self.metadata = metadata
        self.cause = cause


class ObjectList(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list: what could be decoded, what could not, and where the list stands."""

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
    raise NotImplementedError(f"no rule reads {wanted.__qualname__}")


def _encode_hook(value: Any) -> Any:
    if isinstance(value, MicroTime):
        return value.wire()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"{type(value).__qualname__} can't be sent as JSON")


# What msgspec raises for bytes it cannot read: wrong JSON or types, broken UTF-8, nesting deeper than Python's stack.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_ENCODER = msgspec.json.Encoder(enc_hook=_encode_hook)
_IDENTITY = msgspec.json.Decoder(_Identity, dec_hook=_decode_hook)
_NAME_ONLY = msgspec.json.Decoder(_NameOnlyObject, strict=False)


class Codec(Generic[T]):
    """Reads and writes objects of one kind; safe for any number of threads."""

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
        # For its effect: from here on msgspec knows the class itself too, and `_own` may be called by any thread.
        msgspec.json.Decoder(cls, dec_hook=_decode_hook)

    def decode(self, data: bytes | msgspec.Raw) -> T:
        """The object in `data`.

        Raises:
            Undecodable: the class cannot hold it.
        """
        try:
            return self._own(self._one.decode(data))
        except _UNREADABLE as error:
            return self._salvage(data, error)

    @without_collection
    def decode_list(self, data: bytes) -> ObjectList[T]:
        """The page of a list in `data`; items that can't be decoded are set aside.

        Raises:
            Undecodable: `data` is no list at all, or a table made for people to read.
        """
        try:
            page = self._page.decode(data)
            if page.kind != "Table":
                items = page.items if self._same else [self._own(item) for item in page.items]
                return ObjectList(page.metadata, items)
        except _UNREADABLE:
            return self._one_by_one(data)
        raise self._no_list("the server sent a Table")

    def encode(self, obj: T) -> bytes:
        """`obj` as JSON, with its apiVersion and kind; an object of the official client's models is taken too."""
        if type(obj) is self.cls:
            wire = obj if self._same else msgspec.convert(obj, self._wire, from_attributes=True)
            body = _ENCODER.encode(wire)
        elif isinstance(obj, self.cls):
            body = _ENCODER.encode(to_wire(obj))  # of a class made from it, which may have more
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
            # Here, because it loads `fractions`: 3 ms for what most programs never meet.
            from clientgo.meta.quantities import numbers_to_quantities  # noqa: PLC0415

            generic = numbers_to_quantities(_without_nulls(msgspec.json.decode(data)), self.cls)
            return self._own(msgspec.convert(generic, self._wire, dec_hook=_decode_hook))
        except _UNREADABLE:
            raise Undecodable(self.api.kind, identity(data), reason(first)) from first

    def _one_by_one(self, data: bytes) -> ObjectList[T]:
        try:
            page = raw_list(data)
        except _UNREADABLE as error:
            raise self._no_list(reason(error)) from error
        if page.kind == "Table":
            raise self._no_list("the server sent a Table")
        items: list[T] = []
        bad: list[Undecodable] = []
        for raw in page.items or ():
            try:
                items.append(self.decode(raw))
            except Undecodable as error:
                bad.append(error)
        return ObjectList(page.metadata or ListMeta(), items, tuple(bad))

    def _no_list(self, cause: str) -> Undecodable:
        return Undecodable(f"{self.api.kind}List", ObjectMeta(), cause)


def _page_of(kind: str, item: Any) -> type[msgspec.Struct]:
    # The kind, because a Table has no items and would pass for an empty list: a cache would lose all it has.
    fields: list[tuple[str, Any, Any]] = [
        ("kind", Any, ""),
        ("metadata", ListMeta, ListMeta()),
        ("items", list[item], msgspec.field(default_factory=list)),
    ]
    return msgspec.defstruct(f"{kind}Page", fields, frozen=True)


_CODECS: dict[type, Codec[Any]] = {}


def codec_for(cls: type[T]) -> Codec[T]:
    """The codec of a kind's class, made on first use.

    Raises:
        TypeError: the class is not marked with `@api_type`, or cannot be put on the wire.
    """
    codec = _CODECS.get(cls)
    if codec is None:
        # One at a time, of whatever class: msgspec ends the process (a segmentation fault, at least up to 0.22) if two
        # threads have it look into the same type for the first time, and kinds share types.
        with MAKING:
            codec = _CODECS.get(cls)
            if codec is None:
                codec = _CODECS[cls] = getattr(cls, "__codec_class__", Codec)(cls)
    return codec


def decode(cls: type[T], data: bytes) -> T:
    """The object of kind `cls` in `data`; raises `Undecodable`."""
    return codec_for(cls).decode(data)


def encode(obj: object) -> bytes:
    """`obj` as JSON, with its apiVersion and kind."""
    return codec_for(type(obj)).encode(obj)


def to_dict(obj: object) -> dict[str, Any]:
    """`obj` as the dict its JSON stands for."""
    return cast(dict[str, Any], msgspec.json.decode(encode(obj)))


def from_dict(cls: type[T], data: Mapping[str, Any]) -> T:
    """The object of kind `cls` that `data` describes; raises `Undecodable`."""
    return decode(cls, _ENCODER.encode(data))


def encode_value(value: Any) -> bytes:
    """Any JSON-like value, Structs and dataclasses in it included, as JSON."""
    return _ENCODER.encode(value)


class _Replaceable(Protocol[P, R]):
    """A dataclass or Struct, as type checkers see it from Python 3.13 on."""

    def __replace__(self, /, *args: P.args, **changes: P.kwargs) -> R:
        """Return a copy with these attributes changed."""


if TYPE_CHECKING and sys.version_info >= (3, 13):

    @overload
    def replace(obj: _Replaceable[P, R], /, *args: P.args, **changes: P.kwargs) -> R: ...

    # Of an object whose class is not known, the metadata is all that can be changed.
    @overload
    def replace(obj: A, /, *, metadata: ObjectMeta) -> A: ...

    def replace(obj: Any, /, *_: Any, **changes: Any) -> Any:
        """Return a copy of `obj` with some attributes changed; their names and types are checked."""

else:

    def replace(obj: T, **changes: Any) -> T:
        """Return a copy of `obj` with some attributes changed; objects themselves never change."""
        if isinstance(obj, msgspec.Struct):
            return msgspec.structs.replace(obj, **changes)
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
    """The fields of a dataclass that is made of just these; None for any other class.

    `dataclasses.replace` looks at every field anew each time, which takes longer than to make the copy.
    """
    if not dataclasses.is_dataclass(kind):
        return None
    fields = dataclasses.fields(kind)
    # What is more in the dictionary is given to the constructor alone, or is no field.
    plain = len(kind.__dataclass_fields__) == len(fields) and all(field.init for field in fields)
    return tuple(field.name for field in fields) if plain else None


def identity(data: bytes | msgspec.Raw) -> ObjectMeta:
    """As much of an object's metadata as can be read; empty if nothing can."""
    try:
        return _IDENTITY.decode(data).metadata
    except RecursionError:
        data = names_alone(bytes(data))
    except _UNREADABLE:
        pass  # its metadata itself is odd: the name alone may still be readable
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
