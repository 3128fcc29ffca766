"""Newer, stored version of a kind with two versions."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Int32, Meta, ObjectMeta, WebhookConversion, api_type


@dataclass(frozen=True, slots=True)
class ShelfSpec:
    """Capacity and topic of a Shelf."""

    boards: Annotated[Int32, Meta(ge=1)] = 1
    topic: Annotated[str, Meta(immutable=True)] = ""


@dataclass(frozen=True, slots=True)
class ShelfStatus:
    """Observed state of a Shelf."""

    books: Int32 = 0


@api_type(
    group="library.example.com",
    version="v1",
    plural="shelves",
    categories=("all", "library"),
    labels=(("team", "stacks"),),
    annotations=(("example.com/owner", "stacks"),),
    selectable_fields=(".spec.topic",),
    conversion=WebhookConversion(path="/convert-shelves"),
)
@dataclass(frozen=True, slots=True)
class Shelf:
    """Shelf for books."""

    metadata: ObjectMeta
    spec: ShelfSpec
    status: ShelfStatus = ShelfStatus()
