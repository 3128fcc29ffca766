"""Owned objects of a RedisCluster: pure functions from an existing object to the desired one.

They set the fields that the RedisCluster defines, and keep those of others: defaults of the API server, containers
injected by admission webhooks, labels added by users.
"""

import hashlib
from typing import TypeVar

from clientgo.kubernetes.types.apps_v1 import (
    ConfigMapVolumeSource,
    Container,
    ContainerPort,
    LabelSelector,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PodTemplateSpec,
    StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy,
    Volume,
    VolumeMount,
    VolumeResourceRequirements,
)
from clientgo.kubernetes.types.core_v1 import ConfigMap, Service, ServicePort
from clientgo.manager import Condition, set_status_condition
from clientgo.meta import ObjectMeta, change, replace

from api.v1.rediscluster_types import RedisCluster, RedisClusterStatus

PORT = 6379
CONFIG_HASH = "cache.example.com/config-hash"

P = TypeVar("P", ConfigMap, Service, StatefulSet)


def labels(cluster: RedisCluster) -> dict[str, str]:
    """Return the labels of all objects of a cluster."""
    return {"app.kubernetes.io/name": "redis", "app.kubernetes.io/instance": cluster.metadata.name}


def redis_conf(cluster: RedisCluster) -> str:
    """Return the servers' configuration; the user's settings come last and override the others."""
    lines = ["cluster-enabled yes", "dir /data", f"maxmemory {cluster.spec.max_memory}", *cluster.spec.settings]
    return "".join(f"{line}\n" for line in lines)


def config_map(cluster: RedisCluster, existing: ConfigMap) -> ConfigMap:
    """Return the ConfigMap with redis.conf."""
    return replace(_labelled(cluster, existing), data={"redis.conf": redis_conf(cluster)})


def service(cluster: RedisCluster, existing: Service) -> Service:
    """Return the headless Service that gives each server a DNS name."""
    port = ServicePort(name="redis", port=PORT, target_port="redis", protocol="TCP")
    spec = replace(existing.spec, cluster_ip="None", selector=labels(cluster), ports=(port,))
    return replace(_labelled(cluster, existing), spec=spec)


def stateful_set(cluster: RedisCluster, existing: StatefulSet) -> StatefulSet:
    """Return the StatefulSet of the servers, with their volumes."""
    after = "Retain" if cluster.spec.keep_data else "Delete"
    spec = replace(
        existing.spec,
        replicas=cluster.spec.replicas,
        service_name=cluster.metadata.name,
        selector=LabelSelector(match_labels=labels(cluster)),
        persistent_volume_claim_retention_policy=StatefulSetPersistentVolumeClaimRetentionPolicy(
            when_deleted=after, when_scaled="Retain"
        ),
        # Immutable after creation.
        volume_claim_templates=existing.spec.volume_claim_templates or (_claim(cluster),),
        template=_template(cluster, existing.spec.template),
    )
    return replace(_labelled(cluster, existing), spec=spec)


def status_of(cluster: RedisCluster, servers: StatefulSet) -> RedisClusterStatus:
    """Compute the status of a cluster from its StatefulSet."""
    seen, expected = servers.status, cluster.spec.replicas
    # The status of an earlier generation says nothing about the current spec.
    current = seen.observed_generation == servers.metadata.generation
    ready, updated = seen.ready_replicas or 0, seen.updated_replicas or 0
    rolling = not current or ready < expected or updated < expected
    message = f"{ready} of {expected} servers answer"
    conditions = cluster.status.conditions
    for kind, holds, reasons in (
        ("Ready", current and ready >= expected, ("ServersAnswer", "ServersMissing")),
        ("Progressing", rolling, ("RollingOut", "RolledOut")),
    ):
        condition = Condition(
            type=kind,
            status=str(holds),
            reason=reasons[0] if holds else reasons[1],
            message=message,
            observed_generation=cluster.metadata.generation,
        )
        conditions = set_status_condition(conditions, condition)
    return RedisClusterStatus(
        replicas=seen.replicas,
        ready_replicas=ready,
        selector=",".join(f"{name}={value}" for name, value in labels(cluster).items()),
        observed_generation=cluster.metadata.generation,
        conditions=conditions,
    )


def has_ended(servers: StatefulSet) -> bool:
    """Report whether all servers have stopped after scaling to zero."""
    return servers.status.observed_generation == servers.metadata.generation and not servers.status.replicas


def _labelled(cluster: RedisCluster, existing: P) -> P:
    return change(existing, lambda f: f.metadata.labels).by(lambda old: {**old, **labels(cluster)})


def _template(cluster: RedisCluster, pod_template_spec: PodTemplateSpec) -> PodTemplateSpec:
    # Servers read the configuration only when they start: a change needs new pods.
    digest = hashlib.sha256(redis_conf(cluster).encode()).hexdigest()[:16]
    metadata = replace(
        pod_template_spec.metadata,
        labels={**pod_template_spec.metadata.labels, **labels(cluster)},
        annotations={**pod_template_spec.metadata.annotations, CONFIG_HASH: digest},
    )
    config = Volume(name="config", config_map=ConfigMapVolumeSource(name=cluster.metadata.name, default_mode=0o644))
    servers = [container for container in pod_template_spec.spec.containers if container.name == "redis"] or [
        Container(name="redis")
    ]
    spec = replace(
        pod_template_spec.spec,
        containers=(
            _container(cluster, servers[0]),
            *(item for item in pod_template_spec.spec.containers if item.name != "redis"),
        ),
        volumes=(config, *(volume for volume in pod_template_spec.spec.volumes if volume.name != "config")),
    )
    return replace(pod_template_spec, metadata=metadata, spec=spec)


def _container(cluster: RedisCluster, container: Container) -> Container:
    return replace(
        container,
        image=cluster.spec.image,
        command=("redis-server", "/etc/redis/redis.conf"),
        ports=(ContainerPort(name="redis", container_port=PORT, protocol="TCP"),),
        volume_mounts=(
            VolumeMount(name="data", mount_path="/data"),
            VolumeMount(name="config", mount_path="/etc/redis"),
        ),
    )


def _claim(cluster: RedisCluster) -> PersistentVolumeClaim:
    resources = VolumeResourceRequirements(requests={"storage": str(cluster.spec.storage)})
    spec = PersistentVolumeClaimSpec(access_modes=("ReadWriteOnce",), resources=resources)
    return PersistentVolumeClaim(metadata=ObjectMeta(name="data"), spec=spec)
