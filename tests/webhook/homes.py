"""Kind with webhooks in two versions, and AdmissionReviews of its objects."""

import http.client
import json
import ssl
import threading
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.meta import EMPTY_MAP, Int32, ObjectMeta, WebhookConversion, api_type, replace
from clientgo.meta.declarations import admission_webhook
from clientgo.pki import CertificateAuthority
from clientgo.serving import Response, ServingRequest
from clientgo.stop.lifecycle import Group
from clientgo.webhook import AdmissionRequest, Denied, Warnings, WebhookServer, field

GROUP = "ajd.my.domain"

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Garden:
    trees: Int32 = 0
    flowers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HomeSpec:
    owner: str = ""
    rooms: Int32 | None = None
    heated: bool = True
    garden: Garden | None = None
    doors: tuple[Garden, ...] = ()
    labels: Mapping[str, str] = EMPTY_MAP


@dataclass(frozen=True, slots=True)
class HomeStatus:
    visits: Int32 = 0


@api_type(group=GROUP, version="v1", storage=False)
@dataclass(frozen=True, slots=True)
class Home:
    metadata: ObjectMeta
    spec: HomeSpec = HomeSpec()
    status: HomeStatus = HomeStatus()


@dataclass(frozen=True, slots=True)
class HomeSpecV2:
    owners: tuple[str, ...] = ()
    rooms: Int32 | None = None


@api_type(group=GROUP, version="v2", kind="Home", status=False, conversion=WebhookConversion())
@dataclass(frozen=True, slots=True)
class HomeV2:
    """Hub version."""

    metadata: ObjectMeta
    spec: HomeSpecV2 = HomeSpecV2()


def grown(home: Home) -> HomeV2:
    """Convert v1 to v2; fields that v2 lacks are kept in an annotation."""
    meta = home.metadata
    if not home.spec.heated:
        meta = replace(meta, annotations={**meta.annotations, "ajd/cold": "true"})
    owners = tuple(name for name in home.spec.owner.split(" & ") if name)
    return HomeV2(metadata=meta, spec=HomeSpecV2(owners=owners, rooms=home.spec.rooms))


def shrunk(home: HomeV2) -> Home:
    """Convert v2 to v1."""
    annotations = dict(home.metadata.annotations)
    heated = annotations.pop("ajd/cold", "") != "true"
    spec = HomeSpec(owner=" & ".join(home.spec.owners), rooms=home.spec.rooms, heated=heated)
    return Home(metadata=replace(home.metadata, annotations=annotations), spec=spec)


@admission_webhook(
    path="/mutate-ajd-my-domain-v1-home",
    mutating=True,
    groups=GROUP,
    resources="homes",
    verbs=("create", "update"),
    versions="v1",
    name="mhome-v1.kb.io",
)
class HomeDefaulter:
    """Defaulter: a home has at least one room."""

    def __init__(self) -> None:
        self.asked: list[AdmissionRequest] = []

    def default(self, obj: Home, request: AdmissionRequest) -> Home:
        self.asked.append(request)
        return obj if obj.spec.rooms is not None else replace(obj, spec=replace(obj.spec, rooms=1))


@admission_webhook(
    path="/validate-ajd-my-domain-v1-home",
    mutating=False,
    groups=GROUP,
    resources="homes",
    verbs=("create", "update", "delete"),
    versions="v1",
    name="vhome-v1.kb.io",
)
class HomeValidator:
    """Validator: a home has an owner and does not shrink; an old one cannot be deleted."""

    def __init__(self) -> None:
        self.asked: list[AdmissionRequest] = []

    def validate_create(self, obj: Home, request: AdmissionRequest) -> Warnings:
        self.asked.append(request)
        spec = field.Path("spec")
        problems = []
        if not obj.spec.owner:
            problems.append(field.required(spec / "owner", "a home needs an owner"))
        if obj.spec.rooms is not None and obj.spec.rooms < 1:
            problems.append(field.invalid(spec / "rooms", obj.spec.rooms, "must be at least 1"))
        field.raise_if_any(problems)
        return ["that is a large home"] if (obj.spec.rooms or 0) > 100 else None

    def validate_update(self, old: Home, new: Home, request: AdmissionRequest) -> Warnings:
        self.asked.append(request)
        if (new.spec.rooms or 0) < (old.spec.rooms or 0):
            raise Denied("a home does not shrink", warnings=["build another one"])
        return None

    def validate_delete(self, obj: Home, request: AdmissionRequest) -> Warnings:
        self.asked.append(request)
        if obj.spec.owner == "nobody":
            raise Denied("this one is a monument")
        return None


def home(name: str = "villa", **spec: Any) -> Object:
    return {
        "apiVersion": f"{GROUP}/v1", "kind": "Home", "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    }  # fmt: skip


def review(operation: str = "CREATE", obj: Object | None = None, old: Object | None = None, **more: Any) -> Object:
    """Return an API server's review of a Home: omitted fields are absent, missing objects are null."""
    kind = {"group": GROUP, "version": "v1", "kind": "Home"}
    resource = {"group": GROUP, "version": "v1", "resource": "homes"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": (obj or old or home())["metadata"]["name"],
        "namespace": "default",
        "operation": operation,
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": f"{operation.title()}Options", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def posted(body: bytes | Object, path: str = "/x", content_type: str = "application/json") -> ServingRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ServingRequest("POST", path, headers={"content-type": content_type}, body=data)


def answer_of(response: Response) -> Object:
    """Return the `response` of a review with status 200."""
    assert response.status == 200, response.body
    assert response.content_type == "application/json"
    review = json.loads(response.body)
    result: Object = review["response"]
    return result


def patch_of(response: Object) -> list[Object]:
    """Return the operations of a patch, decoded as an API server does."""
    assert response["patchType"] == "JSONPatch"
    document: list[Object] = json.loads(b64decode(response["patch"], validate=True))
    return document


def certificate(folder: Path, authority: CertificateAuthority | None = None) -> CertificateAuthority:
    """Write a local serving certificate and return the authority that signed it."""
    signer = authority if authority is not None else CertificateAuthority.create("test-ca")
    folder.mkdir(exist_ok=True)
    for name, content in zip(("tls.crt", "tls.key"), signer.server(["localhost", "127.0.0.1"]), strict=True):
        (folder / name).write_bytes(content)
    return signer


@contextmanager
def running(server: WebhookServer) -> Iterator[WebhookServer]:
    """Run the server; all of its threads have ended after the block."""
    with Group().ending_within(20) as group:
        group.start(server.start, group.stop_event, name="webhooks")
        if not server.ready.wait(10):
            group.raise_crash()
        yield server


def ask(
    server: WebhookServer, path: str, body: bytes | Object, authority: CertificateAuthority, **headers: str
) -> Response:
    """Send one request over TLS as a client that trusts the authority."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request("POST", path, data, {"Content-Type": "application/json", **headers})
        got = connection.getresponse()
        return Response(got.status, got.read(), got.headers["Content-Type"])
    finally:
        connection.close()


def stopped() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
