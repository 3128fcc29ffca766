"""Three kinds in one group; Ship has a field for each schema keyword."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from clientgo.meta import (
    DNS_LABEL,
    EMPTY_MAP,
    Column,
    Duration,
    ExternalDocs,
    Int32,
    Int64,
    Meta,
    MicroTime,
    ObjectMeta,
    Quantity,
    Rule,
    ScaleSubresource,
    api_type,
    constrained,
)


class Colour(enum.StrEnum):
    """Colour of a hull."""

    RED = "red"
    GREY = "grey"


@dataclass(frozen=True, slots=True)
class Engine:
    """Engine of a ship."""

    name: str
    power: Int32 = 1
    options: tuple[str, ...] = ()


@constrained(Meta(map_type="atomic"))
@dataclass(frozen=True, slots=True)
class HarbourRef:
    """Reference to a Harbour."""

    name: str
    berth: Int32 | None = None


@constrained(
    Meta(
        rules=(Rule(rule="self.crew <= self.berths", message="more crew than berths", field_path=".crew"),),
        exactly_one_of=("sail", "motor"),
        at_most_one_of=("flag", "pennant"),
        at_least_one_of=("flag", "pennant", "colour"),
    )
)
@dataclass(frozen=True, slots=True)
class ShipSpec:
    """Desired state of a Ship."""

    crew: Annotated[Int32, Meta(ge=1, lt=1000)]
    berths: Annotated[Int32, Meta(gt=0, le=1000, multiple_of=2)]
    owner: str | None
    """Owner of the ship; null for no owner."""
    home: HarbourRef
    name: Annotated[str, DNS_LABEL, Meta(title="Name", example="aurora")]
    colour: Colour = Colour.GREY
    rig: Literal["sloop", "ketch"] = "sloop"
    sail: int | None = None
    motor: bool | None = None
    flag: str | None = None
    pennant: str | None = None
    engines: Annotated[
        tuple[Engine, ...], Meta(list_type="map", list_map_keys=("name",), min_items=1, max_items=4)
    ] = ()
    ports: Annotated[tuple[str, ...], Meta(list_type="set", max_items=8)] = ()
    route: Annotated[tuple[Annotated[str, Meta(max_length=16)], ...], Meta(list_type="atomic")] = ()
    cargo: Annotated[Mapping[str, Quantity], Meta(min_properties=0, max_properties=9)] = EMPTY_MAP
    draught: int | str = "50%"
    ballast: Quantity | None = None
    watch: Duration = "4h"
    hull_number: Annotated[Int64 | None, Meta(immutable=True)] = None
    yard: Annotated[str, Meta(immutable=True, external_docs=ExternalDocs("https://example.com/yards"))] = ""
    template: Annotated[Mapping[str, Any], Meta(embedded_resource=True)] = EMPTY_MAP
    extra: Mapping[str, Any] = EMPTY_MAP
    anything: Any = None
    plate: bytes = b""
    launched: datetime | None = None
    logged: MicroTime | None = None
    ratio: Annotated[float | None, Meta(allow_float=True)] = None
    lanterns: Annotated[tuple[str, ...], Meta(default=["port", "starboard"])] = ("port", "starboard")
    note: Annotated[str | None, Meta(nullable=True, max_length=64)] = None


@dataclass(frozen=True, slots=True)
class ShipStatus:
    """Observed state of a Ship."""

    aboard: Int32 = 0
    selector: str = ""


@api_type(
    group="fleet.example.com",
    version="v1",
    short_names=("sh",),
    scale=ScaleSubresource(".spec.crew", ".status.aboard", ".status.selector"),
    columns=(Column("Crew", "integer", ".spec.crew", "Number of sailors.", "int32", 1),),
)
@dataclass(frozen=True, slots=True)
class Ship:
    """Ship with a crew and a home harbour."""

    metadata: ObjectMeta
    spec: ShipSpec
    status: ShipStatus = ShipStatus()


@api_type(group="fleet.example.com", version="v1", scope="Cluster", status=False)
@dataclass(frozen=True, slots=True)
class Harbour:
    """Harbour with berths for ships."""

    metadata: ObjectMeta
    depth: Int32 = 10


@api_type(
    group="fleet.example.com",
    version="v1",
    plural="log-entries",
    status=False,
    verbs=("get", "list", "watch", "create"),
)
@dataclass(frozen=True, slots=True)
class LogEntry:
    """Immutable entry of a log."""

    metadata: ObjectMeta
    text: Annotated[str, Meta(immutable=True)]
