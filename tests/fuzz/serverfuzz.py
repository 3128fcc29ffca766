"""Fuzz targets in the bundled server, called in process: objects, patches, and whole requests."""

import json
from pathlib import Path

from apiserver.tests.fuzzinputs import CREATABLE, FIELDS, PATCH_TYPES, PATCHED, outcome, with_objects
from apiserver.tests.http.protobufs import envelope
from apiserver.tests.inprocess import FOOS, Kube, foo
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.http.protobuf import MEDIA_TYPE, read_envelope
from clientgo_apiserver.registry.builtin import builtin_resources
from tests.fuzz.engine import Target

RESTART = 20_000
"""Requests after which a new server is started, so that the effects of requests do not accumulate."""


class _Running:
    requests = 0
    kube: Kube | None = None


def server() -> Kube:
    """Return the running server, which holds a Foo and a Deployment called a."""
    if _Running.kube is None or _Running.requests % RESTART == 0:
        _Running.kube = with_objects()
    _Running.requests += 1
    return _Running.kube


def _send(method: str, url: str, body: bytes, kind: str = "application/json") -> str:
    return outcome(server().send(method, url, body, kind))


def server_objects(data: bytes) -> str:
    """Create an object of any kind from any body; the first byte selects the kind."""
    url, _ = CREATABLE[data[0] % len(CREATABLE) if data else 0]
    return _send("POST", f"{url}?dryRun=All", data[1:])


def server_protobuf(data: bytes) -> str:
    """Create an object of any kind from any protobuf message; the first byte selects the kind."""
    resource = PROTOBUFS[data[0] % len(PROTOBUFS) if data else 0][0]
    group = f"apis/{resource.group}" if resource.group else "api"
    namespace = "/namespaces/default" if resource.namespaced else ""
    url = f"/{group}/{resource.version}{namespace}/{resource.plural}?dryRun=All"
    return _send("POST", url, envelope(resource.api_version, resource.kind, data[1:]), MEDIA_TYPE)


def server_patches(data: bytes) -> str:
    """Apply any patch; the first two bytes select the object and the type of patch."""
    first, second = (*data[:2], 0, 0)[:2]
    url = PATCHED[first % len(PATCHED)]
    return _send("PATCH", f"{url}?fieldManager=m&dryRun=All", data[2:], PATCH_TYPES[second % len(PATCH_TYPES)])


def server_requests(data: bytes) -> str:
    """Read or delete any path, with any query; only objects that do not exist are deleted."""
    method, _, url = data.decode("latin-1").partition(" ")
    if "watch" in url:
        return "a watch"  # opens a stream
    if method == "DELETE":
        return _send(method, url.replace("/a", "/b"), b"")
    return _send("GET", url, b"")


def _protobufs() -> list[tuple[Resource, bytes]]:
    """Return recorded messages of Go's clients, each with its resource."""
    resources = {(resource.api_version, resource.kind): resource for resource in builtin_resources()}
    path = Path(__file__).parents[2] / "apiserver" / "tests" / "http" / "protobuf_bodies.json"
    sent = [read_envelope(bytes.fromhex(item["body"])) for item in json.loads(path.read_text(encoding="utf-8"))]
    return [
        (stored, entry.raw) for entry in sent if (stored := resources.get((entry.api_version, entry.kind))) is not None
    ]


PROTOBUFS = _protobufs()
OBJECTS = [bytes([number]) + json.dumps(obj).encode() for number, (_, obj) in enumerate(CREATABLE)]
SEEDS = [
    b"\x00\x00" + json.dumps({"spec": {"replicas": 2}, "metadata": {"labels": {"a": "b"}}}).encode(),
    b"\x03\x01" + b'{"spec":{"template":{"spec":{"containers":[{"name":"nginx","$patch":"delete"}]}}}}',
    b"\x00\x02" + b'[{"op":"replace","path":"/spec/replicas","value":3},{"op":"test","path":"/a~1b"}]',
    b"\x00\x03" + json.dumps({**foo(), "metadata": {"name": "a", "managedFields": None}}).encode(),
]
VALUES = ("delete", "replace", "add", "remove", "move", "copy", "test", "/spec/-", "(a+)+$", "1Gi", "50%")
WORDS = tuple(f'"{word}"'.encode() for word in (*FIELDS, *VALUES))
PATHS = [
    f"GET {FOOS}?labelSelector=a%3Db&fieldSelector=metadata.name%3Da&limit=1",
    f"GET {FOOS}/a?resourceVersion=1",
    "GET /apis/apps/v1/deployments?continue=eyJ2Ijoi&limit=2",
    "GET /openapi/v3/apis/apps/v1?hash=x",
    f"DELETE {FOOS}/b?propagationPolicy=Foreground&gracePeriodSeconds=0",
    "GET /api/v1/namespaces/default/pods/a/log?tailLines=1",
]

TARGETS = [
    Target("server-objects", server_objects, OBJECTS, WORDS, weight=4),
    Target("server-protobuf", server_protobuf, [bytes([number]) + raw for number, (_, raw) in enumerate(PROTOBUFS)],
           (b"\x0a\x00", b"\x0a\x02\x0a\x00", b"\x12\x00", b"\x18\x00", b"\xff" * 9 + b"\x01", b"\x08\x01", b"{}"),
           weight=4),
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
]  # fmt: skip
