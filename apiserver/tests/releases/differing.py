"""Requests whose answers differ between versions, read from `differing.txt`, and their play against any server.

A line has a request and its answers at 1.35, 1.36 and 1.37, divided by ` | `. Lines that begin with `#` say where the
answers below come from. `field` sends an object with one field; the answer tells whether the server does not know it
(`unknown`, with a warning), stores it (`kept`) or leaves it out (`dropped`). `create` and `change` send assignments to
a valid object, `get` reads a path, or a member of its answer. Their answer is the code, and a text in the message or
the warnings; without one there must be none. `stored` shows a member of what is created, `schema` a field of a schema,
`role` a permission, `columns` a table's, and `gate` what the metrics say.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from apiserver.tests.certificates import AUTHORITY, SIGNING_REQUEST
from clientgo.meta.yamlio import read_yaml

Object = dict[str, Any]
FILE = Path(__file__).parent / "differing.txt"
VERSIONS = ("1.35", "1.36", "1.37")
MERGE = "application/merge-patch+json"
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_ASSIGNMENT = re.compile(r"(\S+?)=(.*)", re.DOTALL)
_STORED = 299


class Reply(NamedTuple):
    """Answer to one request: code, decoded body (text if it is none of JSON), texts of warnings."""

    code: int
    body: Any
    warnings: str


class Difference(NamedTuple):
    """A request of the table, as `verb` and `words`, and the answers by version."""

    verb: str
    words: tuple[str, ...]
    answers: Mapping[str, str]

    @property
    def name(self) -> str:
        """The request, as in the table."""
        return " ".join((self.verb, *self.words))


Send = Callable[..., Reply]
"""Function of a method, a path, a body and a media type."""


def differences() -> Iterator[Difference]:
    """Yield the requests of the table."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            request, *answers = (part.strip() for part in line.split(" | "))
            verb, *words = request.split()
            yield Difference(verb, tuple(words), dict(zip(VERSIONS, answers, strict=True)))


def answer(send: Send, row: Difference) -> str:
    """Return the answer of a server, in the words of the table; for `create` and `change` the code and all texts."""
    return _VERBS[row.verb](send, *row.words)


def agrees(expected: str, got: str) -> bool:
    """Return whether an answer has the code and the text that are expected."""
    code, _, text = expected.partition(" ")
    if not code.isdecimal():
        return expected == got
    return got.partition(" ")[0] == code and (text in got if text else int(code) > _STORED or got == code)


def _field(send: Send, kind: str, *assignments: str) -> str:
    path = _ASSIGNMENT.fullmatch(assignments[0])[1]  # type: ignore[index]
    if path.startswith("status."):
        of_status = [word for word in assignments if word.startswith("status.")]
        _create(send, kind, *(word for word in assignments if word not in of_status))
        reply = _patch(send, kind, "/status", of_status)
    else:
        reply = _post(send, kind, assignments)
    if reply.code > _STORED:
        return f"{reply.code} {reply.body['message']}"
    if _member(reply.body, path) is not None:
        return "kept"
    return "unknown" if f'unknown field "{path}' in reply.warnings else "dropped"


def _create(send: Send, kind: str, *assignments: str) -> str:
    return _text(_post(send, kind, assignments))


def _change(send: Send, kind: str, *assignments: str) -> str:
    before = [word.removeprefix("before:") for word in assignments if word.startswith("before:")]
    reply = _post(send, kind, before)
    assert reply.code <= _STORED, reply
    return _text(_patch(send, kind, "", [word for word in assignments if not word.startswith("before:")]))


def _post(send: Send, kind: str, assignments: Sequence[str]) -> Reply:
    base = _bases()[kind]
    return send("POST", base["path"], _assigned(base["object"], assignments))


def _patch(send: Send, kind: str, suffix: str, assignments: Sequence[str]) -> Reply:
    base = _bases()[kind]
    path = f"{base['path']}/{base['object']['metadata']['name']}{suffix}"
    sent = _assigned({} if suffix else base["object"], assignments)
    return send("PATCH", path, sent, MERGE)


