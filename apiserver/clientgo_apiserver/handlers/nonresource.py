"""Paths that are not resources: discovery, OpenAPI, keys of tokens, health, version and metrics."""

import hashlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Any

from clientgo_apiserver.api.datafiles import read_sections
from clientgo_apiserver.api.status import PageNotFound, method_not_allowed
from clientgo_apiserver.auth.serviceaccounts import ISSUER
from clientgo_apiserver.handlers.zpages import z_page, z_pages
from clientgo_apiserver.http.messages import (
    JSON,
    PLAIN_TEXT,
    PRODUCED,
    HTTPRequest,
    HTTPResponse,
    check_accept,
    check_plain,
    json_response,
    text_response,
)
from clientgo_apiserver.http.rendering import indent
from clientgo_apiserver.registry import discovery, openapi
from clientgo_apiserver.releases.rows import served_rows
from clientgo_apiserver.state import State

Deferred = Callable[[], HTTPResponse]

_HEALTH = ("healthz", "livez", "readyz")

_CHECKS = read_sections(Path(__file__).with_name("health.txt"))
_PAGES = (
    *("/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/metrics", "/metrics/slis"),
    *("/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"),
)
_OPENID_CACHING = ("Cache-Control", "public, max-age=3600")
_V2_PROTOBUF, _V3_PROTOBUF = "proto-openapi.spec.v2", "proto-openapi.spec.v3"
_JWKS = "application/jwk-set+json"
_AGGREGATED = {"application/json", "g=apidiscovery.k8s.io", "v=v2", "as=apigroupdiscoverylist"}


def answer(state: State, request: HTTPRequest) -> HTTPResponse | Deferred:
    """Answer a GET of such a path; a `Deferred` is slow and should run off the loop.

    Raises:
        PageNotFound: the path does not exist.
    """
    segments = request.path.strip("/").split("/")
    handler = _HANDLERS.get(segments[0])
    if handler is None:
        raise PageNotFound
    return handler(state, request, segments)


def _root(state: State, _: HTTPRequest, segments: list[str]) -> HTTPResponse:
    groups = {group: versions for group, versions in state.registry.groups().items() if group}
    paths = {*_PAGES, *z_pages(state), *(f"/apis/{group}" for group in groups)}
    paths |= {f"/apis/{group}/{version}" for group, versions in groups.items() for version in versions}
    paths |= {f"/{name}{check and '/'}{check}" for name in _HEALTH for check in ("", *_checks(name))}
    return _indented({"paths": sorted(paths)})


def _indented(value: dict[str, Any]) -> HTTPResponse:
    response = json_response(value)
    indent(response)
    return response


