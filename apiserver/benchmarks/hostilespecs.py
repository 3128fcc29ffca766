"""Hostile specs with long lists, heads of requests, and WebSockets."""

from collections.abc import Iterator
from typing import Any

from apiserver.benchmarks.hostilemore import CONTAINER, NAMESPACE, Table
from apiserver.benchmarks.hostilerequests import (
    JSON,
    MAPS,
    PODS,
    Request,
    definition,
    post,
    schema_object,
    text_schema,
    with_rule,
)

SPECS = Table()

# Specs with long lists.


def _pod(name: str, **spec: Any) -> None:
    SPECS.only(
        f"pod: {name}",
        post(f"{PODS}?dryRun=All", {"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}}),
    )


_pod("8,000 containers", containers=[{"name": f"c{n}", "image": "i"} for n in range(8_000)])
_pod(
    "10,000 volumes and mounts",
    volumes=[{"name": f"v{n}", "emptyDir": {}} for n in range(10_000)],
    containers=[{**CONTAINER, "volumeMounts": [{"name": f"v{n}", "mountPath": f"/{n}"} for n in range(10_000)]}],
)
_pod(
    "20,000 ports",
    containers=[{**CONTAINER, "ports": [{"containerPort": n + 1, "name": f"p{n}"} for n in range(20_000)]}],
)
_pod("20,000 tolerations", tolerations=[{"key": f"k{n}", "operator": "Exists"} for n in range(20_000)])
_pod(
    "20,000 variables", containers=[{**CONTAINER, "env": [{"name": f"v{n}", "value": "x"} for n in range(20_000)] * 2}]
)
_pod(
    "10,000 terms of an affinity",
    affinity={
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": f"k{n}", "operator": "In", "values": ["a"]}]} for n in range(10_000)
                ]
            }
        }
    },
)
_pod(
    "10,000 constraints of a spread",
    topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": f"k{n}", "whenUnsatisfiable": "DoNotSchedule"} for n in range(10_000)
    ],
)
SPECS.only(
    "service: 5,000 ports",
    post(
        "/api/v1/namespaces/default/services?dryRun=All",
        {
            "metadata": {"name": "s"},
            "spec": {"ports": [{"port": n + 1, "name": f"p{n}"} for n in range(5_000)], "selector": {"a": "b"}},
        },
    ),
)
SPECS.only(
    "endpoints: 30,000 addresses",
    post(
        "/api/v1/namespaces/default/endpoints?dryRun=All",
        {
            "metadata": {"name": "e"},
            "subsets": [
                {
                    "addresses": [{"ip": f"10.{n // 65536}.{n // 256 % 256}.{n % 256}"} for n in range(30_000)],
                    "ports": [{"port": 1}],
                }
            ],
        },
    ),
)
SPECS.only(
    "network policy: 20,000 peers",
    post(
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All",
        {
            "metadata": {"name": "n"},
            "spec": {
                "podSelector": {},
                "ingress": [
                    {
                        "from": [
                            {"ipBlock": {"cidr": f"10.{n // 65536}.{n // 256 % 256}.{n % 256}/32"}}
                            for n in range(20_000)
                        ]
                    }
                ],
            },
        },
    ),
)
SPECS.only(
    "role: 20,000 rules",
    post(
        "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All",
        {
            "metadata": {"name": "r"},
            "rules": [{"apiGroups": ["a"], "resources": [f"r{n}"], "verbs": ["get"]} for n in range(20_000)],
        },
    ),
)
SPECS.only(
    "references: 10,000 owners",
    post(
        f"{MAPS}?dryRun=All",
        {
            "metadata": {
                "name": "o",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{n}", "uid": f"u{n}"} for n in range(10_000)
                ],
            }
        },
    ),
)
SPECS.only(
    "webhooks: 3,000 webhooks",
    post(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All",
        {
            "metadata": {"name": "w"},
            "webhooks": [
                {
                    "name": f"w{n}.a.io",
                    "clientConfig": {"url": "https://a.io"},
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "matchConditions": [{"name": "a", "expression": f"object.metadata.name != '{n}'"}],
                }
                for n in range(3_000)
            ],
        },
    ),
)
SPECS.only(
    "workload: a selector of 10,000 expressions",
    post(
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "metadata": {"name": "d"},
            "spec": {
                "selector": {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"} for n in range(10_000)]},
                "template": {
                    "metadata": {"labels": {f"k{n}": "v" for n in range(10_000)}},
                    "spec": {"containers": [CONTAINER]},
                },
            },
        },
    ),
)
SPECS.only(
    "review: 100,000 groups",
    post(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "spec": {
                "user": "u",
                "groups": [f"g{n}" for n in range(100_000)],
                "resourceAttributes": {"verb": "get", "resource": "pods"},
            }
        },
    ),
)
SPECS.only(
    "review: a token of 2.9 MB",
    post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "a.b." + "c" * 2_900_000}}),
)
SPECS.only(
    "definition: an enumeration of 100,000 texts",
    definition("enums", schema_object(a=text_schema(enum=[f"v{n}" for n in range(100_000)]))),
)
SPECS.only(
    "definition: 1,000 rules",
    definition(
        "rules",
        {
            "type": "object",
            "properties": {
                f"p{n}": with_rule("self.a.size() > 0 && self.a.startsWith('x')", a=text_schema(maxLength=9))
                for n in range(1_000)
            },
        },
    ),
)
SPECS.only(
    "definition: 3,000 columns",
    definition(
        "cells",
        schema_object(a=text_schema()),
        columns=[{"name": f"c{n}", "type": "string", "jsonPath": f".spec.a{n}"} for n in range(3_000)],
    ),
)

# Heads.

SPECS.get(
    "head: 10,000 media types",
    f"{NAMESPACE}/configmaps",
    ",".join(f"a/b{n};q=0.1" for n in range(4_000)) + ",application/json",
)
SPECS.get("head: 2,000 headers", "/api/v1/namespaces/default", JSON + "".join(f"\r\nX-A{n}: b" for n in range(2_000)))
SPECS.get("head: a path of 10,000 segments", "/apis" + "/a" * 10_000)
SPECS.get(
    "head: a token of 50,000 characters",
    "/api/v1/namespaces/default",
    JSON + "\r\nAuthorization: Bearer " + "a." * 25_000,
)

# WebSockets.


def _with_pod() -> Iterator[Request]:
    meta = {"name": "files", "annotations": {"simulation.clientgo.dev/logs": "x"}}
    yield post(PODS, {"metadata": meta, "spec": {"containers": [CONTAINER]}})
    yield "GET", f"{PODS}/files", b"", ""


for _name in (
    "an archive of 5,000 files in one message",
    "an archive of 5,000 files is read",
    "20,000 messages of one byte",
    "16 MB that are echoed",
):
    SPECS.row(f"exec: {_name}", _with_pod)
