"""What is no object of the kind that was asked for is said and left out, and never ends a watch or empties a cache."""

from typing import Any

import pytest

from clientgo.cache import Reflector
from clientgo.cache.fitness import describe, fitness_of, is_table
from clientgo.dynamic.unstructured import Unstructured, unstructured_type
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.meta.listwatch import WatchEvent
from tests.cache.scripted import Script, Sink, added, config_map, page, run, watch


@pytest.mark.feature("B-REF-19")
@pytest.mark.behaviour("RL-28")
def test_a_reflector_is_called_by_its_type_or_by_the_kind_it_expects() -> None:
    deployments = GroupVersionResource("apps", "v1", "deployments")
    assert describe(ConfigMap) == "ConfigMap"
    assert describe(unstructured_type(deployments, kind="Deployment")) == "apps/v1, Kind=Deployment"
    assert describe(unstructured_type(deployments)) == "<unspecified>"
    assert Reflector(Script(), Sink()).name == "ConfigMap"


@pytest.mark.feature("B-REF-14", "C-13")
@pytest.mark.behaviour("RL-34")
def test_a_table_is_no_object_of_any_kind() -> None:
    unfit = fitness_of(unstructured_type(GroupVersionResource("", "v1", "pods")))
    meta = ObjectMeta(name="x")
    assert "meta.k8s.io/v1, Kind=Table" in unfit(
        Unstructured(api_version="meta.k8s.io/v1", kind="Table", metadata=meta)
    )
    assert unfit(Unstructured(api_version="meta.k8s.io/v1beta1", kind="Table", metadata=meta)) != ""
    assert unfit(Unstructured(api_version="furniture.example.com/v1", kind="Table", metadata=meta)) == ""
    assert unfit(Unstructured(api_version="v1", kind="Pod", metadata=meta)) == ""
    assert not is_table("v1", "Pod")


@pytest.mark.feature("B-REF-13")
def test_an_object_of_another_kind_is_skipped_and_said() -> None:
    pods = unstructured_type(GroupVersionResource("", "v1", "pods"), kind="Pod")
    other = Unstructured(api_version="v1", kind="Secret", metadata=ObjectMeta(name="x"))
    assert fitness_of(pods)(other) == "expected v1, Kind=Pod, got v1, Kind=Secret"
    assert "expected an object of any kind" in fitness_of(pods)(config_map("a", 1))


@pytest.mark.feature("B-REF-13", "B-REF-15")
def test_what_does_not_belong_is_skipped_and_ends_no_watch(caplog: pytest.LogCaptureFixture) -> None:
    stranger: Any = WatchEvent("ADDED", Secret(metadata=ObjectMeta(name="s", resource_version="11")))
    nameless = WatchEvent("ADDED", config_map("", 12))
    sink = Sink()
    source = Script(page(), watch(stranger, nameless, added("a", 13)), watch(added("b", 14)))
    run(source, sink)
    assert sink.told[1:3] == ["ADDED a", "ADDED b"]
    said = [str(vars(record)["err"]) for record in caplog.records if "skipped" in record.getMessage()]
    assert said == ["expected a ConfigMap, got a Secret", "it has no name"]
