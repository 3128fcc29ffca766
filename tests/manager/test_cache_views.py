"""Several selectors for one kind: each has a class, which is derived from that of the kind."""

from dataclasses import dataclass

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ByObject, CacheOptions, ControllerBuilder, Manager
from clientgo.manager.client import DirectClient
from clientgo.meta import ObjectMeta, ObjectName, api_of, object_name
from clientgo.testing.eventually import eventually
from clientgo.testing.fake import FakeRequester
from controller.api.v1alpha1 import Foo
from tests.manager.managed import fake, manager_of, new_foo, running


@api_of(ConfigMap)
class LabelledConfigMap(ConfigMap, frozen=True):
    """ConfigMaps with a label, in all namespaces."""


@api_of(Foo)
@dataclass(frozen=True)
class OtherFoo(Foo):
    """Foos of another namespace."""


def config_map(name: str, namespace: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels))


OPTIONS = CacheOptions(
    by_object={
        ConfigMap: ByObject(namespaces=("mine",)),
        LabelledConfigMap: ByObject(label_selector="keep=yes"),
        Foo: ByObject(namespaces=("ns",)),
        OtherFoo: ByObject(namespaces=("other",)),
    }
)


def managed() -> tuple[Manager, FakeRequester]:
    objects = [config_map("a", "mine"), config_map("b", "theirs", keep="yes"), config_map("c", "theirs")]
    requester = fake(*objects, new_foo(), new_foo(namespace="other"))
    return manager_of(requester, cache=OPTIONS), requester


def names(manager: Manager, cls: type[ConfigMap]) -> list[str]:
    return sorted(obj.metadata.name for obj in manager.client.list(cls))


def test_each_class_has_the_objects_of_its_own_selector() -> None:
    manager, _ = managed()
    with running(manager):
        assert names(manager, ConfigMap) == ["a"]
        assert names(manager, LabelledConfigMap) == ["b"]
        assert type(manager.client.list(LabelledConfigMap)[0]) is LabelledConfigMap
        assert [foo.metadata.namespace for foo in manager.client.list(OtherFoo)] == ["other"]
        assert [foo.metadata.namespace for foo in manager.client.list(Foo)] == ["ns"]
        assert manager.scheme.class_of(api_of(ConfigMap).gvk) is ConfigMap


@pytest.mark.parametrize("written", [ConfigMap, LabelledConfigMap])
def test_own_writes_are_read_by_every_class_that_selects_them(written: type[ConfigMap]) -> None:
    manager, _ = managed()
    with running(manager):
        assert names(manager, ConfigMap) + names(manager, LabelledConfigMap) == ["a", "b"]
        meta = ObjectMeta(name="d", namespace="mine", labels={"keep": "yes"})
        stored = manager.client.create(written(metadata=meta))
        assert names(manager, ConfigMap) == ["a", "d"]
        assert names(manager, LabelledConfigMap) == ["b", "d"]
        manager.client.patch(stored, {"metadata": {"labels": {"keep": "no"}}})
        assert names(manager, LabelledConfigMap) == ["b"]
        manager.client.delete(stored)
        assert names(manager, ConfigMap) == ["a"]


def test_controller_watches_both() -> None:
    manager, requester = managed()
    seen: set[ObjectName] = set()
    builder = ControllerBuilder(manager).for_(Foo)
    for cls in (ConfigMap, LabelledConfigMap):
        builder.watches(cls, lambda obj: [object_name(obj)])
    builder.complete(lambda request: seen.add(request))
    with running(manager):
        DirectClient(requester).create(config_map("e", "theirs", keep="yes"))
        expected = {
            ObjectName("mine", "a"), ObjectName("theirs", "b"), ObjectName("theirs", "e"), ObjectName("ns", "a"),
        }  # fmt: skip
        eventually(lambda: seen == expected)


def test_class_without_options_of_its_own_has_those_of_the_kind() -> None:
    manager = manager_of(fake(config_map("a", "mine"), config_map("c", "theirs")), cache=CacheOptions(("mine",)))
    with running(manager):
        assert names(manager, ConfigMap) == names(manager, LabelledConfigMap) == ["a"]
        assert manager.cache.remove(LabelledConfigMap)
        assert names(manager, ConfigMap) == ["a"]
