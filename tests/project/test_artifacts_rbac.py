"""Roles besides the controller's own, which tests/e2e/test_rbac_exact.py checks."""

import threading
from collections.abc import Callable

import pytest

from clientgo.leaderelection import LeaderElector, LeaseLock
from clientgo.testing.actions import Action
from clientgo.testing.kubernetes import FakeClientset as FakeKubernetes
from tests.project.manifests import ARTIFACTS, NAME, NAMESPACE, Object, gathered, grants, named, rendered

Request = tuple[str, str, str]
"""API group, resource (with its subresource), verb."""


@pytest.fixture(scope="module")
def find_manifest() -> Callable[..., Object]:
    everything = gathered(ARTIFACTS / "default")
    return lambda kind, name=NAME: named(everything, kind, name)


def requested(action: Action) -> Request:
    resource = action.resource.resource + (f"/{action.subresource}" if action.subresource else "")
    return action.resource.group, resource, action.verb


def granted(role: Object) -> set[Request]:
    return {(group, resource, verb) for group, resource, _, verb in grants(role)}


def test_election_asks_for_what_its_role_grants_and_for_no_other_lease(find_manifest: Callable[..., Object]) -> None:
    """It creates, renews and releases the lease that the manifests' flags name."""
    kube, stop = FakeKubernetes(), threading.Event()
    lock = LeaseLock(kube, NAMESPACE, NAME, "me")
    LeaderElector(lock, on_started_leading=lambda _: stop.set(), on_stopped_leading=lambda: None).run(stop)
    seen = {(*requested(action), action.name) for action in kube.actions}
    allowed = list(grants(find_manifest("Role", f"{NAME}-leader-election")))
    # A name can't be demanded of a creation.
    assert {(group, resource, verb) for group, resource, verb, _ in seen} == {(g, r, v) for g, r, _, v in allowed}
    assert {name for _, _, name, verb in allowed if verb != "create"} == {NAME}
    assert {name for *_, verb, name in seen if verb != "create"} == {NAME}
    assert {action.namespace for action in kube.actions} == {
        find_manifest("Role", f"{NAME}-leader-election")["metadata"]["namespace"]
    }


def test_account_that_serves_metrics_may_review_tokens(find_manifest: Callable[..., Object]) -> None:
    assert granted(find_manifest("ClusterRole", f"{NAME}-metrics-auth")) == {
        ("authentication.k8s.io", "tokenreviews", "create"),
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
    }


@pytest.mark.e2e
def test_sharded_members_may_see_every_lease_and_write_their_own() -> None:
    role = named(rendered("sharded"), "Role", f"{NAME}-leader-election")
    group, members = "coordination.k8s.io", [f"{NAME}-{member}" for member in range(3)]
    assert set(grants(role)) == {
        *((group, "leases", "", verb) for verb in ("create", "list")),
        *((group, "leases", name, verb) for name in members for verb in ("get", "update")),
    }
