"""API server in process with the sample kind installed: requests are method calls, time stands still."""

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.handlers.dispatch import Answer, Api
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.http.messages import HTTPResponse
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.keys import DEFINITIONS as DEFINITION_KEY
from clientgo_apiserver.storage.stored import Journal

Object = dict[str, Any]

GROUP = "samplecontroller.k8s.io"
FOOS = f"/apis/{GROUP}/v1alpha1/namespaces/default/foos"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"
SERVICES = "/api/v1/namespaces/default/services"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

SPEC_SCHEMA: Object = {
    "type": "object",
    "required": ["deploymentName"],
    "properties": {
        "deploymentName": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "replicas": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 1},
        "mode": {"type": "string", "enum": ["Fast", "Slow"]},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
            },
        },
    },
}


def definition(plural: str = "foos", kind: str = "Foo", group: str = GROUP, schema: Object | None = None) -> Object:
    spec = SPEC_SCHEMA if schema is None else schema
    status = {"type": "object", "properties": {"availableReplicas": {"type": "integer"}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, test"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.availableReplicas",
                        },
                    },
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
                }
            ],
        },
    }


def foo(name: str = "a", *, labels: Object | None = None, **spec: Any) -> Object:
    metadata: Object = {"name": name, **({"labels": labels} if labels else {})}
    api_version = f"{GROUP}/v1alpha1"
    return {"apiVersion": api_version, "kind": "Foo", "metadata": metadata, "spec": {"deploymentName": name, **spec}}


def deployment(name: str = "d", replicas: int = 1) -> Object:
    containers = [{"name": "nginx", "image": "nginx:latest"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}},
        },
    }


def pod(name: str = "p", **spec: Any) -> Object:
    containers = [{"name": "c", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def answer_of(api: Api, response: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a request to its end, on a loop of its own: webhooks are called as by a server."""

    async def run() -> Answer:
        try:
            return await response
        finally:
            api.state.webhooks.close_idle()

    return asyncio.run(run())


def result_of(api: Api, reply: Coroutine[Any, Any, Answer]) -> HTTPResponse:
    """Return the complete response of a request that is not a watch."""
    ended = answer_of(api, reply)
    response = ended() if callable(ended) else ended
    assert isinstance(response, HTTPResponse), "a watch has no complete response"
    return response


class Kube:
    """Sends requests; `ok` requires success and returns the object, `refused` a failure and returns the Status."""

    def __init__(
        self,
        options: ServerOptions | None = None,
        *,
        simulate: bool = False,
        journal: Journal | None = None,
        version: str = "",
        gates: str = "",
    ) -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        chosen = replace(options or ServerOptions(), simulate=simulate, version=version, feature_gates=gates)
        self.api: Api = build(self.scheduler, chosen, clock=self.clock, journal=journal)
        self.scheduler.run()
        if self.api.state.store.entry(DEFINITION_KEY, "", f"foos.{GROUP}") is None:
            self.ok("POST", DEFINITIONS, definition())

    def set_options(self, **options: Any) -> None:
        """Change options of the running server."""
        self.api.state.options = replace(self.api.state.options, **options)

    def send(
        self, method: str, url: str, body: Any = None, kind: str = "application/json", **headers: str
    ) -> HTTPResponse:
        path, _, query = url.partition("?")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = result_of(self.api, self.api.handle(method, path, query, {"content-type": kind, **named}, data))
        self.scheduler.run()
        return response

    def ok(self, method: str, url: str, body: Any = None, kind: str = "application/json", **headers: str) -> Object:
        response = self.send(method, url, body, kind, **headers)
        assert response.status < 400, response.body
        value: Object = response.json()
        return value

    def refused(self, code: int, method: str, url: str, body: Any = None, kind: str = "application/json") -> Object:
        response = self.send(method, url, body, kind)
        assert response.status == code, response.body
        value: Object = response.json()
        return value

    def watch(self, url: str, **headers: str) -> WatchServer:
        path, _, query = url.partition("?")
        response = answer_of(self.api, self.api.handle("GET", path, f"watch=1&{query}", headers))
        assert isinstance(response, WatchServer), response
        return response


def names(listed: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]
