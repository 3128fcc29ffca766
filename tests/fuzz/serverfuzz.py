"""Targets that the bundled server reads, in process: objects, patches, and requests as a whole."""

import json
from pathlib import Path
from typing import Any

from clientgo.apiserver.http.protobuf import MEDIA_TYPE, read_envelope
from clientgo.apiserver.registry.builtin import builtin_resources
from clientgo.apiserver.registry.registry import Resource
from tests.apiserver.http.protobufs import envelope
from tests.apiserver.inprocess import (
    APPLY,
    DEFINITIONS,
    DEPLOYMENTS,
    FOOS,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Kube,
    deployment,
    foo,
)
from tests.apiserver.inprocess import definition as crd
from tests.fuzz.engine import Bug, Target

CORE = "/api/v1/namespaces/default"
RESTART = 20_000
"""Requests after which the server begins anew, so that what one request leaves behind does not add up."""


class _Running:
    requests = 0
    kube: Kube | None = None


def server() -> Kube:
    """A server with a Foo and a Deployment called a."""
    if _Running.kube is None or _Running.requests % RESTART == 0:
        _Running.kube = Kube()
        _Running.kube.ok("POST", FOOS, foo())
        _Running.kube.ok("POST", DEPLOYMENTS, deployment("a"))
    _Running.requests += 1
    return _Running.kube


def _answer(method: str, url: str, body: bytes, kind: str = "application/json") -> str:
    answer = server().send(method, url, body, kind)
    # A real server answers 500, and in these words, to a creation that names a version.
    if answer.status >= 500 and answer.status != 504 and b"resourceVersion should not be set" not in answer.body:
        raise Bug(f"{method} {url}: {answer.body[:400]!r}")
    if answer.status == 404 and answer.body == b"404 page not found\n":
        return "no such page"  # what Go's HTTP server says, in no Status
    if answer.status >= 400:
        status: Any = json.loads(answer.body)
        if status.get("kind") != "Status" or not status.get("message"):
            raise Bug(f"{method} {url}: refused without a word: {answer.body[:400]!r}")
        return f"{answer.status} {status['message'][:40]}"
    return str(answer.status)


URLS = [
    FOOS,
    DEPLOYMENTS,
    f"{CORE}/pods",
    f"{CORE}/services",
    f"{CORE}/configmaps",
    f"{CORE}/events",
    f"{CORE}/secrets",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases",
    DEFINITIONS,
]
PATCHES = [MERGE, STRATEGIC, JSON_PATCH, APPLY]
PATCHED = [f"{FOOS}/a", f"{FOOS}/a/status", f"{FOOS}/a/scale", f"{DEPLOYMENTS}/a", f"{DEPLOYMENTS}/a/status"]


def server_objects(data: bytes) -> str:
    """Any body for any kind is taken or refused with a Status; the first byte says for which kind."""
    return _answer("POST", f"{URLS[data[0] % len(URLS) if data else 0]}?dryRun=All", data[1:])


def server_protobuf(data: bytes) -> str:
    """Any message for any kind is read or rejected with a Status; the first byte selects the kind."""
    resource = PROTOBUFS[data[0] % len(PROTOBUFS) if data else 0][0]
    group = f"apis/{resource.group}" if resource.group else "api"
    namespace = "/namespaces/default" if resource.namespaced else ""
    url = f"/{group}/{resource.version}{namespace}/{resource.plural}?dryRun=All"
    return _answer("POST", url, envelope(resource.api_version, resource.kind, data[1:]), MEDIA_TYPE)


def server_patches(data: bytes) -> str:
    """Any patch of any kind; the first two bytes say of what, and which kind."""
    first, second = (*data[:2], 0, 0)[:2]
    url = PATCHED[first % len(PATCHED)]
    return _answer("PATCH", f"{url}?fieldManager=m&dryRun=All", data[2:], PATCHES[second % len(PATCHES)])


def server_requests(data: bytes) -> str:
    """Any path and query, to read or delete what is not there."""
    method, _, url = data.decode("latin-1").partition(" ")
    if "watch" in url:
        return "a watch"  # opens a stream, which is another target's affair
    return _answer(
        "GET" if method != "DELETE" else "DELETE", url.replace("/a", "/b") if method == "DELETE" else url, b""
    )


