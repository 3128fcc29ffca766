"""Tests of the oracle: each invariant is violated once and reported."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.clock import SYSTEM_CLOCK
from tests.faults import oracle
from tests.faults.rig import Rig
from tests.faults.soaking import bursts, overlaps

pytestmark = pytest.mark.integration


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    built = Rig(tmp_path)
    try:
        built.start()
        built.create("a")
        built.until(lambda: oracle.healthy(built), 10)
        yield built
    finally:
        built.end()


def test_wrong_foo_is_detected(rig: Rig) -> None:
    rig.wanted["default", "a"] = 2
    assert not oracle.converged(rig)
    rig.wanted["default", "a"] = 1
    assert oracle.converged(rig)
    rig.wanted["default", "b"] = 1
    assert not oracle.converged(rig)


def test_wrong_deployment_is_detected(rig: Rig) -> None:
    rig.proxy.refuse()
    rig.kube.apps_v1.deployments("default").patch("a", {"spec": {"replicas": 3}})
    assert not oracle.converged(rig)
    assert not oracle.caches_agree(rig)


def test_cache_that_differs_in_one_version_is_detected(rig: Rig) -> None:
    rig.proxy.refuse()
    rig.foos_api.samplecontroller_v1alpha1.foos("default").patch("a", {"metadata": {"labels": {"new": "1"}}})
    assert oracle.converged(rig)
    assert not oracle.caches_agree(rig)


def test_two_workers_at_one_foo_are_detected(rig: Rig) -> None:
    oracle.one_worker_a_key(rig)
    rig.requests.together.append("update a")
    with pytest.raises(AssertionError, match="two workers"):
        oracle.one_worker_a_key(rig)


def test_too_frequent_lists_are_detected(rig: Rig) -> None:
    now = SYSTEM_CLOCK.now()
    rig.requests.lists[:] = [(now, "foos")] * 3
    assert oracle.lists_are_bounded(rig, now, now + 1) == 3
    rig.requests.lists.append((now + 0.5, "foos"))
    with pytest.raises(AssertionError, match="4 lists of foos"):
        oracle.lists_are_bounded(rig, now, now + 1)


def test_the_tools_of_the_long_run_read_the_trail(tmp_path: Path) -> None:
    def event(user: str, verb: str, resource: str, begin: int, end: int, **more: Any) -> str:
        at = "2026-01-01T00:00:{:02}.000000Z"
        about = {"resource": resource, "name": "a", **more}
        return json.dumps(
            {
                "verb": verb, "user": {"username": user}, "objectRef": about, "responseStatus": {"code": 200},
                "requestReceivedTimestamp": at.format(begin), "stageTimestamp": at.format(end),
            }
        )  # fmt: skip

    trail = tmp_path / "audit.log"
    status = {"subresource": "status"}
    good = [
        event("one", "update", "leases", 0, 0),
        event("two", "get", "leases", 1, 1),
        event("one", "create", "deployments", 1, 2),
        event("one", "update", "foos", 2, 3, **status),
        event("one", "list", "foos", 4, 4),
    ]
    trail.write_text("\n".join(good) + "\n")
    assert oracle.no_write_without_the_lease(trail, {"one", "two"}) == {"one": 2}
    assert (overlaps(trail, {"one", "two"}), bursts(trail, {"one", "two"})) == ([], 1)
    bad = [event("two", "update", "foos", 3, 5, **status), event("two", "create", "deployments", 4, 6)]
    trail.write_text("\n".join([*good, *bad, *[event("two", "list", "foos", 7, 7)] * 4]) + "\n")
    with pytest.raises(AssertionError, match="while one held the lease"):
        oracle.no_write_without_the_lease(trail, {"one", "two"})
    assert (len(overlaps(trail, {"one", "two"})), bursts(trail, {"one", "two"})) == (1, 4)
