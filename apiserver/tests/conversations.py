"""Player of API conversations recorded from kube-apiserver (conversations.json), which compares the responses.

A case plays in a namespace of its own, ${NS}; ${RUN} is a short unique word. A step sends a request (`m`, `p`, `b` or
`raw`, `h`), repeats it `until` [path, value] holds, and may `save` parts of the answer as variables; or it opens a
`watch`, or it must `collect` the first `n` frames of one. UIDs, versions, times and continue tokens are compared as
kinds; managedFields are left out.
"""

import http.client
import json
import re
import socket
import ssl
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clientgo.clock import SYSTEM_CLOCK
from clientgo.rest import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import ConditionTimeout, eventually

RECORDED: Mapping[str, Any] = json.loads(Path(__file__).with_name("conversations.json").read_text(encoding="utf-8"))
_KINDS = {
    "uid": "<uid>",
    "resourceVersion": "<rv>",
    "continue": "<continue>",
    **dict.fromkeys(
        ("creationTimestamp", "deletionTimestamp", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime"),
        "<time>",
    ),
}
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server:
    """Address and credentials of requests."""

    def __init__(self, config: Config) -> None:
        self._url = urlsplit(config.host)
        self._tls = ssl.create_default_context(cadata=config.ca_data) if config.ca_data else None
        self._token = config.token

    def open(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], *, auth: bool) -> Any:
        """Send a request; return the connection and its unread response."""
        location, port = str(self._url.hostname), self._url.port
        tls = self._tls
        built = http.client.HTTPSConnection(location, port, timeout=20, context=tls) if tls else None
        connection = built or http.client.HTTPConnection(location, port, timeout=20)
        sent = {"Accept": "application/json"}
        sent |= {"Authorization": f"Bearer {self._token}"} if self._token and auth else {}
        sent |= {"Content-Type": "application/json"} if body is not None else {}
        connection.request(method, path, body, {**sent, **headers})
        return connection, connection.getresponse()

    def send(self, method: str, path: str, obj: object = None, **step: Any) -> tuple[int, http.client.HTTPMessage, Any]:
        """Send a request; return status, headers and the body, decoded if it is JSON."""
        raw = step.get("raw")
        body = raw.encode() if raw is not None else json.dumps(obj).encode() if obj is not None else None
        connection, response = self.open(method, path, body, step.get("h") or {}, auth=step.get("auth", True))
        data = response.read()
        connection.close()
        try:
            return response.status, response.headers, json.loads(data)
        except ValueError:
            return response.status, response.headers, data.decode(errors="replace")

    def set_up(self) -> None:
        """Create the definitions of the conversations, and wait until their kinds are served."""
        for crd in RECORDED["setup"]:
            self.send("POST", _DEFINITIONS, crd)
            spec = crd["spec"]
            path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            eventually(lambda path=path: self.send("GET", path)[0] == 200)  # type: ignore[misc]


class Frames:
    """A watch in its own thread, and its frames."""

    def __init__(self, server: Server, path: str, group: Group) -> None:
        self.frames: list[Any] = []
        self._connection, self._answer = server.open("GET", path, None, {}, auth=True)
        group.start(self._read, name="watch")

    def _read(self) -> None:
        if self._answer.status != 200:
            with closing(self._connection), closing(self._answer):
                self.frames.append({"http": self._answer.status, "body": json.loads(self._answer.read())})
            return
        ours = suppress(OSError, ValueError, http.client.HTTPException)
        with closing(self._connection), closing(self._answer), ours:
            while line := self._answer.readline():
                self.frames.append(json.loads(line))
        self.frames.append({"closed": True})

    def close(self) -> None:
        """End the watch."""
        with suppress(OSError, AttributeError):
            self._connection.sock.shutdown(socket.SHUT_RDWR)


