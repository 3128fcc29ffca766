"""Foo of another sample, with a container image and replicas."""

from dataclasses import dataclass
from typing import Annotated

from clientgo.meta import Column, Int32, Meta, ObjectMeta, ScaleSubresource, api_type


@dataclass(frozen=True, slots=True)
class FooSpec:
    """Desired state of a Foo."""

    image: Annotated[str, Meta(min_length=1)]
    replicas: Annotated[Int32, Meta(ge=0)] = 1


@dataclass(frozen=True, slots=True)
class FooStatus:
    """Observed state of a Foo."""

    available_replicas: Int32 = 0


@api_type(
    group="samplecontroller.c9g.io",
    version="v1",
    scale=ScaleSubresource(".spec.replicas", ".status.availableReplicas"),
    columns=(Column("Image", "string", ".spec.image"),),
)
@dataclass(frozen=True, slots=True)
class Foo:
    """Set of pods that run one image."""

    metadata: ObjectMeta
    spec: FooSpec
    status: FooStatus = FooStatus()
