"""The newer version of a kind in two versions, which is the one that is stored."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Int32, Meta, ObjectMeta, WebhookConversion, api_type


@dataclass(frozen=True, slots=True)
class ShelfSpec:
    """How much a shelf holds, and of what."""

    boards: Annotated[Int32, Meta(ge=1)] = 1
    topic: Annotated[str, Meta(immutable=True)] = ""


@dataclass(frozen=True, slots=True)
class ShelfStatus:
    """How full it is."""

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
    """Holds books."""

    metadata: ObjectMeta
    spec: ShelfSpec
    status: ShelfStatus = ShelfStatus()
