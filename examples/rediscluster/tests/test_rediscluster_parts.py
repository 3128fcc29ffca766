from clientgo.kubernetes.types.apps_v1 import (
    Container,
    PodSpec,
    PodTemplateSpec,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetStatus,
)
from clientgo.manager import find_status_condition, is_status_condition_true
from clientgo.meta import ObjectMeta, replace

from api.v1.rediscluster_types import RedisCluster, RedisClusterSpec
from controllers.rediscluster_parts import CONFIG_HASH, has_ended, redis_conf, stateful_set, status_of

CLUSTER = RedisCluster(
    ObjectMeta(name="a", namespace="default", generation=4), RedisClusterSpec(settings=("maxmemory 1gb",))
)


def seen(generation: int, ready: int, updated: int, replicas: int = 3) -> StatefulSet:
    status = StatefulSetStatus(
        observed_generation=generation, replicas=replicas, ready_replicas=ready, updated_replicas=updated
    )
    return StatefulSet(metadata=ObjectMeta(generation=2), status=status)


def test_user_settings_override_others() -> None:
    printed = [line for line in redis_conf(CLUSTER).splitlines() if line.startswith("maxmemory ")]

    assert printed == ["maxmemory 100mb", "maxmemory 1gb"]


def test_changed_configuration_replaces_the_pods() -> None:
    before = stateful_set(CLUSTER, StatefulSet()).spec.template.metadata.annotations[CONFIG_HASH]
    after = stateful_set(replace(CLUSTER, spec=RedisClusterSpec()), StatefulSet())

    assert after.spec.template.metadata.annotations[CONFIG_HASH] != before


def test_fields_of_others_are_kept() -> None:
    sidecar = Container(name="mesh", image="mesh:1")
    pods = PodSpec(containers=(Container(name="redis", image="redis:1", image_pull_policy="Always"), sidecar))
    result = StatefulSet(
        metadata=ObjectMeta(labels={"team": "cache"}), spec=StatefulSetSpec(template=PodTemplateSpec(spec=pods))
    )

    stored = stateful_set(CLUSTER, result)

    servers, other = stored.spec.template.spec.containers
    assert (servers.image, servers.image_pull_policy, other) == ("redis:7.4-alpine", "Always", sidecar)
    assert stored.metadata.labels["team"] == "cache"
    assert stateful_set(CLUSTER, stored) == stored


def test_cluster_is_ready_when_all_servers_answer_and_rolled_out_when_all_are_updated() -> None:
    def conditions(servers: StatefulSet) -> tuple[bool, bool]:
        result = status_of(CLUSTER, servers).conditions
        return is_status_condition_true(result, "Ready"), is_status_condition_true(result, "Progressing")

    assert conditions(seen(generation=1, ready=3, updated=3)) == (False, True)
    assert conditions(seen(generation=2, ready=2, updated=3)) == (False, True)
    assert conditions(seen(generation=2, ready=3, updated=1)) == (True, True)
    assert conditions(seen(generation=2, ready=3, updated=3)) == (True, False)


def test_condition_has_the_generation_and_the_number_of_servers() -> None:
    ready = find_status_condition(status_of(CLUSTER, seen(generation=2, ready=2, updated=3)).conditions, "Ready")

    assert ready is not None
    assert (ready.observed_generation, ready.message) == (4, "2 of 3 servers answer")


def test_servers_have_ended_when_the_current_status_has_no_replicas() -> None:
    assert has_ended(seen(generation=2, ready=0, updated=0, replicas=0))
    assert not has_ended(seen(generation=1, ready=0, updated=0, replicas=0))
    assert not has_ended(seen(generation=2, ready=0, updated=0, replicas=1))
