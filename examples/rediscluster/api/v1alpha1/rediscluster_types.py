"""cache.example.com/v1alpha1: RedisCluster, as it was before v1.

After a change here run `make manifests generate`.
"""

from dataclasses import dataclass
from typing import Annotated

from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import Column, Int32, Int64, Meta, ObjectMeta, Quantity, Scale, api_type


@dataclass(frozen=True, slots=True)
class RedisClusterSpec:
    """What is wanted."""

    size: Annotated[Int32, Meta(ge=0, description="How many servers are to run.")] = 3
    image: Annotated[str, Meta(min_length=1, description="The image of a server.")] = "redis:7.4-alpine"
    memory: Annotated[Int32, Meta(ge=1, description="How many megabytes a server keeps.")] = 100
    config: Annotated[str, Meta(description="More of redis.conf.")] = ""
    storage: Annotated[Quantity, Meta(immutable=True, description="The size of each server's volume.")] = "1Gi"


@dataclass(frozen=True, slots=True)
class RedisClusterStatus:
    """What has been seen."""

    size: Annotated[Int32, Meta(description="How many servers there are.")] = 0
    ready: Annotated[Int32, Meta(description="How many of them answer.")] = 0
    selector: Annotated[str, Meta(description="What finds their pods; autoscalers ask for it.")] = ""
    observed_generation: Annotated[Int64, Meta(description="The generation that all this is about.")] = 0
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(list_type="map", list_map_keys=("type",), description="What holds now, and since when."),
    ] = ()


@api_type(
    group="cache.example.com",
    version="v1alpha1",
    short_names=("redis",),
    scale=Scale(".spec.size", ".status.size", ".status.selector"),
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
    """RedisCluster is one of the redisclusters of cache.example.com."""

    metadata: ObjectMeta
    spec: RedisClusterSpec = RedisClusterSpec()
    status: RedisClusterStatus = RedisClusterStatus()
