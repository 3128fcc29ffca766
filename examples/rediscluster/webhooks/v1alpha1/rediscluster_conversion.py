"""Conversion of RedisCluster between v1alpha1 and v1, the hub.

Each version can express something that the other cannot: v1alpha1 has comments in its redis.conf, v1 has fractions of
megabytes and kept volumes. A spec that would lose information is stored in an annotation, and restored from there on
the way back unless the object was changed in the other version.
"""

import json
import re
from typing import TypeVar

from clientgo.meta import ObjectMeta, Undecodable, from_dict, replace, to_dict
from clientgo.webhook import Hub, field

from api.v1 import rediscluster_types as v1
from api.v1alpha1 import rediscluster_types as v1alpha1

KEPT_V1 = "cache.example.com/v1-spec"
KEPT_V1ALPHA1 = "cache.example.com/v1alpha1-spec"

_KILOBYTES = {"kb": 1, "mb": 1024, "gb": 1024 * 1024}

C = TypeVar("C", v1.RedisCluster, v1alpha1.RedisCluster)


def to_hub(obj: v1alpha1.RedisCluster) -> v1.RedisCluster:
    """Convert to v1, the hub."""
    meta, stored = _taken(obj.metadata, KEPT_V1, v1.RedisCluster)
    spec = hub_spec(obj.spec)
    if stored is not None:
        # Fields that v1alpha1 lacks cannot have been changed there.
        spec = stored.spec if spoke_spec(stored.spec) == obj.spec else replace(spec, keep_data=stored.spec.keep_data)
    if spoke_spec(spec) != obj.spec:
        meta = _with(meta, KEPT_V1ALPHA1, obj)
    status = v1.RedisClusterStatus(
        replicas=obj.status.size,
        ready_replicas=obj.status.ready,
        selector=obj.status.selector,
        observed_generation=obj.status.observed_generation,
        conditions=obj.status.conditions,
    )
    return v1.RedisCluster(meta, spec, status)


def from_hub(hub: v1.RedisCluster) -> v1alpha1.RedisCluster:
    """Convert from v1, the hub."""
    meta, stored = _taken(hub.metadata, KEPT_V1ALPHA1, v1alpha1.RedisCluster)
    spec = spoke_spec(hub.spec)
    if stored is not None and hub_spec(stored.spec, keep_data=hub.spec.keep_data) == hub.spec:
        spec = stored.spec
    if hub_spec(spec) != hub.spec:
        meta = _with(meta, KEPT_V1, hub)
    status = v1alpha1.RedisClusterStatus(
        size=hub.status.replicas,
        ready=hub.status.ready_replicas,
        selector=hub.status.selector,
        observed_generation=hub.status.observed_generation,
        conditions=hub.status.conditions,
    )
    return v1alpha1.RedisCluster(meta, spec, status)


def hub_spec(spec: v1alpha1.RedisClusterSpec, *, keep_data: bool = False) -> v1.RedisClusterSpec:
    """Return the closest v1 spec."""
    lines = (line.strip() for line in spec.config.splitlines())
    return v1.RedisClusterSpec(
        replicas=spec.size,
        image=spec.image,
        max_memory=f"{spec.memory}mb",
        settings=tuple(line for line in lines if line and not line.startswith("#")),
        storage=spec.storage,
        keep_data=keep_data,
    )


def spoke_spec(spec: v1.RedisClusterSpec) -> v1alpha1.RedisClusterSpec:
    """Return the closest v1alpha1 spec; memory is rounded down, to at least one megabyte.

    Raises:
        field.Errors: the memory is invalid, since an API server converts objects before it validates them.
    """
    match = re.fullmatch("([0-9]{1,18})(kb|mb|gb)?", spec.max_memory)
    if match is None:
        expected = "expected a number of bytes, or one with kb, mb or gb, such as 100mb"
        raise field.Errors([field.invalid(field.Path("spec") / "maxMemory", spec.max_memory, expected)])
    number, unit = int(match[1]), match[2]
    kilobytes = number * _KILOBYTES[unit] if unit else number // 1024
    return v1alpha1.RedisClusterSpec(
        size=spec.replicas,
        image=spec.image,
        memory=max(1, kilobytes // 1024),
        config="".join(f"{line}\n" for line in spec.settings),
        storage=spec.storage,
    )


def add_to(hub: Hub[v1.RedisCluster]) -> None:
    """Register this version with the hub."""
    hub.spoke(v1alpha1.RedisCluster, to_hub=to_hub, from_hub=from_hub)


def _with(meta: ObjectMeta, name: str, obj: v1.RedisCluster | v1alpha1.RedisCluster) -> ObjectMeta:
    return replace(meta, annotations={**meta.annotations, name: json.dumps(to_dict(obj).get("spec", {}))})


def _taken(meta: ObjectMeta, name: str, cls: type[C]) -> tuple[ObjectMeta, C | None]:
    """Return the metadata without the annotation, and an object with the spec stored in it, or None."""
    annotations = dict(meta.annotations)
    text = annotations.pop(name, "")
    meta = replace(meta, annotations=annotations)
    try:
        stored = from_dict(cls, {"metadata": {}, "spec": json.loads(text)}) if text else None
        if isinstance(stored, v1.RedisCluster):
            spoke_spec(stored.spec)
    except (ValueError, Undecodable, field.Errors):
        return meta, None  # ignore an invalid annotation written by a user
    return meta, stored
