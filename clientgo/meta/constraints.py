"""Constraints on fields: the second part of `Annotated[int, Meta(ge=1, le=10)]`.

They become the CRD's schema, which the API server enforces. Not `msgspec.Meta`, which msgspec would enforce on decoding
as well: objects that violate today's rules must be readable (docs/decisions/objects.md). docs/codegen.md
lists the schema of each constraint.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec

C = TypeVar("C", bound=type)

ListType = Literal["atomic", "set", "map"]
MapType = Literal["granular", "atomic"]

CEL_RESERVED_WORDS = frozenset((
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
    "let", "loop", "package", "namespace", "return", "var", "void", "while",
))  # fmt: skip
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A CEL rule that the API server evaluates (x-kubernetes-validations); `self` is the annotated value."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class ExternalDocs(msgspec.Struct, frozen=True, omit_defaults=True):
    """A link to external documentation."""

    url: str
    description: str = ""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """Constraints on a field, as in JSON Schema; omitted ones do not apply.

    `at_most_one_of`, `exactly_one_of` and `at_least_one_of` contain Python names of the class's fields; use them with
    `constrained`, as well as `rules` about several fields.
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
    """Constrain a dataclass wherever it is used: `@constrained(Meta(at_most_one_of=("a", "b")))`."""

    def mark(cls: C) -> C:
        cls.__constraints__ = (*cls.__dict__.get("__constraints__", ()), meta)  # type: ignore[attr-defined]  # a note
        return cls

    return mark


def constraints_of(cls: type) -> tuple[Meta, ...]:
    """Return the constraints of `@constrained` on a class, innermost first."""
    constraints: tuple[Meta, ...] = cls.__dict__.get("__constraints__", ())
    return constraints


DNS_LABEL = Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
"""A DNS label (RFC 1123), the format of most objects' names."""

LABEL_VALUE = Meta(max_length=63, pattern=r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
"""Value of a label, which may be empty."""

Int32 = Annotated[int, Meta(format="int32")]
"""A 32-bit integer, the usual width in Kubernetes' APIs."""

Int64 = Annotated[int, Meta(format="int64")]
"""A 64-bit integer."""

Duration = Annotated[str, Meta(format="duration")]
"""A duration in Go's notation: `1h30m`; `duration_seconds` returns its seconds."""

Quantity = Annotated[
    int | str,
    Meta(
        pattern=r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?$",
        int_or_string=True,
    ),
]
"""A quantity: `500m`, `1Gi`, or an integer."""


def cel_name(field: str) -> str:
    """Return the name of a property in CEL, with invalid characters and reserved words escaped."""
    if field in CEL_RESERVED_WORDS:
        return f"__{field}__"
    if any(mark in field for mark, _ in _ESCAPES):
        for mark, escape in _ESCAPES:
            field = field.replace(mark, escape)
    return field
