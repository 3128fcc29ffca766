"""API type IPPool of tsi.tiduyun.com/v1alpha1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Column, Int64, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class IPPoolSpec:
    """Desired state of an IPPool."""

    cidr: Annotated[str, Meta(min_length=1, description="Network of the pool in CIDR notation, such as 10.0.0.0/24.")]


@dataclass(frozen=True, slots=True)
class IPPoolStatus:
    """Observed state of an IPPool."""

    addresses: Annotated[Int64 | None, Meta(description="Number of addresses in the pool.")] = None
    overlaps: Annotated[tuple[str, ...], Meta(list_type="set", description="Names of overlapping pools.")] = ()
    problem: Annotated[str, Meta(description="Reason why the pool cannot be used.")] = ""


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
    """IPPool is the schema of the ippools API."""

    metadata: ObjectMeta
    spec: IPPoolSpec
    status: IPPoolStatus = IPPoolStatus()
