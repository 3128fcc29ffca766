"""The whole controller over real HTTP, against the environment's server."""

import logging
from contextlib import closing
from dataclasses import replace

import pytest

from clientgo.envtest import BundledServer
from clientgo.errors import ApiError
from clientgo.testing.eventually import eventually
from tests.e2e.controllercases import (
    Cluster,
    all_report,
    cluster,
    test_a_deleted_deployment_comes_back,
    test_a_deleted_foo_takes_its_deployment_along,
    test_a_deployment_of_another_owner_is_reported_and_left_alone,
    test_a_foo_gets_its_deployment_its_status_and_its_event,
    test_a_foo_that_changes_takes_its_deployment_along_within_a_second,
    test_a_foo_that_waits_for_its_deployment_to_be_deleted_first_is_gone_soon,
    test_a_foo_that_was_odd_syncs_once_it_is_mended,
    test_an_undecodable_foo_is_skipped_and_logged_once,
    test_what_others_set_on_the_deployment_stays_when_it_is_scaled,
)

# The fixtures and scenarios.
__all__ = [
    "cluster",
    "test_a_foo_gets_its_deployment_its_status_and_its_event",
    "test_a_foo_that_changes_takes_its_deployment_along_within_a_second",
    "test_what_others_set_on_the_deployment_stays_when_it_is_scaled",
    "test_a_deleted_deployment_comes_back",
    "test_a_deleted_foo_takes_its_deployment_along",
    "test_a_foo_that_waits_for_its_deployment_to_be_deleted_first_is_gone_soon",
    "test_a_deployment_of_another_owner_is_reported_and_left_alone",
    "test_an_undecodable_foo_is_skipped_and_logged_once",
    "test_a_foo_that_was_odd_syncs_once_it_is_mended",
]

pytestmark = pytest.mark.integration


@pytest.mark.timeout(120)
@pytest.mark.requires("simulated controllers")
@pytest.mark.parametrize(
    ("bundled", "writes_each"),
    [
        # The Foo's status is written twice: 0 after the first sync, and again when the replicas are there.
        pytest.param(BundledServer(), 4, id="Deployments available"),
        pytest.param(BundledServer(simulate=False), 3, id="no Deployment controller"),
    ],
)
def test_five_hundred_foos_cost_three_writes_each_and_no_conflict(
    bundled: BundledServer, writes_each: int, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(Cluster(bundled)) as cluster:
        cluster.start()
        for number in range(500):
            cluster.create_foo(f"foo-{number}")
        available = 1 if bundled.simulate else 0
        eventually(lambda: all_report(cluster, 500, available), seconds=60)
        eventually(lambda: len(cluster.events("Synced")) == 500, seconds=60)
        assert len(cluster.deployments.list().items) == 500
        writes = cluster.writes()
    assert writes.pop(("POST", "foos", "")) == 500
    assert sum(writes.values()) <= writes_each * 500, writes
    # On a slow machine the server may say that its clients wait.
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.msg for record in warnings if not record.name.startswith("clientgo_apiserver")] == []


def test_the_schema_refuses_what_no_deployment_can_be(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="should be less than or equal to 10"):
        cluster.create_foo("a", replicas=11)
    foo = cluster.create_foo("b", replicas=10)
    with pytest.raises(ApiError, match="should be greater than or equal to 1"):
        cluster.foos.update(replace(foo, spec=replace(foo.spec, replicas=0)))