def _bodies() -> list[bytes]:
    objects: list[tuple[int, Any]] = [
        (0, foo("b", replicas=3)),
        (1, deployment("b", 2)),
        (2, {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "c", "image": "i", "ports": []}]}}),
        (3, {"metadata": {"name": "b"}, "spec": {"ports": [{"port": 1, "targetPort": "x"}], "clusterIP": "None"}}),
        (4, {"metadata": {"name": "b", "ownerReferences": []}, "data": {"a": "b"}}),
        (5, {"metadata": {"name": "b"}, "involvedObject": {"namespace": "default"}, "reason": "r"}),
        (8, {"metadata": {"name": "b"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        (9, {"metadata": {"name": "b"}, "spec": {"leaseDurationSeconds": 15, "renewTime": "2024-01-01T00:00:00.0Z"}}),
        (10, crd("bars", "Bar", "example.com")),
    ]  # fmt: skip
    return [bytes([number]) + json.dumps(obj).encode() for number, obj in objects]


def _protobufs() -> list[tuple[Resource, bytes]]:
    """Give the resources that the kept bodies of Go's clients are of, with the message of each."""
    resources = {(resource.api_version, resource.kind): resource for resource in builtin_resources()}
    path = Path(__file__).parents[1] / "apiserver" / "http" / "protobuf_bodies.json"
    sent = [read_envelope(bytes.fromhex(one["body"])) for one in json.loads(path.read_text(encoding="utf-8"))]
    return [(found, one.raw) for one in sent if (found := resources.get((one.api_version, one.kind))) is not None]


PROTOBUFS = _protobufs()
SEEDS = [
    b"\x00\x00" + json.dumps({"spec": {"replicas": 2}, "metadata": {"labels": {"a": "b"}}}).encode(),
    b"\x03\x01" + b'{"spec":{"template":{"spec":{"containers":[{"name":"nginx","$patch":"delete"}]}}}}',
    b"\x00\x02" + b'[{"op":"replace","path":"/spec/replicas","value":3},{"op":"test","path":"/a~1b"}]',
    b"\x00\x03" + json.dumps({**foo(), "metadata": {"name": "a", "managedFields": None}}).encode(),
]
WORDS = tuple(
    word.encode()
    for word in [
        '"metadata"',
        '"spec"',
        '"status"',
        '"name"',
        '"labels"',
        '"finalizers"',
        '"ownerReferences"',
        '"managedFields"',
        '"containers"',
        '"template"',
        '"selector"',
        '"matchLabels"',
        '"ports"',
        '"replicas"',
        '"versions"',
        '"schema"',
        '"openAPIV3Schema"',
        '"properties"',
        '"type"',
        '"items"',
        '"$patch"',
        '"delete"',
        '"replace"',
        '"$setElementOrder/containers"',
        '"$retainKeys"',
        '"op"',
        '"path"',
        '"from"',
        '"add"',
        '"remove"',
        '"move"',
        '"copy"',
        '"test"',
        '"/spec/-"',
        '"/metadata/name"',
        '"x-kubernetes-validations"',
        '"rule"',
        '"default"',
        '"pattern"',
        '"(a+)+$"',
        '"enum"',
        '"deletionTimestamp"',
        '"generateName"',
        '"resources"',
        '"requests"',
        '"cpu"',
        '"1Gi"',
        '"intOrString"',
        '"50%"',
        '"strategy"',
    ]
)
PATHS = [
    f"GET {FOOS}?labelSelector=a%3Db&fieldSelector=metadata.name%3Da&limit=1",
    f"GET {FOOS}/a?resourceVersion=1",
    "GET /apis/apps/v1/deployments?continue=eyJ2Ijoi&limit=2",
    "GET /openapi/v3/apis/apps/v1?hash=x",
    f"DELETE {FOOS}/b?propagationPolicy=Foreground&gracePeriodSeconds=0",
    "GET /api/v1/namespaces/default/pods/a/log?tailLines=1",
]

TARGETS = [
    Target("server-objects", server_objects, _bodies(), WORDS, weight=4),
    Target(
        "server-protobuf",
        server_protobuf,
        [bytes([number]) + raw for number, (_, raw) in enumerate(PROTOBUFS)],
        (b"\x0a\x00", b"\x0a\x02\x0a\x00", b"\x12\x00", b"\x18\x00", b"\xff" * 9 + b"\x01", b"\x08\x01", b"{}"),
        weight=4,
    ),
    Target("server-patches", server_patches, SEEDS, WORDS, weight=4),
    Target(
        "server-requests",
        server_requests,
        [path.encode() for path in PATHS],
        tuple(
            b"/ // ? & = %2F %00 .. limit= continue= resourceVersion= resourceVersionMatch=Exact timeoutSeconds= "
            b"dryRun=All fieldValidation=Strict pretty=1 /status /scale namespaces v1 apis".split()
        ),
        weight=3,
    ),
]
