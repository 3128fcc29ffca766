"""API type RedisCluster of cache.example.com/v1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import Column, Int32, Int64, Meta, ObjectMeta, Quantity, ScaleSubresource, api_type


@dataclass(frozen=True, slots=True)
class RedisClusterSpec:
    """Desired state of a RedisCluster."""

    replicas: Annotated[Int32, Meta(ge=0, description="Desired number of servers.")] = 3
    image: Annotated[str, Meta(min_length=1, description="Container image of the servers.")] = "redis:7.4-alpine"
    max_memory: Annotated[
        str,
        Meta(pattern=r"^[1-9][0-9]*(kb|mb|gb)?$", description="Memory limit of a server, as in redis.conf."),
    ] = "100mb"
    settings: Annotated[tuple[str, ...], Meta(description="Additional lines of redis.conf.")] = ()
    storage: Annotated[Quantity, Meta(immutable=True, description="Size of each server's volume.")] = "1Gi"
    keep_data: Annotated[bool, Meta(description="Keep the volumes when the RedisCluster is deleted.")] = False


@dataclass(frozen=True, slots=True)
class RedisClusterStatus:
    """Observed state of a RedisCluster."""

    replicas: Annotated[Int32, Meta(description="Number of servers.")] = 0
    ready_replicas: Annotated[Int32, Meta(description="Number of ready servers.")] = 0
    selector: Annotated[str, Meta(description="Label selector of the pods, for autoscalers.")] = ""
    observed_generation: Annotated[Int64, Meta(description="Latest generation that the controller has observed.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(list_type="map", list_map_keys=("type",), description="Latest observations of the object's state."),
    ] = ()


@api_type(
    group="cache.example.com",
    version="v1",
    short_names=("redis",),
    scale=ScaleSubresource(".spec.replicas", ".status.replicas", ".status.selector"),
    columns=(
        Column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        Column("Replicas", "integer", ".spec.replicas"),
        Column("Image", "string", ".spec.image", priority=1),
    ),
)
@dataclass(frozen=True, slots=True)
class RedisCluster:
    """RedisCluster is the schema of the redisclusters API."""

    metadata: ObjectMeta
    spec: RedisClusterSpec = RedisClusterSpec()
    status: RedisClusterStatus = RedisClusterStatus()
