"""Kind of the tutorials of project generators."""

from dataclasses import dataclass

from clientgo.meta import ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class HomeSpec:
    """Desired state of a Home."""

    foo: str = ""


@dataclass(frozen=True, slots=True)
class HomeStatus:
    """Observed state of a Home."""


@api_type(group="ajd.my.domain", version="v1")
@dataclass(frozen=True, slots=True)
class Home:
    """Home with one string field."""

    metadata: ObjectMeta
    spec: HomeSpec = HomeSpec()
    status: HomeStatus = HomeStatus()