def _assigned(base: Object, assignments: Sequence[str]) -> Object:
    """Return an object with JSON values at paths such as `spec.ports[0].name="a"`; null removes."""
    obj = deepcopy(base)
    for assignment in assignments:
        path, value = _ASSIGNMENT.fullmatch(assignment).groups()  # type: ignore[union-attr]
        steps: list[Any] = [name or int(index) for name, index in _STEP.findall(path)]
        container: Any = obj
        for step, following in pairwise(steps):
            container = _entered(container, step, [] if isinstance(following, int) else {})
        _entered(container, steps[-1], None)
        container[steps[-1]] = json.loads(value)
    return obj


def _entered(container: Any, step: Any, empty: Any) -> Any:
    if isinstance(container, list):
        container.extend([empty] if step == len(container) else [])
        return container[step]
    return container.setdefault(step, empty)


def _member(value: Any, path: str) -> Any:
    for name, index in _STEP.findall(path):
        try:
            value = value[name or int(index)]
        except (KeyError, IndexError, TypeError):
            return None
    return value


@cache
def _bases() -> Mapping[str, Object]:
    """Return path and valid object by kind."""
    text = (Path(__file__).parent / "bases.yaml").read_text(encoding="utf-8")
    bases: Mapping[str, Object] = read_yaml(text)[0]
    bases["ClusterTrustBundle"]["object"]["spec"]["trustBundle"] = AUTHORITY
    bases["PodCertificateRequest"]["object"]["spec"]["stubPKCS10Request"] = SIGNING_REQUEST
    return bases


def _stored(send: Send, kind: str, path: str, *assignments: str) -> str:
    return json.dumps(_member(_post(send, kind, assignments).body, path), separators=(",", ":"))


def _text(reply: Reply) -> str:
    message = reply.body if isinstance(reply.body, str) else reply.body.get("message", "")
    message = message if reply.code > _STORED else ""
    return f"{reply.code} {message} {reply.warnings}".strip()


def _get(send: Send, path: str, *member: str) -> str:
    reply = send("GET", path)
    if not member or reply.code > _STORED:
        return str(reply.code)
    return json.dumps(_member(reply.body, member[0]), separators=(",", ":"))


def _schema(send: Send, path: str) -> str:
    name, _, field = path.rpartition(".")
    group, version = name.split(".")[3:5]
    is_core = group == "core" or name.rpartition(".")[2].startswith("TokenRequest")
    document = f"api/{version}" if is_core else f"apis/{_GROUPS.get(group, group)}/{version}"
    reply = send("GET", f"/openapi/v3/{document}")
    schema = reply.body["components"]["schemas"].get(name) if reply.code <= _STORED else None
    if schema is None or field not in schema["properties"]:
        return "absent"
    return "required" if field in schema.get("required", ()) else "optional"


def _columns(send: Send, path: str) -> str:
    reply = send("GET", path, None, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    return ",".join(column["name"] for column in reply.body["columnDefinitions"])


def _role(send: Send, name: str, verb: str, group: str, plural: str) -> str:
    reply = send("GET", f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}")
    if reply.code > _STORED:
        return "absent"
    named = (rule for rule in reply.body["rules"] if group in rule.get("apiGroups", ("-",)))
    return "yes" if any(verb in rule["verbs"] and plural in rule["resources"] for rule in named) else "no"


def _gate(send: Send, name: str) -> str:
    metrics = send("GET", "/metrics").body
    match = re.search(rf'^kubernetes_feature_enabled{{name="{name}",stage="(\w*)"}} (\d)', metrics, re.MULTILINE)
    return f"{match[1] or 'GA'}-{'on' if match[2] == '1' else 'off'}" if match else "absent"


_VERBS: Mapping[str, Callable[..., str]] = {
    "field": _field,
    "create": _create,
    "change": _change,
    "stored": _stored,
    "get": _get,
    "schema": _schema,
    "columns": _columns,
    "role": _role,
    "gate": _gate,
}
_GROUPS = {
    "admissionregistration": "admissionregistration.k8s.io",
    "authentication": "authentication.k8s.io",
    "authorization": "authorization.k8s.io",
    "certificates": "certificates.k8s.io",
    "discovery": "discovery.k8s.io",
    "flowcontrol": "flowcontrol.apiserver.k8s.io",
    "networking": "networking.k8s.io",
    "rbac": "rbac.authorization.k8s.io",
    "resource": "resource.k8s.io",
    "scheduling": "scheduling.k8s.io",
    "storage": "storage.k8s.io",
    "storagemigration": "storagemigration.k8s.io",
}
