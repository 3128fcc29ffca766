"""Check of the classes of API kinds, for the codec and the generators.

A class that passes has one exact JSON form: the codec, the CRD and the clients agree on the name and the type of each
field. Generated types, which are Structs, are exact by construction.
"""

import dataclasses
import enum
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from clientgo.meta.classes.hints import bare_type, camel
from clientgo.meta.objects import MicroTime, ObjectMeta

_SCALARS = (str, bool, int, float, bytes, datetime, MicroTime, ObjectMeta, Any)
_FROZEN = "@dataclass(frozen=True, slots=True)"
_RESERVED = frozenset(("apiVersion", "kind"))


class ClassFault(msgspec.Struct, frozen=True):
    """A reason why a class cannot be used, and its remedy; `field` is empty if it concerns the whole class."""

    cls: type[Any]
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.cls.__name__}.{self.field}: {self.message}" if self.field else self.message


def check_class(cls: type[Any]) -> None:
    """Check a class and those that its fields refer to.

    Raises:
        TypeError: the message has all faults, each with its class, field and remedy.
    """
    if messages := list(dict.fromkeys(map(str, faults(cls)))):
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} cannot be used as an API type: {'; '.join(messages)}")


def faults(cls: type[Any]) -> Iterator[ClassFault]:
    """Yield the faults of a class and of those that its fields refer to; none if it has a codec of its own."""
    if hasattr(cls, "__codec_class__"):
        return  # its fields are not those of the JSON form
    yield from _class_faults(cls, (), set())


def not_a_dataclass(cls: type[Any]) -> str:
    """Return the message for a class that is not a dataclass."""
    library = _library_of(cls)
    if library:
        return f"{cls.__name__} is a class of {library}: use {_FROZEN} in its place"
    return f"{cls.__name__} is not a dataclass: add {_FROZEN} below @api_type"


def _library_of(cls: Any) -> str:
    markers = {"__attrs_attrs__": "attrs", "__pydantic_fields__": "pydantic"}
    return next((library for marker, library in markers.items() if hasattr(cls, marker)), "")


def has_fields(cls: Any) -> bool:
    """Report whether a type is a dataclass or a Struct."""
    return isinstance(cls, msgspec.StructMeta) or (isinstance(cls, type) and dataclasses.is_dataclass(cls))


def is_built_in(cls: type[Any]) -> bool:
    """Report whether the class is a built-in type."""
    return issubclass(cls, msgspec.Struct) and cls.__module__.startswith(("clientgo.kubernetes.", "clientgo.meta."))


def type_faults(hint: Any) -> Iterator[str]:
    """Yield why the annotation of a field is not supported, with a remedy."""
    bare = bare_type(hint)
    origin, args = get_origin(bare), get_args(bare)
    if bare in _SCALARS or has_fields(bare):
        return
    if origin is Literal or _is_enum(bare):
        values = args if origin is Literal else [member.value for member in bare]
        if {type(value) for value in values} not in ({str}, {int}):
            yield "the values of an enum must all be strings, or all integers"
    elif origin is list or (origin is tuple and args[1:] == (...,)):
        yield from type_faults(args[0])
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        if bare_type(args[0]) is not str:
            yield "the keys of a map must be strings: use Mapping[str, ...]"
        yield from type_faults(args[1])
    elif _library_of(bare):
        yield not_a_dataclass(bare)
    elif not (origin in (Union, types.UnionType) and set(args) == {int, str}):
        yield f"{_name(bare)} has no schema: {_instead(bare, origin)}"


