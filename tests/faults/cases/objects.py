"""Faults of objects: kind, schema, namespace, quota and admission."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from clientgo.envtest.crds import install, read_crds
from tests.faults.case import MACHINE, Case, strikes
from tests.faults.cases.network import FAILURES
from tests.faults.rig import CRDS, PLACE, Rig

CASES: list[Case] = []

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{}/foos"
REFUSED = "cannot reconcile"
RETRIED = "workqueue_retries_total"


def send(rig: Rig, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Send a request without a typed client."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    data = json.dumps(body).encode() if body is not None else None
    return json.loads(rig.client.raw(method, path, body=data, content_type=kind))


@strikes(
    many=CASES,
    name="CRD deleted, with all Foos, and created again",
    does="drops the deleted objects, lists with growing delays, and continues when the kind is back",
    log="failed to list or watch.*(could not find|not found)",
    metric=FAILURES,
    takes_writes=False,
    lasts=2.0,
)
def no_crd(rig: Rig) -> Iterator[None]:
    rig.wanted.clear()
    send(rig, "DELETE", f"{CRD}/foos.samplecontroller.k8s.io")
    # A real server ends the watches of a kind that is gone.
    rig.proxy.reset()
    yield
    install(rig.client, read_crds([CRDS]))


@strikes(
    many=CASES,
    name="Schema changed under cached objects: no longer a valid Foo",
    does="keeps the last good state of that Foo, and syncs the others",
    log="cannot be decoded",
    metric="informer_undecodable_objects_total",
)
def other_schema(rig: Rig) -> Iterator[None]:
    crd = f"{CRD}/foos.samplecontroller.k8s.io"
    schema = yaml.safe_load(json.dumps(send(rig, "GET", crd)))["spec"]["versions"]
    loose = json.loads(json.dumps(schema))
    loose[0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    send(rig, "PATCH", crd, {"spec": {"versions": loose}})
    rig.create("other")
    rig.until(lambda: all(informer.size >= 2 for informer in rig.informers), 10)
    path = f"{FOOS.format(PLACE)}/other"
    rig.until(lambda: bool(send(rig, "PATCH", path, {"spec": {"deploymentName": ["other"]}})), 10)
    yield
    rig.until(lambda: bool(send(rig, "PATCH", path, {"spec": {"deploymentName": "other"}})), 10)
    send(rig, "PATCH", crd, {"spec": {"versions": schema}})


@strikes(
    many=CASES,
    name="Namespace terminating, with a Foo that stays",
    does="leaves the Foo, which is being deleted, alone and creates no Deployment for it",
)
def terminating(rig: Rig) -> Iterator[None]:
    send(rig, "POST", "/api/v1/namespaces", {"metadata": {"name": "ending"}})
    rig.create("stays", location="ending")
    deployments = rig.kube.apps_v1.deployments("ending")
    rig.until(lambda: len(deployments.list().items) == 1, 10)
    path = f"{FOOS.format('ending')}/stays"
    send(rig, "PATCH", path, {"metadata": {"finalizers": ["faults.example.com/stays"]}})
    send(rig, "DELETE", "/api/v1/namespaces/ending")
    yield
    del rig.wanted["ending", "stays"]
    send(rig, "PATCH", path, {"metadata": {"finalizers": None}})


@strikes(
    many=CASES,
    name="Quota refuses the Deployment",
    does="tries again with growing delays; the log says why",
    log=f"{REFUSED}.*exceeded quota",
    metric=RETRIED,
)
def quota(rig: Rig) -> Iterator[None]:
    path = f"/api/v1/namespaces/{PLACE}/resourcequotas"
    send(rig, "POST", path, {"metadata": {"name": "none"}, "spec": {"hard": {"count/deployments.apps": "1"}}})
    yield
    send(rig, "DELETE", f"{path}/none")


@strikes(
    many=CASES,
    name="A webhook that must be asked cannot be reached",
    does="tries again with growing delays",
    log=f"{REFUSED}.*failed calling webhook",
    metric=RETRIED,
)
def webhook(rig: Rig) -> Iterator[None]:
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/validate"},
        "rules": [
            {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"], "operations": ["CREATE"]}
        ],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    send(rig, "POST", HOOKS, {"metadata": {"name": "fails"}, "webhooks": [hook]})
    yield
    send(rig, "DELETE", f"{HOOKS}/fails")


@strikes(
    many=CASES,
    name="Deployments deleted behind the controller's back, while it can't watch",
    does="makes them again, once its watch tells that they are gone",
    log="watch lost",
    metric=FAILURES,
    takes_writes=False,
    within=2.0 + MACHINE,
)
def unseen(rig: Rig) -> Iterator[None]:
    rig.proxy.refuse()
    rig.kube.apps_v1.deployments(PLACE).delete("before")
    yield
    rig.proxy.listen()
