"""Older version of a kind with two versions."""

from dataclasses import dataclass

from clientgo.meta import Int32, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class ShelfSpec:
    """Capacity of a Shelf."""

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
    """Shelf for books."""

    metadata: ObjectMeta
    spec: ShelfSpec