def _class_faults(cls: type[Any], inside: tuple[type[Any], ...], seen: set[type[Any]]) -> Iterator[ClassFault]:
    if cls in inside and not issubclass(cls, msgspec.Struct):
        message = f"{cls.__name__} is recursive, which a structural schema cannot express: use Mapping[str, Any]"
        yield ClassFault(cls, "", message)
    if cls in seen or is_built_in(cls):
        return
    seen.add(cls)
    if not has_fields(cls) or _library_of(cls):
        yield ClassFault(cls, "", not_a_dataclass(cls))
        return
    try:
        hints = get_type_hints(cls, include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        yield ClassFault(cls, "", f"cannot read the annotations of {cls.__name__}: {error}")
        return
    if "__api_type__" in vars(cls) and bare_type(hints.get("metadata")) is not ObjectMeta:
        yield ClassFault(cls, "", f"{cls.__name__} has no metadata: add `metadata: ObjectMeta`")
    yield from _struct_faults(cls, hints) if issubclass(cls, msgspec.Struct) else _dataclass_faults(cls, hints)
    for hint in hints.values():
        for part in _classes_in(hint):
            yield from _class_faults(part, (*inside, cls), seen)


def _struct_faults(cls: type[msgspec.Struct], hints: Mapping[str, Any]) -> Iterator[ClassFault]:
    if not cls.__struct_config__.frozen:
        yield ClassFault(cls, "", f"{cls.__name__} is mutable: use msgspec.Struct with frozen=True")
    elif (unnamed := _without_json_name(cls)) and not _renames(cls):
        for name in unnamed:
            message = f'its JSON name would be {name} instead of {camel(name)}: add rename="camel" to {cls.__name__}'
            yield ClassFault(cls, name, message)
    if cls.__struct_config__.array_like:
        yield ClassFault(cls, "", f"{cls.__name__} has no field names in JSON: remove array_like=True")
    if cls.__struct_config__.tag is not None:
        yield ClassFault(cls, "", f"{cls.__name__} has a field that its annotations lack: remove tag=")
    for name in cls.__struct_fields__:
        for part in _classes_in(hints[name]):
            if not issubclass(part, msgspec.Struct):
                yield ClassFault(
                    cls, name, f"a Struct cannot hold the dataclass {part.__name__}: use {_FROZEN} for both"
                )


def _without_json_name(cls: type[msgspec.Struct]) -> list[str]:
    names = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    return [name for name, json_name in names if json_name == name != camel(name)]


def _renames(cls: type[msgspec.Struct]) -> bool:
    """Report whether the class renames its fields, as all classes derived from it do."""
    # Not by `defstruct`, which does not support a metaclass such as that of `StructWithLists`.
    metaclass: Any = type(cls)
    derived = metaclass("Derived", (cls,), {"__annotations__": {"a_b": int}, "a_b": 0}, frozen=True, kw_only=True)
    return "a_b" not in derived.__struct_encode_fields__


def _dataclass_faults(cls: type[Any], hints: Mapping[str, Any]) -> Iterator[ClassFault]:
    params: Any = getattr(cls, "__dataclass_params__")  # noqa: B009  # unknown to type checkers
    if not params.frozen:
        yield ClassFault(cls, "", f"{cls.__name__} is mutable: use {_FROZEN}")
    if getattr(cls, "__parameters__", ()):
        yield ClassFault(cls, "", f"{cls.__name__} is generic: use a dataclass without type parameters")
    fields = [field.name for field in dataclasses.fields(cls)]
    for name, value in vars(cls).items():
        # With an annotation and no field it is a ClassVar.
        if not (name in hints or name.startswith("_") or callable(value) or hasattr(value, "__get__")):
            yield ClassFault(cls, name, f"missing annotation: write `{name}: {type(value).__name__} = ...`")
    for name, hint in hints.items():
        if isinstance(hint, dataclasses.InitVar):
            yield ClassFault(cls, name, "an InitVar has no JSON form: use a field")
        elif name in fields:
            yield from (ClassFault(cls, name, message) for message in type_faults(hint))
    yield from _name_faults(cls, fields)


def _name_faults(cls: type[Any], fields: Collection[str]) -> Iterator[ClassFault]:
    used = dict.fromkeys(_RESERVED, "@api_type") if "__api_type__" in vars(cls) else {}
    for name in fields:
        json_name = camel(name)
        if json_name in used:
            yield ClassFault(cls, name, f"the JSON name {json_name} is that of {used[json_name]}: use another name")
        used[json_name] = name


def _classes_in(hint: Any) -> Iterator[type[Any]]:
    bare = bare_type(hint)
    if has_fields(bare):
        yield bare
    for arg in get_args(bare):
        yield from _classes_in(arg)


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, enum.Enum)


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")


def _instead(hint: Any, origin: Any) -> str:
    kind = origin or hint
    if has_fields(kind) or isinstance(hint, TypeVar):
        return "use a dataclass without type parameters"
    if origin in (Union, types.UnionType):
        return "use one type, or int | str"
    if origin is tuple or hint in (tuple, list, dict):
        return "use tuple[X, ...] or Mapping[str, X]"
    if isinstance(kind, type) and not issubclass(kind, Mapping) and (kind is Iterable or issubclass(kind, Collection)):
        return "use tuple[X, ...]"
    return "use str, int, bool, datetime, an enum, a dataclass, tuple[X, ...] or Mapping[str, X]"
