"""Workloads that an API server accepts."""

from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from clientgo.kubernetes.types.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.meta import ObjectMeta

LABELS = {"app": "web"}
PODS = PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=PodSpec(containers=[Container(name="a", image="a")]))


def deployment(name: str, namespace: str = "ns", replicas: int = 1) -> Deployment:
    """Return a Deployment of pods with one container."""
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(match_labels=LABELS), template=PODS)
    return Deployment(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)
