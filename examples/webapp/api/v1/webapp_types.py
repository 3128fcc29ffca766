"""API type WebApp of web.example.com/v1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import Column, Int32, Meta, ObjectMeta, ScaleSubresource, api_type


@dataclass(frozen=True, slots=True)
class WebAppSpec:
    """Desired state of a WebApp."""

    image: Annotated[str, Meta(min_length=1, description="Container image, with a tag or a digest.")]
    replicas: Annotated[
        Int32 | None, Meta(ge=0, description="Number of pods; by default 2 if the app has a host, otherwise 1.")
    ] = None
    port: Annotated[Int32, Meta(ge=1, le=65535, description="Port that the container listens on.")] = 8080
    host: Annotated[
        str, Meta(pattern="^[^/]*$", description="Host name of the Ingress; without one there is no Ingress.")
    ] = ""
    path: Annotated[
        str, Meta(pattern="^(/.*)?$", description="Paths with this prefix lead to the app; by default all.")
    ] = ""


@dataclass(frozen=True, slots=True)
class WebAppStatus:
    """Observed state of a WebApp."""

    replicas: Annotated[Int32, Meta(description="Number of pods.")] = 0
    selector: Annotated[str, Meta(description="Label selector of the pods, for autoscalers.")] = ""
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(list_type="map", list_map_keys=("type",), description="Latest observations of the object's state."),
    ] = ()


@api_type(
    group="web.example.com",
    version="v1",
    scale=ScaleSubresource(".spec.replicas", ".status.replicas", ".status.selector"),
    columns=(
        Column("Available", "string", '.status.conditions[?(@.type=="Available")].status'),
        Column("Replicas", "integer", ".spec.replicas"),
        Column("Host", "string", ".spec.host"),
        Column("Image", "string", ".spec.image", priority=1),
    ),
)
@dataclass(frozen=True, slots=True)
class WebApp:
    """WebApp is the schema of the webapps API."""

    metadata: ObjectMeta
    spec: WebAppSpec
    status: WebAppStatus = WebAppStatus()
