"""A kind as the project generators' tutorials have it."""

from dataclasses import dataclass

from clientgo.meta import ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class HomeSpec:
    """What a home is like."""

    foo: str = ""


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """What has been seen of it."""


@api_type(group="ajd.my.domain", version="v1")
@dataclass(frozen=True, slots=True)
class Home:
    """Where something lives."""

    metadata: ObjectMeta
    spec: HomeSpec = HomeSpec()
    status: HomeStatus = HomeStatus()
