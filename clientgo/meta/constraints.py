"""What a field's values must be: the second half of `Annotated[int, Meta(ge=1, le=10)]`.

Constraints become the CRD's schema, where the API server enforces them. They are ours and not `msgspec.Meta`, because
msgspec would enforce those when decoding too, and what a server sends must be readable even if it breaks today's rules
(docs/decisions/002-lenient-decoding.md). docs/codegen.md has the table of what each becomes.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec

C = TypeVar("C", bound=type)

ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule in CEL that the API server evaluates (x-kubernetes-validations); `self` is the value it stands at."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class ExternalDocs(msgspec.Struct, frozen=True):
    """Where more is told."""

    url: str
    description: str = ""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """Constraints and notes on one field, in JSON Schema's sense; what is not given is unconstrained.

    `at_most_one_of`, `exactly_one_of` and `at_least_one_of` name fields of the class, as Python calls them; they are
    for `constrained`, as are `rules` about several fields of a class.
    """

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    enum: tuple[str, ...] | tuple[int, ...] = ()
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    list_type: ListType | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType | None = None
    nullable: bool | None = None
    required: bool | None = None
    default: Any = msgspec.UNSET
    immutable: bool = False
    rules: tuple[Rule, ...] = ()
    at_most_one_of: tuple[str, ...] = ()
    exactly_one_of: tuple[str, ...] = ()
    at_least_one_of: tuple[str, ...] = ()
    preserve_unknown: bool | None = None
    embedded_resource: bool | None = None
    int_or_string: bool | None = None
    schemaless: bool = False
    type: str | None = None
    allow_float: bool = False
    title: str | None = None
    description: str | None = None
    example: Any = None
    external_docs: ExternalDocs | None = None


def constrained(meta: Meta) -> Callable[[C], C]:
    """Constrain every object of a dataclass, wherever it stands: `@constrained(Meta(at_most_one_of=("a", "b")))`."""

    def mark(cls: C) -> C:
        cls.__constraints__ = (*cls.__dict__.get("__constraints__", ()), meta)  # type: ignore[attr-defined]  # a note
        return cls

    return mark


def constraints_of(cls: type) -> tuple[Meta, ...]:
    """What `constrained` noted on a class itself, the innermost first."""
    found: tuple[Meta, ...] = cls.__dict__.get("__constraints__", ())
    return found


DNS_LABEL = Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
"""A name as RFC 1123 has it: what most objects' names must be."""

Int32 = Annotated[int, Meta(format="int32")]
"""An integer of 32 bits, the usual width in Kubernetes' APIs."""

Int64 = Annotated[int, Meta(format="int64")]
"""An integer of 64 bits."""

Duration = Annotated[str, Meta(format="duration")]
"""A span of time as Go writes it: `1h30m`."""

Quantity = Annotated[
    int | str,
    Meta(
        pattern=r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$",
        int_or_string=True,
    ),
]
"""An amount with a unit: `500m`, `1Gi`; a bare integer is taken too."""
