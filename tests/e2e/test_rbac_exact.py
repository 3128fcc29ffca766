"""The permissions in artifacts/rbac are exactly those that the controller uses: removing any of them is noticed.

The whole program runs as its service account on a server with RBAC, and exercises everything. Rejected requests are
read from the server's audit log.
"""

import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.envtest.webhooks import free_port
from clientgo.errors import ConfigError, NotFound
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.meta import ObjectMeta, replace
from clientgo.rest import RESTClient
from clientgo.stop.lifecycle import Group
from controller.api.v1alpha1 import Foo, FooSpec
from controller.desired import new_deployment
from controller.options import parse
from controller.program import run
from generated.clientset import Clientset
from tests.e2e.clusters import account_token, report_available
from tests.e2e.program import ROOT
from tests.e2e.replicas.trail import events

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90), pytest.mark.requires("an audit log")]

RBAC = ROOT / "artifacts" / "rbac"
NAMESPACE = "sample-controller-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:sample-controller"
SECONDS = 20.0

ASKED_FOR_BY = {"update foos/finalizers.samplecontroller.k8s.io": "create deployments.apps"}
"""No request goes there: it is asked for when a Deployment is to say that it blocks its Foo's deletion."""


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource, as one role grants it."""

    role: str
    verb: str
    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' if self.group else ''}{self.group}"


def manifests() -> list[dict[str, Any]]:
    """Return every object of `kubectl apply -k artifacts/rbac`."""
    names = yaml.safe_load((RBAC / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    return [doc for name in names for doc in yaml.safe_load_all((RBAC / name).read_text(encoding="utf-8")) if doc]


def bound(objects: list[dict[str, Any]]) -> set[str]:
    """Return the names of the roles of the controller's account."""
    return {doc["roleRef"]["name"] for doc in objects if doc["kind"].endswith("Binding")}


