"""Cells of pods: the status, ready containers and restarts that kubectl shows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo_apiserver.printers.podcells import pod_status, readiness_gates, ready_containers, restarts

Object = dict[str, Any]

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
RUNNING: Object = {"running": {}}


def waiting(reason: str) -> Object:
    return {"waiting": {"reason": reason}}


def ended(code: int = 0, **fields: Any) -> Object:
    return {"terminated": {"exitCode": code, **fields}}


def status(state: Object, name: str = "c", **fields: Any) -> Object:
    return {"name": name, "state": state, **fields}


def pod(*containers: Object, phase: str = "Running", init: list[Object] | None = None, **fields: Any) -> Object:
    sidecars = [item["name"] for item in init or () if item.pop("sidecar", False)]
    initial: list[Object] = [{"name": entry["name"]} for entry in init or ()]
    for element in initial:
        if element["name"] in sidecars:
            element["restartPolicy"] = "Always"
    conditions = [{"type": kind, "status": "True"} for kind in fields.pop("conditions", ())]
    return {
        "metadata": {"name": "p", **fields.pop("metadata", {})},
        "spec": {"containers": [{"name": container["name"]} for container in containers], "initContainers": initial},
        "status": {
            "phase": phase, "conditions": conditions, "containerStatuses": list(containers),
            "initContainerStatuses": init or [], **fields,
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        pytest.param(pod(phase="Pending"), "Pending", id="phase"),
        pytest.param({"metadata": {}}, "", id="no status"),
        pytest.param(pod(phase="Failed", reason="Evicted"), "Evicted", id="reason of the status"),
        pytest.param(pod(status(RUNNING, ready=True)), "Running", id="running"),
        pytest.param(pod(status(waiting("CrashLoopBackOff"))), "CrashLoopBackOff", id="waiting container"),
        pytest.param(pod(status(ended(reason="Completed")), phase="Succeeded"), "Completed", id="completed"),
        pytest.param(pod(status(ended(1, reason="Error"))), "Error", id="failed with a reason"),
        pytest.param(pod(status(ended(3))), "ExitCode:3", id="failed with a code"),
        pytest.param(pod(status(ended(0, signal=9))), "Signal:9", id="ended by a signal"),
        pytest.param(
            pod(status(ended(reason="Completed"), "a"), status(RUNNING, "b", ready=True), conditions=["Ready"]),
            "Running",
            id="one completed, others running, and ready",
        ),
        pytest.param(pod(status(ended(reason="Completed"), "a"), status(RUNNING, "b", ready=True)), "NotReady",
                     id="one completed, others running, and not ready"),
        pytest.param(pod(status(ended(reason="Completed"), "a"), status(ended(1, reason="Error"), "b")), "Error",
                     id="an error counts more than a completion"),
        pytest.param(pod(metadata={"deletionTimestamp": "x"}), "Terminating", id="being deleted"),
        pytest.param(
            pod(phase="Succeeded", metadata={"deletionTimestamp": "x"}), "Succeeded", id="ended before its deletion"
        ),
        pytest.param(
            pod(reason="NodeLost", metadata={"deletionTimestamp": "x"}), "Unknown", id="deleted on a lost node"
        ),
    ],
)  # fmt: skip
def test_status_is_the_phase_unless_a_container_or_deletion_replaces_it(obj: Object, text: str) -> None:
    assert pod_status(obj) == text


@pytest.mark.parametrize(
    ("init", "text"),
    [
        pytest.param([status(waiting("ImagePullBackOff"), "i")], "Init:ImagePullBackOff", id="waiting"),
        pytest.param([status(waiting("PodInitializing"), "i")], "Init:0/1", id="not begun"),
        pytest.param([status(RUNNING, "i"), status({}, "j")], "Init:0/2", id="first of two runs"),
        pytest.param([status(ended(), "i"), status(RUNNING, "j")], "Init:1/2", id="second of two runs"),
        pytest.param([status(ended(1), "i")], "Init:ExitCode:1", id="failed with a code"),
        pytest.param([status(ended(1, signal=9), "i")], "Init:Signal:9", id="ended by a signal"),
        pytest.param([status(ended(1, reason="OOMKilled"), "i")], "Init:OOMKilled", id="failed with a reason"),
        pytest.param([status(ended(), "i")], "Pending", id="all done"),
        pytest.param(
            [status(RUNNING, "i", started=True, ready=True, sidecar=True)], "Pending", id="a sidecar that has started"
        ),
        pytest.param([status(RUNNING, "i", started=False, sidecar=True)], "Init:0/1", id="a sidecar that starts"),
    ],
)
def test_status_shows_the_init_container_that_the_pod_waits_for(init: list[Object], text: str) -> None:
    assert pod_status(pod(phase="Pending", init=init)) == text


def test_gated_pod_shows_its_gate() -> None:
    obj = pod(phase="Pending")
    obj["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert pod_status(obj) == "SchedulingGated"


def test_sidecars_count_as_containers() -> None:
    init = [status(ended(), "i"), status(RUNNING, "side", started=True, ready=True, sidecar=True)]
    containers = [status(RUNNING, "a", ready=True), status(RUNNING, "b", ready=False)]
    assert ready_containers(pod(*containers, init=init, conditions=["Initialized"])) == "2/3"


def test_restarts_are_summed_with_the_time_of_the_last() -> None:
    last = {"terminated": {"finishedAt": "2024-05-01T11:55:00Z"}}
    first = {"terminated": {"finishedAt": "2024-05-01T10:00:00Z"}}
    containers = [
        status(RUNNING, "a", restartCount=2, lastState=first),
        status(RUNNING, "b", restartCount=1, lastState=last),
    ]
    assert restarts(pod(*containers), NOW) == "3 (5m ago)"
    assert restarts(pod(status(RUNNING, restartCount=4)), NOW) == "4"
    assert restarts(pod(), NOW) == "0"


def test_open_readiness_gates_are_counted() -> None:
    obj = pod(conditions=["a"])
    assert readiness_gates(obj) == "<none>"
    obj["spec"]["readinessGates"] = [{"conditionType": "a"}, {"conditionType": "b"}]
    assert readiness_gates(obj) == "1/2"
