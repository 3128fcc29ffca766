"""List fields of API types: constructors accept lists, objects hold tuples."""

import copy
import pickle

import msgspec
import pytest

from clientgo.kubernetes.applyconfigurations.core_v1 import ConfigMapApplyConfiguration
from clientgo.kubernetes.applyconfigurations.pods import ContainerApplyConfiguration
from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.kubernetes.types.pods import Container, PodSpec
from clientgo.meta import ObjectMeta, decode, encode, replace
from clientgo.meta.applyconfiguration import ObjectMetaApplyConfiguration
from clientgo.meta.codec import encode_value


def test_lists_given_to_constructors_become_tuples() -> None:
    arguments = ["a/b"]
    pod = Pod(metadata=ObjectMeta(name="p", finalizers=arguments), spec=PodSpec(containers=[Container(name="web")]))
    arguments.append("c/d")
    assert pod.metadata.finalizers == ("a/b",)
    assert pod == decode(Pod, encode(pod))
    assert pod == Pod(
        metadata=ObjectMeta(name="p", finalizers=("a/b",)), spec=PodSpec(containers=(Container(name="web"),))
    )
    assert pickle.loads(pickle.dumps(pod)) == copy.copy(pod) == pod


def test_lists_given_to_replace_become_tuples() -> None:
    object_meta = ObjectMeta(name="p", finalizers=("a/b",))
    assert replace(ObjectMeta(name="p"), finalizers=["a/b"]) == object_meta
    # Python 3.13's copy.replace calls this method.
    assert getattr(ObjectMeta(name="p"), "__replace__")(finalizers=["a/b"]) == object_meta  # noqa: B009  # not typed in 3.11


def test_lists_in_fields_of_any_json_stay_lists() -> None:
    schema = JSONSchemaProps(default=[1], enum=[[1], 2])
    assert schema.default == [1]
    assert schema.enum == ([1], 2)


def test_lists_of_apply_configurations_become_tuples() -> None:
    container = ContainerApplyConfiguration(name="web", args=["-v"])
    assert container.args == ("-v",)
    assert encode_value(container) == b'{"args":["-v"],"name":"web"}'
    config = ConfigMapApplyConfiguration(metadata=ObjectMetaApplyConfiguration(name="c", finalizers=["a/b"]))
    assert config["metadata"].finalizers == ("a/b",)
    assert ObjectMetaApplyConfiguration().finalizers is msgspec.UNSET


def test_wrong_attribute_names_are_rejected() -> None:
    with pytest.raises(TypeError, match="Unexpected keyword argument 'container'"):
        PodSpec(container=[])  # type: ignore[call-arg]
