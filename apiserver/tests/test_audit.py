"""Audit log: each write once, in the store's order, with its version."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, MERGE, Kube, deployment, foo
from apiserver.tests.inprocess import DEPLOYMENTS as DEPLOYMENTS_URL
from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo_apiserver.api.users import ADMIN, authenticated
from clientgo_apiserver.audit import REVISION
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.keys import DEPLOYMENTS

Event = dict[str, Any]


class Audited(Kube):
    def __init__(self, *, simulate: bool = False, **options: Any) -> None:
        self.events: list[Event] = []
        super().__init__(ServerOptions(audit=self.events.append, **options), simulate=simulate)
        self.events.clear()

    def told(self) -> list[tuple[str, str, int, str]]:
        """Return the events since the last call: verb, name, code, versions."""
        result, self.events[:] = self.events[:], []
        return [
            (
                item["verb"],
                item["objectRef"].get("name", ""),
                item["responseStatus"]["code"],
                item.get("annotations", {}).get(REVISION, ""),
            )
            for item in result
        ]


def version(obj: Any) -> str:
    return str(obj["metadata"]["resourceVersion"])


def test_each_write_is_audited_with_its_version() -> None:
    kube = Audited()
    built = version(kube.ok("POST", FOOS, foo("a")))
    changed = version(kube.ok("PATCH", f"{FOOS}/a", {"spec": {"replicas": 2}}, MERGE))
    status = version(kube.ok("PATCH", f"{FOOS}/a/status", {"status": {"availableReplicas": 2}}, MERGE))
    kube.ok("GET", FOOS)
    kube.ok("DELETE", f"{FOOS}/a")
    gone = str(kube.api.state.store.revision)
    assert kube.told() == [
        ("create", "a", 201, built),
        ("patch", "a", 200, changed),
        ("patch", "a", 200, status),
        ("delete", "a", 200, gone),
    ]


def test_event_has_the_shape_of_audit_k8s_io() -> None:
    kube = Audited(tokens={"t": authenticated("bob", "team")})
    built = kube.ok("POST", f"{FOOS}?fieldManager=m", foo("a"), authorization="Bearer t", user_agent="robot/1")
    event = kube.events[0]
    assert (event["kind"], event["apiVersion"], event["level"]) == ("Event", "audit.k8s.io/v1", "Metadata")
    assert (event["stage"], event["verb"], event["requestURI"]) == (
        "ResponseComplete",
        "create",
        f"{FOOS}?fieldManager=m",
    )
    assert event["user"] == {"username": "bob", "groups": ["team", "system:authenticated"]}
    assert (event["userAgent"], event["auditID"].count("-")) == ("robot/1", 4)
    assert event["objectRef"] == {
        "resource": "foos", "namespace": "default", "name": "a", "uid": built["metadata"]["uid"],
        "apiGroup": "samplecontroller.k8s.io", "apiVersion": "v1alpha1",
    }  # fmt: skip
    assert event["requestReceivedTimestamp"].endswith("Z")
    assert event["requestReceivedTimestamp"] <= event["stageTimestamp"]


def test_write_without_change_is_audited_without_version() -> None:
    kube = Audited(tokens={"t": ADMIN, "e": authenticated("eve")})
    kube.set_options(authorization="RBAC")
    kube.send("POST", FOOS, foo("a"), authorization="Bearer e")
    kube.send("POST", f"{FOOS}?dryRun=All", foo("a"), authorization="Bearer t")
    kube.send("DELETE", f"{FOOS}/a", authorization="Bearer t")
    assert kube.told() == [("create", "", 403, ""), ("create", "", 201, ""), ("delete", "a", 404, "")]


def test_collections_deletion_is_one_event_with_every_version() -> None:
    kube = Audited()
    for name in "ab":
        kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": name}})
    kube.told()
    before = kube.api.state.store.revision
    kube.ok("DELETE", CONFIG_MAPS)
    assert kube.told() == [("deletecollection", "", 200, f"{before + 1},{before + 2}")]


def test_versions_of_server_changes_are_audited_once_in_order() -> None:
    kube = Audited(simulate=True, ready_seconds=0.0)
    kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    kube.ok("POST", DEPLOYMENTS_URL.replace("default", "n"), deployment("d"))
    kube.ok("DELETE", "/api/v1/namespaces/n")
    first = int(kube.events[0]["annotations"][REVISION])
    texts = [event["annotations"][REVISION] for event in kube.events if REVISION in event.get("annotations", {})]
    messages = [int(version) for text in texts for version in text.split(",")]
    assert messages == list(range(first, kube.api.state.store.revision + 1))
    by = {item["user"]["username"] for item in kube.events if item["objectRef"]["resource"] == DEPLOYMENTS[1]}
    assert by == {"system:anonymous", "system:serviceaccount:kube-system:deployment-controller", "system:apiserver"}


def test_reads_are_audited_on_request() -> None:
    kube = Audited(audit_reads=True)
    kube.ok("GET", FOOS)
    kube.refused(404, "GET", f"{FOOS}/x")
    kube.watch(FOOS).close()
    assert kube.told() == [("list", "", 200, ""), ("get", "x", 404, ""), ("watch", "", 200, "")]


def test_failing_sink_does_not_fail_requests(caplog: Any) -> None:
    def full(_: Event) -> None:
        raise OSError("no space left on device")

    kube = Kube(ServerOptions(audit=full))
    kube.ok("POST", FOOS, foo("a"))
    assert "audit event lost" in caplog.text


@pytest.mark.integration
def test_file_is_written_line_by_line_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with Environment(server=BundledServer(audit_log=path)) as config:
        clientset = Clientset(config)
        built = clientset.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="c")))
        clientset.close()
        events = [json.loads(line) for line in path.read_text().splitlines()]
        assert events[-1]["annotations"] == {REVISION: built.metadata.resource_version}
        assert events[-1]["sourceIPs"] == ["127.0.0.1"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
