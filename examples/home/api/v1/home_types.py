"""ajd.my.domain/v1: Home.

After a change here run `make manifests generate`.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Column, Int32, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class HomeSpec:
    """What is wanted."""

    owner: Annotated[str, Meta(description="Who lives there; whoever creates the Home, where it is left out.")] = ""
    rooms: Annotated[Int32 | None, Meta(description="How many rooms it has; 1 where it is left out.")] = None


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """What has been seen."""

    ready: Annotated[bool, Meta(description="Whether it can be lived in.")] = False


@api_type(
    group="ajd.my.domain",
    version="v1",
    columns=(
        Column("Owner", "string", ".spec.owner"),
        Column("Rooms", "integer", ".spec.rooms"),
    ),
)
@dataclass(frozen=True, slots=True)
class Home:
    """Home is one of the homes of ajd.my.domain."""

    metadata: ObjectMeta
    spec: HomeSpec = HomeSpec()
    status: HomeStatus = HomeStatus()
