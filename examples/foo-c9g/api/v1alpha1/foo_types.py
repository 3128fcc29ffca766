"""API type Foo of samplecontroller.c9g.io/v1alpha1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Int32, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class FooSpec:
    """Desired state of a Foo."""

    image: Annotated[str, Meta(min_length=1, description="Container image.")]
    replicas: Annotated[Int32 | None, Meta(ge=0, description="Desired number of pods.")] = None


@dataclass(frozen=True, slots=True)
class FooStatus:
    """Observed state of a Foo."""

    available_replicas: Annotated[Int32 | None, Meta(description="Number of available pods.")] = None


@api_type(
    group="samplecontroller.c9g.io",
    version="v1alpha1",
)
@dataclass(frozen=True, slots=True)
class Foo:
    """Foo is the schema of the foos API."""

    metadata: ObjectMeta
    spec: FooSpec
    status: FooStatus = FooStatus()
