"""API type Home of ajd.my.domain/v1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Column, Int32, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class HomeSpec:
    """Desired state of a Home."""

    owner: Annotated[str, Meta(description="Owner of the home (default: the user who creates it).")] = ""
    rooms: Annotated[Int32 | None, Meta(description="Number of rooms (default: 1).")] = None


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Observed state of a Home."""

    ready: Annotated[bool, Meta(description="True if the home is ready.")] = False


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
    """Home is the schema of the homes API."""

    metadata: ObjectMeta
    spec: HomeSpec = HomeSpec()
    status: HomeStatus = HomeStatus()