def rights() -> Iterator[Right]:
    """Return all permissions of the controller's account."""
    objects = manifests()
    for doc in objects:
        if doc["kind"] in ("Role", "ClusterRole") and doc["metadata"]["name"] in bound(objects):
            for rule in doc["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for verb in rule["verbs"]:
                            yield Right(doc["metadata"]["name"], verb, group, resource)


def without(right: Right | None) -> list[dict[str, Any]]:
    """Return the manifests with one permission less."""
    objects = manifests()
    for doc in objects:
        if right is not None and doc["kind"] in ("Role", "ClusterRole") and doc["metadata"]["name"] == right.role:
            doc["rules"] = [part for rule in doc["rules"] for part in _split(rule, right)]
    return objects


def _split(rule: dict[str, Any], right: Right) -> Iterator[dict[str, Any]]:
    for resource in rule["resources"]:
        used = resource == right.resource and right.group in rule["apiGroups"]
        verbs = [verb for verb in rule["verbs"] if not (used and verb == right.verb)]
        if verbs:
            yield {**rule, "resources": [resource], "verbs": verbs}


class RunnableGroup:
    """Server with these roles, and the controller running on it as its service account."""

    def __init__(self, folder: Path, objects: list[dict[str, Any]]) -> None:
        self.trail = folder / "audit.log"
        self.environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"],
            server=server_from(
                bundled=BundledServer(
                    secure=True, audit_log=self.trail, audit_reads=True, owner_references_permissions=True
                )
            ),
        )
        self.config = self.environment.start()
        self.admin = RESTClient(self.config)
        self.foos = Clientset(self.admin).samplecontroller_v1alpha1.foos("default")
        self.kube = Kubernetes(self.admin)
        self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for doc in objects:
            self._create(doc)
        self.stop = threading.Event()
        self.program = Group(stop=self.stop)
        self.port = free_port()
        self.token = self._may_read_metrics(account_token(self.admin, "default", "prometheus"))

    def _create(self, doc: dict[str, Any]) -> None:
        group = "rbac.authorization.k8s.io/v1"
        location = f"namespaces/{doc['metadata']['namespace']}/" if "namespace" in doc["metadata"] else ""
        base = f"/apis/{group}" if doc["apiVersion"] == group else "/api/v1"
        plural = doc["kind"].lower() + "s"
        self.admin.raw("POST", f"{base}/{location}{plural}", body=json.dumps(doc).encode())

    def _may_read_metrics(self, token: str) -> str:
        named = {"metadata": {"name": "prometheus"}}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "prometheus"}
        subject = {"kind": "ServiceAccount", "name": "prometheus", "namespace": "default"}
        rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        api = "rbac.authorization.k8s.io/v1"
        self._create({"apiVersion": api, "kind": "ClusterRole", **named, "rules": [rule]})
        self._create({"apiVersion": api, "kind": "ClusterRoleBinding", **named, "roleRef": role, "subjects": [subject]})
        return token

    def start(self) -> None:
        config = self.environment.add_user(ACCOUNT, "system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
        flags = [
            "--leader-elect",
            f"--leader-elect-resource-namespace={NAMESPACE}",
            f"--metrics-bind-address=127.0.0.1:{self.port}",
            "--metrics-secure",
        ]
        self.program.start(run, config, parse(flags), self.stop, name="program")

    def refused(self) -> set[str]:
        """Return the controller's rejected requests so far."""
        result = set()
        for event in events(self.trail):
            if event["user"]["username"] == ACCOUNT and event.get("responseStatus", {}).get("code") == 403:
                what = event["objectRef"]
                sub = f"/{what['subresource']}" if what.get("subresource") else ""
                group = f".{what['apiGroup']}" if what.get("apiGroup") else ""
                result.add(f"{event['verb']} {what['resource']}{sub}{group}")
        return result

    def end(self) -> None:
        """Stop the program, which may have exited because of a rejection, and the server."""
        self.stop.set()
        try:
            self.program.join(SECONDS)
        except ConfigError as error:
            if "forbids" not in str(error):
                raise
        finally:
            self.admin.close()
            self.environment.stop()

    def reached(self, what: Any) -> bool:
        """Return whether a condition became true before a request was rejected."""
        deadline, never = SYSTEM_CLOCK.now() + SECONDS, threading.Event()
        while SYSTEM_CLOCK.now() < deadline:
            try:
                if what():
                    return True
            except NotFound:
                pass
            if self.refused() or not self.program.alive():
                return False
            never.wait(0.02)
        raise AssertionError(f"neither done nor refused after {SECONDS} s")

    def everything(self) -> bool:
        """Exercise everything that the controller does; return False after a rejection."""
        somebodys = new_deployment(Foo(ObjectMeta(name="taken"), FooSpec("taken", 1)))
        self.kube.apps_v1.deployments("default").create(replace(somebodys, metadata=ObjectMeta(name="taken")))
        for name in ("mine", "taken"):
            self.foos.create(Foo(ObjectMeta(name=name), FooSpec(name, 1)))
        return (
            self.reached(lambda: self._available(1))
            and bool(self.foos.patch("mine", {"spec": {"replicas": 3}}))
            and self.reached(lambda: self._available(3))
            and self._replaced("mine")
            and self._renamed("mine")
            and self.reached(lambda: any((event.count or 0) > 1 for event in self._events()))
            and self.reached(self._scraped)
        )

    def _available(self, replicas: int) -> bool:
        """Return whether the Foo reports so many available replicas."""
        report_available(self.environment, self.kube.apps_v1.deployments("default"), "mine", replicas)
        return self.foos.get("mine").status.available_replicas == replicas

    def _replaced(self, name: str) -> bool:
        """Return whether a deleted Deployment is created again."""
        deployments = self.kube.apps_v1.deployments("default")
        uid = deployments.get(name).metadata.uid
        deployments.delete(name)
        return self.reached(lambda: deployments.get(name).metadata.uid != uid)

    def _renamed(self, name: str) -> bool:
        """Return whether the Deployment of a former name is deleted."""
        self.foos.patch(name, {"spec": {"deploymentName": f"{name}-renamed"}})
        deployments = self.kube.apps_v1.deployments("default")
        return self.reached(lambda: name not in {item.metadata.name for item in deployments.list().items})

    def _scraped(self) -> bool:
        """Return whether an authorized user gets the metrics, which requires the API server's review."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(f"https://127.0.0.1:{self.port}/metrics")
        request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, context=context, timeout=SECONDS) as response:
                return b"controller_runtime_reconcile_total" in response.read()
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def _events(self) -> Any:
        return self.kube.core_v1.events("default").list().items


def outcome(folder: Path, objects: list[dict[str, Any]]) -> tuple[bool, set[str]]:
    """Return whether the controller did everything, and its rejected requests."""
    stage = RunnableGroup(folder, objects)
    try:
        stage.start()
        done = stage.everything()
    finally:
        stage.end()
    return done, stage.refused()


def test_with_these_rights_and_no_others_everything_works(tmp_path: Path) -> None:
    assert outcome(tmp_path, without(None)) == (True, set())


@pytest.mark.parametrize("right", [pytest.param(right, id=f"no {right}") for right in rights()])
def test_each_right_is_missed(right: Right, tmp_path: Path) -> None:
    done, refused = outcome(tmp_path, without(right))
    assert (done, refused) == (False, {ASKED_FOR_BY.get(str(right), str(right))})
