"""tsi.tiduyun.com/v1alpha1: IPPool.

After a change here run `make manifests generate`.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Column, Int64, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class IPPoolSpec:
    """What is wanted."""

    cidr: Annotated[str, Meta(min_length=1, description="The network that addresses are taken from, as 10.0.0.0/24.")]


@dataclass(frozen=True, slots=True)
class IPPoolStatus:
    """What has been seen."""

    addresses: Annotated[Int64 | None, Meta(description="How many addresses the pool has.")] = None
    overlaps: Annotated[tuple[str, ...], Meta(list_type="set", description="Other pools with some of them.")] = ()
    problem: Annotated[str, Meta(description="Why the pool can't be used.")] = ""


@api_type(
    group="tsi.tiduyun.com",
    version="v1alpha1",
    scope="Cluster",
    short_names=("ipp",),
    columns=(
        Column("CIDR", "string", ".spec.cidr"),
        Column("Addresses", "integer", ".status.addresses"),
    ),
)
@dataclass(frozen=True, slots=True)
class IPPool:
    """IPPool is one of the ippools of tsi.tiduyun.com."""

    metadata: ObjectMeta
    spec: IPPoolSpec
    status: IPPoolStatus = IPPoolStatus()
