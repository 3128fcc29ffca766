"""Desired state of a Foo: the Deployment that should exist, and the step that leads there. Pure functions."""

import msgspec

from clientgo.kubernetes.types import apps_v1
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta import ObjectMeta, is_controlled_by, new_controller_ref
from controller.api.v1alpha1 import Foo


class Create(msgspec.Struct, frozen=True):
    """Step: create a missing Deployment."""

    deployment: Deployment


class Resize(msgspec.Struct, frozen=True):
    """Step: change the number of replicas of the Deployment."""

    deployment: Deployment
    replicas: int


class Nothing(msgspec.Struct, frozen=True):
    """No step: the Deployment matches the Foo."""

    deployment: Deployment


class Foreign(msgspec.Struct, frozen=True):
    """No step possible: a Deployment of that name exists and the Foo does not control it."""

    name: str


Plan = Create | Resize | Nothing | Foreign


def plan(foo: Foo, deployment: Deployment | None) -> Plan:
    """Return the step for the Deployment named in the Foo's spec; None means that it does not exist."""
    if deployment is None:
        return Create(new_deployment(foo))
    if not is_controlled_by(deployment, foo):
        return Foreign(deployment.metadata.name)
    replicas = foo.spec.replicas
    if replicas is not None and replicas != deployment.spec.replicas:
        return Resize(deployment, replicas)
    return Nothing(deployment)


def is_renamed(deployment: Deployment, foo: Foo) -> bool:
    """Return whether a Deployment that the Foo controls has another name than the spec's, and is not being deleted."""
    return deployment.metadata.name != foo.spec.deployment_name and deployment.metadata.deletion_timestamp is None


def new_deployment(foo: Foo) -> Deployment:
    """Return the Deployment of a Foo: nginx with the Foo's number of replicas, controlled by the Foo."""
    labels = {"app": "nginx", "controller": foo.metadata.name}
    return Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=apps_v1.DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=apps_v1.LabelSelector(match_labels=labels),
            template=apps_v1.PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=apps_v1.PodSpec(containers=(apps_v1.Container(name="nginx", image="nginx:latest"),)),
            ),
        ),
    )
