"""Pages for debugging a server: `/statusz`, its version and uptime, and `/flagz`, its options.

They are text. A client that accepts the kind `Statusz` or `Flagz` of config.k8s.io gets it as JSON or YAML.
"""

from datetime import datetime
from typing import Any

from clientgo.program.commandline import flag_values
from clientgo_apiserver.api.status import PageNotFound, not_acceptable
from clientgo_apiserver.gotypes.metadata import rfc3339
from clientgo_apiserver.http.messages import ANY, PLAIN_TEXT, HTTPRequest, HTTPResponse, as_requested, json_response
from clientgo_apiserver.http.rendering import indent
from clientgo_apiserver.state import State

_PATHS = ("/healthz", "/livez", "/metrics", "/readyz", "/version")
_OFFERED = ("application/json", "application/yaml", "text/plain")
_TEXTS = ("", *ANY, "text/*", "text/plain")
_NEWEST, _VERSIONS = "v1beta1", ("v1alpha1", "v1beta1")
_NOTE = "Warning: This page is for debugging only. Its form may change, so programs should not read it."


def z_pages(state: State) -> list[str]:
    """Return the paths of the pages that the server has."""
    return [f"/{name}" for name in ("flagz", "statusz") if state.release.enabled(f"Component{name.capitalize()}")]


def z_page(state: State, request: HTTPRequest, segments: list[str]) -> HTTPResponse:
    """Answer `/statusz` or `/flagz` in the first form that the client accepts (406)."""
    name = segments[0]
    if len(segments) > 1 or f"/{name}" not in z_pages(state):
        raise PageNotFound
    kind, content = name.capitalize(), _flags(state) if name == "flagz" else _status(state)
    for entry in request.headers.get("accept", "").split(","):
        media, *raw = (part.strip() for part in entry.split(";"))
        params = dict(param.partition("=")[::2] for param in raw)
        if media in _TEXTS:
            return _text(name, content)
        version = params.get("v", "")
        is_offered = (params.get("as"), params.get("g")) == (kind, "config.k8s.io") and version in _VERSIONS
        if media in _OFFERED and is_offered:
            if version != _NEWEST:
                request.warnings.append(
                    f"This version of the {name} endpoint is deprecated. Please use a newer version."
                )
            return _document(kind, version, content, media)
    raise not_acceptable(_OFFERED)


def _text(name: str, content: dict[str, Any]) -> HTTPResponse:
    lines = content["flags"] if name == "flagz" else _status_lines(content)
    body = "\n".join(f"{key}: {value}" for key, value in lines.items())
    return HTTPResponse(200, f"\napiserver {name}\n{_NOTE}\n\n{body}\n".encode(), PLAIN_TEXT)


def _status_lines(status: dict[str, Any]) -> dict[str, str]:
    minutes, seconds = divmod(status["uptimeSeconds"], 60)
    return {
        "Started": f"{datetime.fromisoformat(status['startTime']):%a %b %e %H:%M:%S UTC %Y}",
        "Up": f"{minutes // 60} hr {minutes % 60:02} min {seconds:02} sec",
        "Go version": status["goVersion"],
        "Binary version": status["binaryVersion"],
        "Emulation version": status["emulationVersion"],
        "Paths": " ".join(status["paths"]),
    }


def _document(kind: str, version: str, content: dict[str, Any], media: str) -> HTTPResponse:
    head = {"kind": kind, "apiVersion": f"config.k8s.io/{version}", "metadata": {"name": "apiserver"}}
    response = json_response({**head, **content})
    indent(response)
    as_requested(response, media)
    response.content_type = f"{media};g=config.k8s.io;v={version};as={kind}"
    return response


def _status(state: State) -> dict[str, Any]:
    return {
        "startTime": rfc3339(int(state.started)),
        "uptimeSeconds": int(state.clock.time() - state.started),
        "goVersion": "",
        "binaryVersion": f"{state.release.version}.0+bundled",
        "emulationVersion": state.release.version,
        "paths": sorted((*_PATHS, *z_pages(state))),
    }


def _flags(state: State) -> dict[str, Any]:
    """Return the options that are flags; none of them is a secret."""
    options = state.options
    values = {"anonymous": options.anonymous, "authorization": options.authorization, **flag_values(options)}
    return {"flags": {name: _flag_text(value) for name, value in sorted(values.items())}}


def _flag_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
