"""Objects that a WebApp owns, and its status, as pure functions."""

from clientgo.kubernetes.types.apps_v1 import (
    Container,
    ContainerPort,
    Deployment,
    DeploymentSpec,
    LabelSelector,
    PodSpec,
    PodTemplateSpec,
)
from clientgo.kubernetes.types.core_v1 import Service, ServicePort, ServiceSpec
from clientgo.kubernetes.types.networking_v1 import (
    HTTPIngressPath,
    HTTPIngressRuleValue,
    Ingress,
    IngressBackend,
    IngressRule,
    IngressServiceBackend,
    IngressSpec,
    ServiceBackendPort,
)
from clientgo.manager import Condition, set_status_condition
from clientgo.meta import ObjectMeta, meta_for

from api.v1.webapp_types import WebApp, WebAppStatus


def labels(app: WebApp) -> dict[str, str]:
    """Return the labels of all objects of an app."""
    return {"app.kubernetes.io/name": "webapp", "app.kubernetes.io/instance": app.metadata.name}


def deployment(app: WebApp) -> Deployment:
    """Return the Deployment of the pods."""
    ports = [ContainerPort(name="http", container_port=app.spec.port)]
    pod = PodSpec(containers=[Container(name="app", image=app.spec.image, ports=ports)])
    spec = DeploymentSpec(
        replicas=app.spec.replicas,
        selector=LabelSelector(match_labels=labels(app)),
        template=PodTemplateSpec(metadata=ObjectMeta(labels=labels(app)), spec=pod),
    )
    return Deployment(metadata=meta_for(app, labels=labels(app)), spec=spec)


def service(app: WebApp) -> Service:
    """Return the Service of the pods."""
    port = ServicePort(name="http", port=80, target_port="http")
    return Service(metadata=meta_for(app, labels=labels(app)), spec=ServiceSpec(selector=labels(app), ports=[port]))


def ingress(app: WebApp) -> Ingress:
    """Return the Ingress that leads to the Service."""
    backend = IngressBackend(
        service=IngressServiceBackend(name=app.metadata.name, port=ServiceBackendPort(name="http"))
    )
    path = HTTPIngressPath(path=app.spec.path or "/", path_type="Prefix", backend=backend)
    rule = IngressRule(host=app.spec.host, http=HTTPIngressRuleValue(paths=[path]))
    return Ingress(metadata=meta_for(app, labels=labels(app)), spec=IngressSpec(rules=[rule]))


def status_of(app: WebApp, pods: Deployment) -> WebAppStatus:
    """Compute the status of an app from its Deployment."""
    seen, expected = pods.status, pods.spec.replicas or 0
    replicas, updated, available = seen.replicas or 0, seen.updated_replicas or 0, seen.available_replicas or 0
    # The status of an earlier generation says nothing about the current spec.
    current = seen.observed_generation == pods.metadata.generation
    done = current and replicas == updated == available == expected
    conditions = app.status.conditions
    for kind, holds, reason in (
        ("Available", current and available >= expected, "PodsAvailable" if available >= expected else "PodsMissing"),
        ("Progressing", not done, "RolledOut" if done else "RollingOut"),
    ):
        condition = Condition(
            type=kind,
            status=str(holds),
            reason=reason,
            message=f"{available} of {expected} pods are available",
            observed_generation=app.metadata.generation,
        )
        conditions = set_status_condition(conditions, condition)
    selector = ",".join(f"{name}={value}" for name, value in labels(app).items())
    return WebAppStatus(replicas, selector, conditions)
