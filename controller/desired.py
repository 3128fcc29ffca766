"""What should exist for a Foo, and what must be done about what does: pure, so that it can be read and tested alone."""

from dataclasses import dataclass

from clientgo.kubernetes.types.apps_v1 import (
    Container,
    Deployment,
    DeploymentSpec,
    LabelSelector,
    PodSpec,
    PodTemplateSpec,
)
from clientgo.meta import ObjectMeta, is_controlled_by, new_controller_ref
from controller.api.v1alpha1 import Foo


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Deployment: this one is to be created."""

    deployment: Deployment


@dataclass(frozen=True, slots=True)
class Scale:
    """The Deployment runs another number of replicas than the Foo asks for."""

    deployment: Deployment
    replicas: int


@dataclass(frozen=True, slots=True)
class Nothing:
    """The Deployment is as it should be."""

    deployment: Deployment


@dataclass(frozen=True, slots=True)
class Foreign:
    """A Deployment of that name exists and belongs to somebody else."""

    name: str


Plan = Create | Scale | Nothing | Foreign


def plan(foo: Foo, deployment: Deployment | None) -> Plan:
    """What to do, given the Deployment named in the Foo's spec (None if there is none)."""
    if deployment is None:
        return Create(new_deployment(foo))
    if not is_controlled_by(deployment, foo):
        return Foreign(deployment.metadata.name)
    wanted = foo.spec.replicas
    if wanted is not None and wanted != deployment.spec.replicas:
        return Scale(deployment, wanted)
    return Nothing(deployment)


def new_deployment(foo: Foo) -> Deployment:
    """The Deployment of a Foo: nginx, as many replicas as the Foo says, controlled by the Foo."""
    labels = {"app": "nginx", "controller": foo.metadata.name}
    return Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=(Container(name="nginx", image="nginx:latest"),)),
            ),
        ),
    )
