"""Object metadata (metav1) as immutable values.

Attribute names are the official client's (snake_case of the JSON names). An absent list or map reads as an empty one,
as a nil slice or map in Go, so `foo.metadata.labels.get("app")` needs no None check.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar, get_args, get_origin

import msgspec

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.readonly import EMPTY_MAP as EMPTY_MAP
from clientgo.meta.readonly import protect

T = TypeVar("T")

if TYPE_CHECKING:

    class ListOf(Generic[T]):
        """Type of a list field: a tuple to readers; constructors accept lists, too (not `Sequence`: a str is one)."""

        def __get__(self, obj: object, owner: Any = None) -> tuple[T, ...]: ...
        # A constructor's parameter has a default of the last type, as pyright sees it.
        def __set__(self, obj: object, value: "list[T] | tuple[T, ...] | ListOf[T]") -> None: ...

else:

    class ListOf:
        """Type of a list field of a `StructWithLists`: `ListOf[str]` is `tuple[str, ...]`."""

        def __class_getitem__(cls, item: Any) -> Any:
            return tuple[item, ...]


NO_ITEMS: Any = ()
"""Default of a list field, without a type: to type checkers `ListOf` is a descriptor."""


@cache
def _list_fields(cls: type[msgspec.Struct]) -> frozenset[str]:
    # An apply configuration has unions of a tuple and UnsetType.
    types = {field.name: (field.type, *get_args(field.type)) for field in msgspec.structs.fields(cls)}
    return frozenset(name for name, hints in types.items() if any(get_origin(hint) is tuple for hint in hints))


def with_tuples(cls: type[msgspec.Struct], attributes: dict[str, Any]) -> dict[str, Any]:
    """Convert lists in fields that are tuples to tuples; return `attributes`."""
    for name, value in attributes.items():
        if value.__class__ is list and name in _list_fields(cls):
            attributes[name] = tuple(value)
    return attributes


_construct = msgspec.StructMeta.__call__


class StructWithListsMeta(msgspec.StructMeta):
    """Metaclass of Structs whose constructors convert lists to tuples."""

    if not TYPE_CHECKING:  # checkers would take the signature for that of every constructor

        def __call__(self, /, *args: Any, **attributes: Any) -> Any:
            """Create an object."""
            return _construct(self, *args, **with_tuples(self, attributes))


class StructWithLists(msgspec.Struct, frozen=True, metaclass=StructWithListsMeta):
    """Struct whose constructor converts lists to tuples. Decoding costs no more: it does not call constructors."""

    if not TYPE_CHECKING:  # checkers derive the parameters from the fields

        def __replace__(self, /, **changes: Any) -> Any:
            """Return a copy with some attributes changed."""
            return msgspec.structs.replace(self, **with_tuples(type(self), changes))


Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time, which has a time zone: the codec reads one without as UTC, and does not write it."""


class MicroTime(datetime):
    """A time with exactly six fractional digits, as Go's metav1.MicroTime requires."""

    @classmethod
    def of(cls, at: datetime) -> "MicroTime":
        """Convert a datetime; raise ValueError if it has no time zone."""
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} has no time zone: use datetime.now(UTC) or at.replace(tzinfo=UTC)")
        at = at.astimezone(UTC)
        return cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, UTC)

    def wire(self) -> str:
        """Return the JSON form, such as `2026-01-02T03:04:05.000006Z`."""
        # Not strftime: it writes the years before 1000 (Go's zero time is in year 1) with fewer than four digits.
        return self.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class UnknownTime(MicroTime):
    """A time that a datetime cannot hold, such as one in the year 10000: the nearest one that it can.

    It is written back unchanged, as `text`.
    """

    text: str = ""

    @classmethod
    def read(cls, text: str) -> "UnknownTime":
        """Read a time; raise ValueError if the text is not one."""
        match = _TIME.fullmatch(text)
        year = match[1] if match else ""
        if year.startswith("-") or (year and not year.lstrip("+0")):
            at = datetime.min
        elif len(year.lstrip("+0")) > _YEAR_DIGITS:
            at = datetime.max
        elif match and match[3] == "60":  # a leap second
            at = datetime.fromisoformat(f"{match[1]}{match[2]}59.999999{match[4]}")
        else:
            at = datetime.fromisoformat(text)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        time = cls(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond, at.tzinfo)
        time.text = text
        return time

    def wire(self) -> str:
        """Return the JSON form: the text that was read."""
        return self.text or super().wire()  # the results of arithmetic have no text

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (UnknownTime.read, (self.text,)) if self.text else super().__reduce_ex__(protocol)


_YEAR_DIGITS = 4
_TIME = lazy_pattern(r"([+-]?\d+)(-\d\d-\d\d[Tt ]\d\d:\d\d:)(\d\d)(?:[.,]\d+)?([Zz]|[+-]\d\d:?\d\d|)", re.ASCII)


class UnknownValue(str):
    """A value that its field cannot hold: one that an Enum or Literal lacks, a text that is not a time or not base64.

    It equals no member, is written back unchanged, and has the attributes of a member that programs read.
    """

    __slots__ = ()

    @property
    def value(self) -> str:
        """The value itself."""
        return str(self)

    @property
    def name(self) -> str:
        """The value, in place of the name of a member."""
        return str(self)


class UnknownNumber(int):
    """A number that its field cannot hold, like an `UnknownValue`: one that an Enum lacks, or of more than 64 bits."""

    __slots__ = ()

    @property
    def value(self) -> int:
        """The number itself."""
        return int(self)

    @property
    def name(self) -> str:
        """The number as text, in place of the name of a member."""
        return str(int(self))


# gc=False here and in generated types: values are not part of reference cycles, and caches hold many of them.


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation in which `kubectl apply` stores what it has applied."""


class OwnerReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """A reference to an owner; an object is garbage-collected once all its owners are deleted."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """The fields that a manager owns (server-side apply)."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: Time | None = None
    fields_type: str | None = None
    fields_v1: Mapping[str, Any] | None = msgspec.field(default=None, name="fieldsV1")
    subresource: str | None = None


class ObjectMeta(StructWithLists, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Metadata of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = EMPTY_MAP
    annotations: Mapping[str, str] = EMPTY_MAP
    owner_references: ListOf[OwnerReference] = NO_ITEMS
    finalizers: ListOf[str] = NO_ITEMS
    managed_fields: ListOf[ManagedFieldsEntry] = NO_ITEMS
    self_link: str | None = None


protect(ObjectMeta)


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Metadata of a list: its resourceVersion, and the token of the next page, if any."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    self_link: str | None = None


class GroupVersionKind(msgspec.Struct, frozen=True):
    """The kind of an object; `group` is empty for the core group."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(msgspec.Struct, frozen=True):
    """The resource that serves a kind; `group` is empty for the core group."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """`deployments.apps`, or `pods` for the core group."""
        return f"{self.resource}.{self.group}" if self.group else self.resource

    def __str__(self) -> str:
        return f"{self.api_version}, Resource={self.resource}"


class ApiObject(Protocol):
    """An object with Kubernetes metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""


# The encoder omits values that equal a known empty default. Required fields must be sent even if they are empty, so
# their defaults come from functions that the encoder does not know.


def no_items() -> Any:
    """Return an empty list that is sent: the default of a required list."""
    return ()


def no_entries() -> Mapping[str, Any]:
    """Return an empty map that is sent: the default of a required map."""
    return EMPTY_MAP


def no_value() -> Any:
    """Return None that is sent as null: the default of a required nullable field."""
    return None
