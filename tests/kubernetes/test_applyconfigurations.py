"""Apply configurations of the built-in kinds: the fields of the types, all optional."""

import importlib
import pkgutil
from typing import Any, get_type_hints

import msgspec
import pytest
from msgspec import UNSET

from clientgo.kubernetes import applyconfigurations, types
from clientgo.kubernetes.applyconfigurations.apps_v1 import (
    DeploymentApplyConfiguration,
    DeploymentSpecApplyConfiguration,
)
from clientgo.kubernetes.applyconfigurations.pods import (
    ContainerApplyConfiguration,
    PodSpecApplyConfiguration,
    PodTemplateSpecApplyConfiguration,
)
from clientgo.kubernetes.applyconfigurations.shared import LabelSelectorApplyConfiguration
from clientgo.meta.applyconfiguration import ObjectApplyConfiguration, ObjectMetaApplyConfiguration
from clientgo.testing.kubernetes import FakeClientset

SUFFIX = "ApplyConfiguration"
MODULES = sorted(module.name for module in pkgutil.iter_modules(applyconfigurations.__path__))


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.feature("A-46")
def test_every_type_has_one_with_its_fields(module: str) -> None:
    built = importlib.import_module(f"{applyconfigurations.__name__}.{module}")
    of = importlib.import_module(f"{types.__name__}.{module}")
    assert built.__all__
    for name in built.__all__:
        config, cls = getattr(built, name), getattr(of, name.removesuffix(SUFFIX))
        fields = {field.encode_name: field.default for field in msgspec.structs.fields(config)}
        assert list(fields) == [field.encode_name for field in msgspec.structs.fields(cls)]
        assert all(default is UNSET for default in fields.values())
        assert get_type_hints(config)
        if issubclass(config, ObjectApplyConfiguration):
            assert config.kind is cls


def test_deployment_is_applied_extracted_and_applied_again() -> None:
    container = ContainerApplyConfiguration(name="c", image="nginx")
    spec = DeploymentSpecApplyConfiguration(
        replicas=0,
        selector=LabelSelectorApplyConfiguration(match_labels={"app": "c"}),
        template=PodTemplateSpecApplyConfiguration(
            metadata=ObjectMetaApplyConfiguration(labels={"app": "c"}),
            spec=PodSpecApplyConfiguration(containers=(container,)),
        ),
    )
    metadata = ObjectMetaApplyConfiguration(name="d", namespace="ns", labels={"a": "b"})
    config = DeploymentApplyConfiguration(metadata=metadata, spec=spec)
    deployments = FakeClientset().apps_v1.deployments("ns")
    updated: Any = deployments.apply(config, field_manager="me")
    assert (updated.spec.replicas, updated.spec.template.spec.containers[0].image) == (0, "nginx")
    assert DeploymentApplyConfiguration.extract(updated, "me") == config
    assert deployments.apply(config, field_manager="me").spec == updated.spec
