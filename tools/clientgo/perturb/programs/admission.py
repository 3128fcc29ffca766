"""Validating webhooks of the operator's project, in this process: only the user's writes pass them."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clientgo.manager.client import Client, DirectClient
from clientgo.meta.objects import GroupVersionKind
from clientgo.meta.scheme import api_of
from clientgo.perturb.programs.cluster import request
from clientgo.perturb.programs.gate import http_reply, target_of, whole_stream
from clientgo.perturb.state import Object
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.transport import Headers, HTTPReply, HTTPStream
from clientgo.webhook.admission import AdmissionRequest
from clientgo.webhook.handlers import AdmissionHandler, ValidatingHandler
from clientgo.webhook.hub import Hub
from clientgo_apiserver.inmemory import InMemoryServer

Register = Callable[[Any, Client], object]
"""Registers a project's webhooks with a webhook server, as `register` in the webhooks/server.py of scaffolded ones."""

_OPERATIONS: Mapping[str, str] = {"POST": "CREATE", "PUT": "UPDATE", "PATCH": "UPDATE", "DELETE": "DELETE"}


class Admission:
    """Validating webhooks before a server; a `WebhookRegistry` that leaves out all other ones."""

    def __init__(self, server: InMemoryServer, register: Register) -> None:
        self._server = server
        self._handlers: dict[GroupVersionKind, list[ValidatingHandler[Any]]] = {}
        register(self, DirectClient(RESTClient(Config("http://memory"), transport=_ServerTransport(server))))

    def __repr__(self) -> str:
        return f"<Admission of {', '.join(kind.kind for kind in self._handlers)}>"

    def register(self, path: str, handler: AdmissionHandler) -> None:
        """Ask a validator of the library about its kind."""
        if isinstance(handler, ValidatingHandler):
            self._handlers.setdefault(api_of(handler.kind).gvk, []).append(handler)

    def register_hub(self, hub: Hub[Any]) -> None:
        """Do nothing: objects are not converted."""

    def check(self, method: str, target: str, body: Any, content_type: str) -> None:
        """Raise AssertionError if a validator denies a request that the server accepts."""
        subject = target_of(target)
        if method not in _OPERATIONS or subject.subresource:
            return
        try:
            old = request(self._server, "GET", target.partition("?")[0]) if method != "POST" else None
            dry_run = f"{target}{'&' if '?' in target else '?'}dryRun=All"
            new = request(self._server, method, dry_run, body, content_type) if method != "DELETE" else None
        except AssertionError:
            return  # the server refuses it itself
        self._ask(method, target, old, new)

    def _ask(self, method: str, target: str, old: Object | None, new: Object | None) -> None:
        obj = new or old or {}
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = GroupVersionKind(group, version, obj["kind"])
        for handler in self._handlers.get(kind, ()):
            response = handler(AdmissionRequest(
                uid="perturb", kind=kind, resource=api_of(handler.kind).gvr, operation=_OPERATIONS[method],
                name=obj["metadata"]["name"], namespace=obj["metadata"].get("namespace", ""), raw_object=_raw(new),
                raw_old_object=_raw(old),
            ))  # fmt: skip
            if not response.allowed:
                denial = f"the validating webhook of {kind.kind} denied the request: {response.status.message}"
                raise AssertionError(f"{method} {target}: {response.status.code} {denial}")


def _raw(obj: Object | None) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(obj))


class _ServerTransport:
    """Transport of the client that validators read with; implements `clientgo.rest.transport.Transport`."""

    def __init__(self, server: InMemoryServer) -> None:
        self._server = server

    def request(self, method: str, target: str, headers: Headers, body: bytes | None, timeout: float) -> HTTPReply:
        return http_reply(self._server.request(method, target, dict(headers), body or b""))

    def stream(self, method: str, target: str, headers: Headers, timeout: float, *, idle_timeout: float) -> HTTPStream:
        return whole_stream(self.request(method, target, headers, None, timeout))

    def reset(self) -> None:
        """Do nothing: there are no connections."""

    def close(self) -> None:
        """Do nothing: there are no connections."""
