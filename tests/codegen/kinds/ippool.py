"""Cluster-scoped kind."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Int32, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class IPPoolSpec:
    """Desired state of an IPPool."""

    cidr: Annotated[str, Meta(pattern=r"^[0-9.]+/[0-9]+$")]
    """Addresses of the pool, such as 10.0.0.0/8."""
    block_size: Annotated[Int32, Meta(ge=20, le=32)] = 26
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class IPPoolStatus:
    """Observed state of an IPPool."""

    allocated: tuple[str, ...] = ()
    phase: str = ""


@api_type(group="tsi.tiduyun.com", version="v1", scope="Cluster", short_names=("ipp",))
@dataclass(frozen=True, slots=True)
class IPPool:
    """Range of addresses for allocation."""

    metadata: ObjectMeta
    spec: IPPoolSpec
    status: IPPoolStatus = IPPoolStatus()
