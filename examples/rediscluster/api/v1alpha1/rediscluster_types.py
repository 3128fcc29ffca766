"""API type RedisCluster of cache.example.com/v1alpha1, which v1 replaces.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import Column, Int32, Int64, Meta, ObjectMeta, Quantity, ScaleSubresource, api_type


@dataclass(frozen=True, slots=True)
class RedisClusterSpec:
    """Desired state of a RedisCluster."""

    size: Annotated[Int32, Meta(ge=0, description="Desired number of servers.")] = 3
    image: Annotated[str, Meta(min_length=1, description="Container image of the servers.")] = "redis:7.4-alpine"
    memory: Annotated[Int32, Meta(ge=1, description="Memory limit of a server in megabytes.")] = 100
    config: Annotated[str, Meta(description="Additional content of redis.conf.")] = ""
    storage: Annotated[Quantity, Meta(immutable=True, description="Size of each server's volume.")] = "1Gi"


@dataclass(frozen=True, slots=True)
class RedisClusterStatus:
    """Observed state of a RedisCluster."""

    size: Annotated[Int32, Meta(description="Number of servers.")] = 0
    ready: Annotated[Int32, Meta(description="Number of ready servers.")] = 0
    selector: Annotated[str, Meta(description="Label selector of the pods, for autoscalers.")] = ""
    observed_generation: Annotated[Int64, Meta(description="Latest generation that the controller has observed.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(list_type="map", list_map_keys=("type",), description="Latest observations of the object's state."),
    ] = ()


@api_type(
    group="cache.example.com",
    version="v1alpha1",
    short_names=("redis",),
    scale=ScaleSubresource(".spec.size", ".status.size", ".status.selector"),
    columns=(
        Column("Ready", "integer", ".status.ready"),
        Column("Size", "integer", ".spec.size"),
    ),
    storage=False,
    deprecated=True,
    deprecation_warning="cache.example.com/v1alpha1 RedisCluster is deprecated: use cache.example.com/v1",
)
@dataclass(frozen=True, slots=True)
class RedisCluster:
    """RedisCluster is the schema of the redisclusters API."""

    metadata: ObjectMeta
    spec: RedisClusterSpec = RedisClusterSpec()
    status: RedisClusterStatus = RedisClusterStatus()
