"""Create-or-update and create-or-patch of objects to which the server adds defaults."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec
from clientgo.kubernetes.types.batch_v1 import Job, JobSpec
from clientgo.kubernetes.types.core_v1 import (
    Container,
    ContainerPort,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
)
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.manager import DirectClient, create_or_patch, create_or_update
from clientgo.meta import ObjectMeta, replace
from clientgo.rest import RESTClient
from clientgo.rest.request import ForwardingRequester, Request

pytestmark = [pytest.mark.integration, pytest.mark.feature("B-CR-11")]

LABELS = {"app": "web"}
WEB = Container(name="web", image="nginx:1.29", ports=(ContainerPort(container_port=80),))
LOG = Container(name="log", image="busybox:1.37")


class CountingRequester(ForwardingRequester):
    """Requester that records the verbs of its writes."""

    def __init__(self, requester: RESTClient) -> None:
        super().__init__(requester)
        self.writes: list[str] = []

    def _forwarded(self, request: Request) -> Request:
        if request.verb not in ("get", "list", "watch"):
            self.writes.append(request.verb)
        return request


@pytest.fixture(scope="module")
def server() -> Iterator[RESTClient]:
    with Environment(server=BundledServer(simulate=False)) as config:
        client = RESTClient(config)
        yield client
        client.close()


@pytest.fixture
def requester(server: RESTClient) -> CountingRequester:
    return CountingRequester(server)


def meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


def template(*containers: Container, restart_policy: str | None = None) -> PodTemplateSpec:
    spec = PodSpec(containers=containers, restart_policy=restart_policy)
    return PodTemplateSpec(metadata=ObjectMeta(labels=LABELS), spec=spec)


def deployment(name: str, *containers: Container) -> Deployment:
    spec = DeploymentSpec(selector=LabelSelector(match_labels=LABELS), template=template(*containers))
    return Deployment(metadata=meta(name), spec=spec)


def service(name: str, port: int = 80) -> Service:
    return Service(metadata=meta(name), spec=ServiceSpec(selector=LABELS, ports=(ServicePort(port=port),)))


def with_spec(desired: Any) -> Callable[[Any], Any]:
    return lambda existing: replace(existing, spec=desired.spec)


@pytest.mark.parametrize(
    "desired",
    [
        deployment("twice", WEB, LOG),
        service("twice"),
        Job(metadata=meta("twice"), spec=JobSpec(template=template(LOG, restart_policy="Never"))),
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_second_call_with_an_unchanged_state_writes_nothing(requester: CountingRequester, desired: Any) -> None:
    client = DirectClient(requester)
    assert create_or_update(client, desired, with_spec(desired))[1] == "created"
    assert [create_or_update(client, desired, with_spec(desired))[1] for _ in range(3)] == ["unchanged"] * 3
    assert requester.writes == ["create"]


def test_patches_are_sent_only_for_other_changes_than_defaults(requester: CountingRequester) -> None:
    outcomes = []
    for client in (DirectClient(requester), DirectClient(requester)):  # the second one after a restart
        for containers in ((WEB,), (WEB,), (WEB, LOG), (WEB, LOG), (WEB,)):
            desired = deployment("patched", *containers)
            outcomes.append(create_or_patch(client, desired, with_spec(desired))[1].value)
    assert outcomes == [
        "created", "unchanged", "updated", "unchanged", "updated",
        "unchanged", "unchanged", "updated", "unchanged", "updated",
    ]  # fmt: skip
    assert requester.writes == ["create", "patch", "patch", "patch", "patch", "patch"]


def test_update_after_a_restart_changes_nothing_and_is_sent_once(requester: CountingRequester) -> None:
    desired = deployment("restarted", WEB)
    create_or_update(DirectClient(requester), desired, with_spec(desired))
    client = DirectClient(requester)
    assert [create_or_update(client, desired, with_spec(desired))[1] for _ in range(3)] == ["unchanged"] * 3
    assert requester.writes == ["create", "update"]


def test_changed_state_is_written_once(requester: CountingRequester) -> None:
    client = DirectClient(requester)
    outcomes = []
    for containers in ((WEB, LOG), (WEB,), (WEB,), (WEB, LOG), (WEB, LOG)):
        desired = deployment("changed", *containers)
        stored, outcome = create_or_update(client, desired, with_spec(desired))
        assert [container.name for container in stored.spec.template.spec.containers] == [c.name for c in containers]
        outcomes.append(outcome)
    assert outcomes == ["created", "updated", "unchanged", "updated", "unchanged"]
    assert requester.writes == ["create", "update", "update"]


def test_change_by_others_is_reverted(requester: CountingRequester) -> None:
    client, desired = DirectClient(requester), service("reverted")
    create_or_update(client, desired, with_spec(desired))
    create_or_update(client, desired, with_spec(service("reverted", port=81)))
    stored, outcome = create_or_update(client, desired, with_spec(desired))
    assert (stored.spec.ports[0].port, outcome) == (80, "updated")


def test_changed_labels_are_written(requester: CountingRequester) -> None:
    client, desired = DirectClient(requester), service("labels")
    create_or_update(client, desired, with_spec(desired))

    def labelled(existing: Service) -> Service:
        return replace(existing, metadata=replace(existing.metadata, labels=LABELS), spec=desired.spec)

    assert [create_or_update(client, desired, labelled)[1] for _ in range(2)] == ["updated", "unchanged"]
