"""The older version of a kind in two versions."""

from dataclasses import dataclass

from clientgo.meta import Int32, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class ShelfSpec:
    """How much a shelf holds."""

    boards: Int32 = 1


@api_type(
    group="library.example.com",
    version="v1beta1",
    plural="shelves",
    status=False,
    storage=False,
    deprecated=True,
    deprecation_warning="library.example.com/v1beta1 Shelf is going away: use v1",
)
@dataclass(frozen=True, slots=True)
class Shelf:
    """Holds books."""

    metadata: ObjectMeta
    spec: ShelfSpec
