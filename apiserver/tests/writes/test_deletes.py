from typing import Any

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, MERGE, Kube, foo


def held(name: str = "a") -> dict[str, object]:
    obj = foo(name)
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    return obj


def test_finalizer_delays_deletion(kube: Kube) -> None:
    built = kube.ok("POST", FOOS, held())
    watch = kube.watch(f"{FOOS}?resourceVersion={built['metadata']['resourceVersion']}")
    marked = kube.ok("DELETE", f"{FOOS}/a")["metadata"]
    assert (marked["deletionGracePeriodSeconds"], marked["generation"]) == (0, 2)
    assert kube.ok("DELETE", f"{FOOS}/a")["metadata"] == marked
    assert "finalizers" not in kube.ok("PATCH", f"{FOOS}/a", {"metadata": {"finalizers": None}}, MERGE)["metadata"]
    kube.refused(404, "GET", f"{FOOS}/a")
    assert [frame["type"] for frame in watch.take()] == ["MODIFIED", "DELETED"]


@pytest.mark.parametrize(("orphan", "name", "code"), [(False, "held", 202), (True, "held", 200), (False, "free", 200)])
def test_cascading_deletion_is_accepted_while_a_finalizer_holds_the_object(
    kube: Kube, orphan: bool, name: str, code: int
) -> None:
    kube.ok("POST", FOOS, held("held"))
    kube.ok("POST", FOOS, foo("free"))
    assert kube.send("DELETE", f"{FOOS}/{name}", {"orphanDependents": orphan}).status == code


def test_no_finalizer_can_be_added_once_an_object_is_being_deleted(kube: Kube) -> None:
    kube.ok("POST", FOOS, held())
    kube.ok("DELETE", f"{FOOS}/a")
    patch = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    causes = kube.refused(422, "PATCH", f"{FOOS}/a", patch, MERGE)["details"]["causes"]
    # A real server validates metadata before and within the rules of the kind.
    assert [cause["reason"] for cause in causes] == ["FieldValueForbidden"] * 2


@pytest.mark.parametrize(("field", "named"), [("uid", "UID"), ("resourceVersion", "ResourceVersion")])
def test_precondition_that_does_not_hold_is_a_conflict(kube: Kube, field: str, named: str) -> None:
    kube.ok("POST", FOOS, foo())
    status = kube.refused(409, "DELETE", f"{FOOS}/a", {"preconditions": {field: "9999"}})
    assert f"the {named} in the precondition (9999) does not match" in status["message"]
    kube.ok("GET", f"{FOOS}/a")


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_policy_leaves_the_collector_its_finalizer(kube: Kube, policy: str, finalizer: str) -> None:
    kube.ok("POST", FOOS, held())
    marked = kube.ok("DELETE", f"{FOOS}/a?propagationPolicy={policy}")
    assert marked["metadata"]["finalizers"] == ["example.com/hold", finalizer]


_POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
_CONTROLLED = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_JOB = ("/apis/batch/v1/namespaces/default/jobs", {"spec": {"suspend": True, "template": _POD}})
_CONTROLLER = (
    "/api/v1/namespaces/default/replicationcontrollers",
    {"spec": {"replicas": 0, "selector": {"a": "b"}, "template": _CONTROLLED}},
)
_MAP: tuple[str, dict[str, Any]] = (CONFIG_MAPS, {})
_EVENT = ("/api/v1/namespaces/default/events", {"involvedObject": {"namespace": "default"}})


@pytest.mark.parametrize(
    ("kind", "finalizers", "query", "expected"),
    [
        # As on kube-apiserver 1.36.2.
        (_JOB, [], "", ["orphan"]),
        (_JOB, [], "orphanDependents=false", []),
        (_JOB, [], "propagationPolicy=Background", []),
        (_JOB, ["foregroundDeletion"], "", ["foregroundDeletion"]),
        (_JOB, ["a.b/c"], "", ["a.b/c", "orphan"]),
        (_CONTROLLER, [], "", ["orphan"]),
        (_CONTROLLER, ["a.b/c", "orphan"], "propagationPolicy=Foreground", ["a.b/c", "foregroundDeletion"]),
        (_MAP, [], "", []),
        (_MAP, [], "orphanDependents=true", ["orphan"]),
        (_MAP, ["orphan"], "", ["orphan"]),
        (_EVENT, [], "propagationPolicy=Orphan", []),
        (_EVENT, ["orphan"], "", []),
        (_EVENT, ["a.b/c", "orphan"], "propagationPolicy=Foreground", ["a.b/c"]),
    ],
)
def test_finalizer_of_the_collector_depends_on_the_policy_and_the_kind(
    kube: Kube, kind: tuple[str, dict[str, Any]], finalizers: list[str], query: str, expected: list[str]
) -> None:
    url, obj = kind
    kube.ok("POST", url, {**obj, "metadata": {"name": "a", "finalizers": finalizers}})
    deleted = kube.ok("DELETE", f"{url}/a?{query}")
    assert deleted.get("metadata", {}).get("finalizers", []) == expected


def test_dry_run_deletes_nothing(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo())
    kube.ok("DELETE", f"{FOOS}/a?dryRun=All")
    kube.ok("DELETE", f"{FOOS}?dryRun=All")
    kube.ok("GET", f"{FOOS}/a")