def _api(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse:
    """Answer `/api`, `/apis` and what is below them."""
    legacy, registry = segments[0] == "api", state.registry
    if len(segments) == 1:
        if legacy:
            _check_route(request, PRODUCED)
        version = _aggregated_version(request)
        if version:
            kind = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            body = json_response(discovery.aggregated(registry, legacy=legacy, version=version)).body
            return _tagged(request, HTTPResponse(200, body, kind), hashlib.sha512(body).hexdigest().upper(), "public")
        check_plain(request.headers.get("accept", ""))
        address = request.headers.get("host", "127.0.0.1")
        return json_response(discovery.legacy_root(registry, address) if legacy else discovery.group_list(registry))
    document = None
    if legacy and len(segments) == 2:
        document = discovery.resource_list(registry, "", segments[1])
    elif not legacy and len(segments) <= 3:
        document = (
            discovery.resource_list(registry, *segments[1:]) if segments[2:] else discovery.group(registry, segments[1])
        )
    if document is None:
        raise PageNotFound
    accept = request.headers.get("accept", "")
    if legacy or (len(segments) > 2 and registry.is_built_in(segments[1])):
        _check_route(request, PRODUCED)
    check_plain(accept)
    return json_response(document)


def _check_route(request: HTTPRequest, produced: tuple[str, ...]) -> None:
    """Check method and accepted types of a path of a real server's router; others take any method (405, 406)."""
    if request.method != "GET":
        raise method_not_allowed()
    check_accept(request.headers.get("accept", ""), produced)


def _tagged(request: HTTPRequest, response: HTTPResponse, tag: str, caching: str = "") -> HTTPResponse:
    """Return the response with an ETag, or 304 if the client has it."""
    headers = [("Etag", f'"{tag}"'), ("Vary", "Accept"), *([("Cache-Control", caching)] if caching else [])]
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return HTTPResponse(304, b"", response.content_type, headers)
    response.headers.extend(headers)
    return response


def _aggregated_version(request: HTTPRequest) -> str:
    """Return the version of aggregated discovery that the client accepts, or ""."""
    for entry in request.headers.get("accept", "").split(","):
        if {part.strip() for part in entry.lower().split(";")} >= _AGGREGATED:
            return "v2"
        if entry.partition(";")[0].strip() in ("application/json", "*/*") and "as=" not in entry.lower():
            return ""
    return ""


def _openapi(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse | Deferred:
    documents = openapi.of(state.registry)
    accept = request.headers.get("accept", "")
    if segments == ["openapi", "v2"]:
        if not _accepts_document(accept, _V2_PROTOBUF):
            return HTTPResponse(406, content_type="")
        documents.index()
        if _V2_PROTOBUF in accept:
            return lambda: HTTPResponse(200, documents.v2_document(protobuf=True), openapi.V2_TYPE)
        return lambda: HTTPResponse(200, documents.v2_document(protobuf=False))
    dated = [("Accept-Ranges", "bytes"), ("Last-Modified", formatdate(state.clock.time(), usegmt=True))]
    if segments == ["openapi", "v3"] and not request.path.endswith("/"):
        index = json_response(documents.index()).body
        return HTTPResponse(200, index, PLAIN_TEXT, dated)
    if segments[:2] != ["openapi", "v3"]:
        raise PageNotFound
    return _openapi_of_group(documents, request, segments, dated)


def _openapi_of_group(
    documents: openapi.OpenAPI, request: HTTPRequest, segments: list[str], dated: list[tuple[str, str]]
) -> HTTPResponse | Deferred:
    """Answer a request for the document of OpenAPI v3 of a group's version."""
    path = "/".join(segments[2:])
    digest, requested = documents.hash_of(path), request.query.get("hash", "")
    if not digest:
        return HTTPResponse(404, content_type="")
    if not _accepts_document(request.headers.get("accept", ""), _V3_PROTOBUF):
        return HTTPResponse(406, content_type="")
    if requested not in ("", digest):
        location = ("Location", f"/{'/'.join(segments)}?hash={digest}")
        return HTTPResponse(301, headers=[location, ("Etag", f'"{digest}"'), ("Vary", "Accept")])

    def document() -> HTTPResponse:
        content = documents.document(path)
        if content is None:  # the group has been removed since the request was routed
            return HTTPResponse(404, content_type="")
        return _tagged(
            request, HTTPResponse(200, content, headers=dated), digest, "public, immutable" if requested else ""
        )

    return document


def _accepts_document(accept: str, protobuf: str) -> bool:
    """Return whether a client accepts a document of OpenAPI as JSON, or as this protobuf."""
    medias = {entry.partition(";")[0].strip() for entry in accept.split(",")}
    return not accept or protobuf in accept or not medias.isdisjoint((JSON, "application/*", "*/*"))


def _openid(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse | Deferred:
    """Answer where the keys are that verify tokens of service accounts, and the keys (OpenID Connect Discovery)."""
    if segments not in ([".well-known", "openid-configuration"], ["openid", "v1", "jwks"]):
        raise PageNotFound
    _check_route(request, (_JWKS if segments[0] == "openid" else JSON,))
    return partial(_openid_document, state, request, keys=segments[0] == "openid")


def _openid_document(state: State, request: HTTPRequest, *, keys: bool) -> HTTPResponse:
    # Imported at its first use: `cryptography` takes a tenth of a server's start.
    from clientgo_apiserver.auth import signing  # noqa: PLC0415

    if keys:
        document = json_response(signing.key_set(state.options.token_key)).body
        return HTTPResponse(200, document, _JWKS, [_OPENID_CACHING])
    scheme = "https" if state.options.root_ca else "http"
    provider = {
        "issuer": ISSUER,
        "jwks_uri": f"{scheme}://{request.headers.get('host', '127.0.0.1')}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [signing.ALGORITHM],
    }
    return HTTPResponse(200, json_response(provider).body, headers=[_OPENID_CACHING])


def _checks(name: str) -> list[str]:
    """Return the checks of a health endpoint, in order."""
    checks = [*served_rows(_CHECKS["start"] + _CHECKS[name] + _CHECKS["hooks"])]
    return [*checks, "shutdown"] if name == "readyz" else checks


def _health(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse:
    name, checks = segments[0], _checks(segments[0])
    if len(segments) > 1:
        if "/".join(segments[1:]) not in checks:
            raise PageNotFound
        return HTTPResponse(200, b"ok", PLAIN_TEXT)
    excluded = [value for key, value in request.query.pairs if key == "exclude"]
    failed = {"shutdown"} - {*excluded} if not state.ready else set()
    lines = [
        f"[+]{check} excluded: ok\n"
        if check in excluded
        else f"[-]{check} failed: reason withheld\n"
        if check in failed
        else f"[+]{check} ok\n"
        for check in checks
    ]
    unknown = ",".join(f'"{check}"' for check in excluded if check not in checks)
    if unknown:
        lines.append(f"warn: some health checks cannot be excluded: no matches for {unknown}\n")
    if failed & {*checks}:
        return text_response(f"{''.join(lines)}{name} check failed\n", 500)
    return text_response(f"{''.join(lines)}{name} check passed\n" if "verbose" in request.query else "ok")


def _version(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse:
    if len(segments) > 1:
        raise PageNotFound
    _check_route(request, (JSON,))
    release = state.release
    names = {"major": "1", "minor": str(release.minor)}
    compatible = {"Major": "1", "Minor": str(release.minor - 1)}
    return _indented(
        {
            **names,
            **{f"emulation{name.capitalize()}": value for name, value in names.items()},
            **{f"minCompatibility{name}": value for name, value in compatible.items()},
            "gitVersion": f"v{release.version}.0+bundled",
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z",
            "goVersion": "",
            "compiler": "cpython",
            "platform": "any/any",
        }
    )


def _metrics(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse:
    if len(segments) > 1 or request.path.endswith("/"):
        raise PageNotFound
    lines = [
        "# HELP apiserver_request_total Counter of apiserver requests broken out for each verb, group, version,"
        " resource, scope, component and HTTP response code.",
        "# TYPE apiserver_request_total counter",
    ]
    for call, count in sorted(state.calls.items(), key=lambda pair: str(pair[0])):
        labels = (
            f'code="{call.code}",component="apiserver",dry_run="",group="{call.group}",resource="{call.resource}",'
            f'scope="{call.scope}",subresource="{call.subresource}",verb="{call.verb}",version="{call.version}"'
        )
        lines.append(f"apiserver_request_total{{{labels}}} {count}")
    lines += ["# TYPE apiserver_storage_objects gauge"]
    for key in sorted(state.store.stored_keys()):
        name = f"{key[1]}.{key[0]}" if key[0] else key[1]
        lines.append(f'apiserver_storage_objects{{resource="{name}"}} {state.store.count(key)}')
    lines += _gate_metrics(state)
    return HTTPResponse(200, ("\n".join(lines) + "\n").encode(), "text/plain; version=0.0.4; charset=utf-8")


def _gate_metrics(state: State) -> Iterator[str]:
    yield (
        "# HELP kubernetes_feature_enabled [BETA] This metric records the data about the stage and enablement of a k8s"
        " feature."
    )
    yield "# TYPE kubernetes_feature_enabled gauge"
    for name, gate in sorted(state.release.gates.items()):
        stage = "" if gate.stage == "GA" else gate.stage.upper()
        yield f'kubernetes_feature_enabled{{name="{name}",stage="{stage}"}} {int(gate.on)}'


_HANDLERS: dict[str, Callable[[State, HTTPRequest, list[str]], HTTPResponse | Deferred]] = {
    "": _root,
    "index.html": _root,
    "api": _api,
    "apis": _api,
    "openapi": _openapi,
    ".well-known": _openid,
    "openid": _openid,
    "healthz": _health,
    "livez": _health,
    "readyz": _health,
    "version": _version,
    "metrics": _metrics,
    "flagz": z_page,
    "statusz": z_page,
}
