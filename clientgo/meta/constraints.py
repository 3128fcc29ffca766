"""What a field's values must be: the second half of `Annotated[int, Meta(ge=1, le=10)]`.

Constraints become the CRD's schema, where the API server enforces them. They are ours and not `msgspec.Meta`, because
msgspec would enforce those when decoding too, and what a server sends must be readable even if it breaks today's rules
(docs/decisions/002-lenient-decoding.md).
"""

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Constraints and notes on one field, in JSON Schema's sense; None means unconstrained."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: str | None = None
    enum: tuple[str, ...] = ()
    min_items: int | None = None
    max_items: int | None = None
    description: str | None = None
    example: Any = None


DNS_LABEL = Meta(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
"""A name as RFC 1123 has it: what most objects' names must be."""

Int32 = Annotated[int, Meta(format="int32")]
"""An integer of 32 bits, the usual width in Kubernetes' APIs."""

Int64 = Annotated[int, Meta(format="int64")]
"""An integer of 64 bits."""