class Player:
    """One case in its own namespace."""

    def __init__(self, server: Server, case: Mapping[str, Any]) -> None:
        run = uuid.uuid4().hex[:6]
        self._server, self._steps = server, case["steps"]
        self.namespace = f"c-{case['id'].lower()}-{run}"
        self._variables = {"NS": self.namespace, "RUN": run}
        self._names = [(self.namespace, "${NS}"), (run, "${RUN}")]
        self._watches: dict[str, Frames] = {}

    def play(self) -> Iterator[str]:
        """Play the case and yield each difference from the recording."""
        meta = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        self._server.send("POST", "/api/v1/namespaces", meta)
        with Group() as group:
            try:
                for number, step in enumerate(self._steps, 1):
                    response = self._step(self._filled(step), group)
                    location = f"step {number} {step.get('m', 'watch')} {step.get('p', '')}"
                    yield from (location + each for each in differences(step["expect"], response))
            finally:
                for watch in self._watches.values():
                    watch.close()
                self._clean_up()

    def _clean_up(self) -> None:
        self._server.send("DELETE", f"/api/v1/namespaces/{self.namespace}")
        for kind in ("samplecontroller.k8s.io/v1alpha1", "apps/v1"):
            plural = "deployments" if kind == "apps/v1" else "foos"
            self._server.send("DELETE", f"/apis/{kind}/namespaces/{self.namespace}/{plural}")

    def _step(self, step: Mapping[str, Any], group: Group) -> object:
        if "sleep" in step:
            SYSTEM_CLOCK.sleep(threading.Event(), step["sleep"])
            return {}
        if "watch" in step:
            self._watches[step["watch"]] = Frames(self._server, step["p"], group)
            return {}
        if "collect" in step:
            return {"frames": self._collected(step)}
        return self._answered(step)

    def _collected(self, step: Mapping[str, Any]) -> object:
        watch = self._watches[step["collect"]]
        with suppress(ConditionTimeout):
            eventually(lambda: len(watch.frames) >= step["n"], seconds=step.get("t", 3))
        SYSTEM_CLOCK.sleep(threading.Event(), step.get("settle", 0))
        return self._as_kinds(watch.frames[: step.get("max", 99)])

    def _answered(self, step: Mapping[str, Any]) -> object:
        until = step.get("until")

        def look() -> tuple[int, http.client.HTTPMessage, Any]:
            sent = {key: step[key] for key in ("h", "raw", "auth") if key in step}
            return self._server.send(step["m"], step["p"], step.get("b"), **sent)

        status, headers, body = look()
        if until and not _holds(until, status, body):
            with suppress(ConditionTimeout):
                expected = lambda seen: _holds(until, seen[0], seen[2])  # noqa: E731
                status, headers, body = eventually(look, expected, seconds=step.get("within", 5), every=0.1)
        for variable, path in (step.get("save") or {}).items():
            self._variables[variable] = str(part(body, path))
            if variable.startswith("name") and len(self._variables[variable]) > 6:
                self._names.append((self._variables[variable], f"<{variable}>"))
        response = {"status": status, "type": headers.get("Content-Type", "").split(";")[0]}
        if "Warning" in headers:
            response["warning"] = self._as_kinds(headers["Warning"])
        if step.get("only") is not None:
            return {**response, "body": {q: self._as_kinds(part(body, q), q.split(".")[-1]) for q in step["only"]}}
        return {**response, "body": self._as_kinds(body)} if step.get("body", True) else response

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return re.sub(r"\$\{(\w+)\}", lambda match: self._variables.get(match[1], match[0]), value)
        if isinstance(value, dict):
            return {key: each if key == "expect" else self._filled(each) for key, each in value.items()}
        return [self._filled(each) for each in value] if isinstance(value, list) else value

    def _as_kinds(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            left_out = ("managedFields", "selfLink")
            return {name: self._as_kinds(each, name) for name, each in value.items() if name not in left_out}
        if isinstance(value, list):
            items = [self._as_kinds(each) for each in value]
            return sorted(items, key=lambda cause: json.dumps(cause, sort_keys=True)) if key == "causes" else items
        if key in _KINDS and value not in ("", None, "0"):
            return _KINDS[key]
        if isinstance(value, str):
            for name, rendered in self._names:
                value = value.replace(name, rendered)
            return _TIME.sub("<time>", _UID.sub("<uid>", value))
        return value


def _holds(until: Sequence[Any], status: int, body: Any) -> bool:
    return str(part(body, str(until[0]))) == str(until[-1]) or status == until[0]


def part(body: Any, path: str) -> Any:
    """Return the value at a path such as `items.0.metadata.name`; "" if it is absent."""
    for name in path.split("."):
        if isinstance(body, list):
            body = body[int(name)] if int(name) < len(body) else None
        else:
            body = body.get(name) if isinstance(body, dict) else None
        if body is None:
            return ""
    return body


def differences(recorded: Any, response: Any, path: str = "") -> Iterator[str]:
    """Yield the differences between the response and the recorded one."""
    if isinstance(recorded, dict) and isinstance(response, dict):
        for key in recorded.keys() - response.keys():
            yield f"{path}.{key}: missing (recorded: {json.dumps(recorded[key])[:120]})"
        for key in response.keys() - recorded.keys():
            yield f"{path}.{key}: not recorded: {json.dumps(response[key])[:80]}"
        for key in recorded.keys() & response.keys():
            yield from differences(recorded[key], response[key], f"{path}.{key}")
    elif isinstance(recorded, list) and isinstance(response, list) and len(recorded) == len(response):
        for number, (item, other) in enumerate(zip(recorded, response, strict=True)):
            yield from differences(item, other, f"{path}[{number}]")
    elif recorded != response:
        yield f"{path}: {json.dumps(response)[:160]} (recorded: {json.dumps(recorded)[:160]})"
