"""Player of sequences: it sends each write to a server, and notes its status and what is stored then."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.differential.kinds import Kind
from tests.differential.sequences import APPLY, JSON, Write, edited

Send = Callable[[str, str, Any, str], tuple[int, Any]]
"""Send a request (method, target, body, content type); return the status code and the decoded body."""

_UNSTABLE = ("uid", "resourceVersion", "creationTimestamp")


class Outcome(NamedTuple):
    """Status code of a write, its message if it failed, and the object that is stored after it (None: none)."""

    code: int
    message: str
    stored: Any


def play(send: Send, kind: Kind, name: str, writes: list[Write]) -> Iterator[Outcome]:
    """Send the writes of one object in order."""
    first = f"{kind.path(kind.versions[0])}/{name}"
    last = None
    for write in writes:
        code, body = _send(send, kind, name, write)
        read_code, obj = send("GET", first, None, JSON)
        stored = normal(obj) if read_code == 200 else None
        version = obj["metadata"].get("resourceVersion") if read_code == 200 else None
        yield Outcome(
            code,
            "" if code < 300 else str(body.get("message", "")).replace(name, "NAME"),
            _with_note(stored, version != last),
        )
        last = version


def is_same(theirs: Outcome, ours: Outcome) -> bool:
    """Report whether the outcome is that of a real server: the status code and what is stored, `1.0` and `1` apart.

    Two differences are documented in apiserver/docs/differences.md. A real server stores empty metadata of a custom
    object that is applied, and the next write drops it, so that it writes again what it had. It validates the applied
    status of a missing Service as a new Service, without its addresses.
    """
    stored = ours.stored
    if (theirs.code, ours.code, theirs.stored, stored) == (422, 404, None, None):
        return True
    if stored is not None and theirs.stored is not None and theirs.stored["written"]:
        stored = {**stored, "written": True}
    return theirs.code == ours.code and _text(theirs.stored) == _text(stored)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _with_note(stored: Any, written: bool) -> Any:
    return stored if stored is None else {**stored, "written": written}


def _send(send: Send, kind: Kind, name: str, write: Write) -> tuple[int, Any]:
    version = write.get("version", kind.versions[0])
    collection = kind.path(version)
    target = f"{collection}/{name}" + (f"/{write['subresource']}" if "subresource" in write else "")
    query = f"?fieldManager={write['manager']}" + ("&force=true" if write.get("force") else "")
    identity = {"apiVersion": kind.api_version(version), "kind": kind.name}
    body = write["body"]
    match write["verb"]:
        case "create":
            return send("POST", collection + query, _named(body, identity, name), JSON)
        case "update":
            code, obj = send("GET", target if "subresource" in write else f"{collection}/{name}", None, JSON)
            if code != 200:
                return code, obj
            return send("PUT", target + query, edited(obj, body), JSON)
        case "application/apply-patch+yaml":
            return send("PATCH", target + query, _named(body, identity, name), APPLY)
        case patch:
            return send("PATCH", target + query, body, patch)


def _named(body: dict[str, Any], identity: dict[str, str], name: str) -> dict[str, Any]:
    return {**identity, **body, "metadata": {**(body.get("metadata") or {}), "name": name}}


def normal(obj: Any) -> Any:
    """Return the object without what no two servers share."""
    metadata = {field: value for field, value in obj["metadata"].items() if field not in _UNSTABLE and field != "name"}
    entries = metadata.get("managedFields")
    if entries:
        untimed = [{field: value for field, value in entry.items() if field != "time"} for entry in entries]
        metadata["managedFields"] = sorted(untimed, key=lambda entry: json.dumps(entry, sort_keys=True))
    return {**obj, "metadata": metadata}
