"""samplecontroller.c9g.io/v1alpha1: Foo.

After a change here run `make manifests generate`.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Int32, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class FooSpec:
    """What is wanted."""

    image: Annotated[str, Meta(min_length=1, description="The image that a Foo runs.")]
    replicas: Annotated[Int32 | None, Meta(ge=0, description="How many are to run.")] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """What has been seen."""

    available_replicas: Annotated[Int32 | None, Meta(description="How many are available.")] = None


@api_type(
    group="samplecontroller.c9g.io",
    version="v1alpha1",
)
@dataclass(frozen=True, slots=True)
class Foo:
    """Foo is one of the foos of samplecontroller.c9g.io."""

    metadata: ObjectMeta
    spec: FooSpec
    status: FooStatus = FooStatus()
