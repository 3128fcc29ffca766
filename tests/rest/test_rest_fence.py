"""Requests of a process that may write only at times."""

import pytest

from clientgo.errors import LeaseNotHeld, NotFound
from clientgo.kubernetes.clients.apps_v1 import AppsV1
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta import ObjectMeta
from clientgo.rest.fence import FencedRequester
from clientgo.testing.kubernetes import FakeClientset


def test_writes_pass_while_the_process_may_write_and_are_not_sent_when_it_may_not() -> None:
    fake, may = FakeClientset(), True
    deployments = AppsV1(FencedRequester(fake.requester, lambda: may)).deployments("ns")
    deployments.create(Deployment(metadata=ObjectMeta(name="a")))
    may = False
    fake.clear_actions()
    for write in (
        lambda: deployments.create(Deployment(metadata=ObjectMeta(name="b"))),
        lambda: deployments.update(Deployment(metadata=ObjectMeta(name="a"))),
        lambda: deployments.patch("a", {"spec": {"replicas": 1}}),
        lambda: deployments.delete("a"),
        lambda: deployments.delete_collection(),
    ):
        with pytest.raises(LeaseNotHeld, match="the lease is not held"):
            write()
    assert fake.actions == []


def test_reads_pass_at_any_time() -> None:
    fake = FakeClientset(Deployment(metadata=ObjectMeta(name="a", namespace="ns")))
    deployments = AppsV1(FencedRequester(fake.requester, lambda: False)).deployments("ns")
    assert deployments.get("a").metadata.name == "a"
    assert len(deployments.list().items) == 1
    deployments.watch().close()
    with pytest.raises(NotFound):
        deployments.get("b")
