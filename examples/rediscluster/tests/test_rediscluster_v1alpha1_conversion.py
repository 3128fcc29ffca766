import pytest
from clientgo.manager import Client, Condition
from clientgo.meta import ApiObject, ObjectMeta, ObjectName, change, replace
from clientgo.webhook import field

from api.v1 import rediscluster_types as v1
from api.v1alpha1 import rediscluster_types as v1alpha1
from tests.samples import sample
from webhooks.v1alpha1.rediscluster_conversion import KEPT_V1, KEPT_V1ALPHA1, from_hub, to_hub

NAME = ObjectName("default", "v1alpha1-rediscluster")
SAMPLE = "cache_v1alpha1_rediscluster.yaml"
META = ObjectMeta(name="a", namespace="default", labels={"team": "cache"}, annotations={"by": "hand"})
CONDITIONS = (Condition(type="Ready", status="True", reason="ServersAnswer"),)


def test_sample_survives_a_round_trip() -> None:
    original = sample(v1alpha1.RedisCluster, SAMPLE, **NAME._asdict())

    assert from_hub(to_hub(original)) == original


def test_object_can_be_read_in_both_versions(client: Client, created: list[ApiObject]) -> None:
    stored = client.create(sample(v1alpha1.RedisCluster, SAMPLE, **NAME._asdict()))
    created.append(stored)

    read = client.get(v1.RedisCluster, NAME)
    assert (read.spec.replicas, read.spec.max_memory) == (3, "64mb")
    assert read.spec.settings == ("maxmemory-policy allkeys-lru",)
    assert from_hub(read).spec == client.get(v1alpha1.RedisCluster, NAME).spec == stored.spec


@pytest.mark.parametrize(
    "spec",
    [
        v1.RedisClusterSpec(),
        v1.RedisClusterSpec(replicas=0, image="redis:8", max_memory="3gb", settings=("save 900 1", "save 300 10")),
        v1.RedisClusterSpec(max_memory="100"),
        v1.RedisClusterSpec(max_memory="1500kb", storage=1024),
        v1.RedisClusterSpec(keep_data=True, settings=("# not a setting",)),
    ],
)
def test_hub_to_spoke_to_hub_loses_nothing(spec: v1.RedisClusterSpec) -> None:
    status = v1.RedisClusterStatus(2, 1, "app=a", observed_generation=7, conditions=CONDITIONS)
    hub = v1.RedisCluster(META, spec, status)

    assert to_hub(from_hub(hub)) == hub


@pytest.mark.parametrize("config", ["", "save 900 1\n", "save 900 1", "# why\n\n  save 900 1\n", "\n"])
def test_spoke_to_hub_to_spoke_loses_nothing(config: str) -> None:
    spec = v1alpha1.RedisClusterSpec(size=5, memory=2000, config=config, storage="3Gi")
    spoke = v1alpha1.RedisCluster(META, spec, v1alpha1.RedisClusterStatus(5, 4, "app=a", 7, CONDITIONS))

    assert from_hub(to_hub(spoke)) == spoke


def test_only_lossy_specs_are_stored_in_an_annotation() -> None:
    plain = v1alpha1.RedisCluster(META, v1alpha1.RedisClusterSpec(config="save 900 1\n"))
    assert to_hub(plain).metadata == META
    assert from_hub(to_hub(plain)).metadata == META

    commented = replace(plain, spec=v1alpha1.RedisClusterSpec(config="# why\nsave 900 1\n"))
    assert to_hub(commented).metadata.annotations.keys() == {"by", KEPT_V1ALPHA1}


def test_changes_in_the_other_version_win_and_the_rest_is_restored() -> None:
    hub = v1.RedisCluster(META, v1.RedisClusterSpec(max_memory="1500kb", keep_data=True))
    spoke = from_hub(hub)
    assert spoke.spec.memory == 1
    assert spoke.metadata.annotations.keys() == {"by", KEPT_V1}

    grown = to_hub(change(spoke, lambda s: s.spec.memory).to(7))
    assert grown == replace(hub, spec=v1.RedisClusterSpec(max_memory="7mb", keep_data=True))


def test_foreign_annotation_is_ignored() -> None:
    strange = replace(META, annotations={KEPT_V1: "{", KEPT_V1ALPHA1: '{"size": "many"}'})

    assert to_hub(v1alpha1.RedisCluster(strange)).spec == v1.RedisClusterSpec()
    assert from_hub(v1.RedisCluster(strange)).spec == v1alpha1.RedisClusterSpec()

    invalid = replace(META, annotations={KEPT_V1: '{"maxMemory": "lots"}'})
    assert to_hub(v1alpha1.RedisCluster(invalid)).spec == v1.RedisClusterSpec()


@pytest.mark.parametrize("memory", ["lots", "", "mb", "-1mb", "100 mb", "9" * 5000])
def test_invalid_memory_is_rejected_by_its_field(memory: str) -> None:
    with pytest.raises(field.Errors, match=r"^spec.maxMemory: Invalid value: .*: expected a number of bytes"):
        from_hub(v1.RedisCluster(META, v1.RedisClusterSpec(max_memory=memory)))
