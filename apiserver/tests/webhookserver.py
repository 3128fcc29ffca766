"""Webhook server for tests: HTTPS on a loopback port, with responses set by the test, recording its requests."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from clientgo.pki import CertificateAuthority, Pair
from clientgo.stop.lifecycle import Group
from clientgo.tls import server_context

Object = dict[str, Any]


class WebhookServer:
    """Answers `/path` with `answers[path](review)`, as JSON or bytes; `asked` records each path with its request."""

    def __init__(self, url: str, ca: bytes) -> None:
        self.url = url
        self.ca = base64.b64encode(ca).decode()
        self.answers: dict[str, Callable[[Object], Object | bytes]] = {}
        self.asked: list[tuple[str, Object]] = []

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def client_config(self, path: str) -> Object:
        return {"url": f"{self.url}{path}", "caBundle": self.ca}


def allow(review: Object, **more: Any) -> Object:
    """Return an AdmissionReview that allows the request."""
    response = {"uid": review["request"]["uid"], "allowed": True, **more}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


def patch(review: Object, *operations: Object) -> Object:
    """Return an AdmissionReview that patches the object."""
    text = base64.b64encode(json.dumps(operations).encode()).decode()
    return allow(review, patchType="JSONPatch", patch=text)


def deny(review: Object, **status: Any) -> Object:
    """Return an AdmissionReview that denies the request."""
    return allow(review, allowed=False, **({"status": status} if status else {}))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that do not trust the certificate and disconnect."""


@contextmanager
def serving(port: int = 0, pair: Pair | None = None) -> Iterator[WebhookServer]:
    """Serve until the block ends, with this certificate and key, or one of a new CA."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            path = self.path.partition("?")[0]
            hook.asked.append((path, body["request"]))
            stored = hook.answers.get(path)
            arguments = stored(body) if stored is not None else b"no such webhook"
            data = arguments if isinstance(arguments, bytes) else json.dumps(arguments).encode()
            self.send_response(200 if stored is not None else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    authority = CertificateAuthority.create("webhook-ca")
    with _Server(("127.0.0.1", port), Handler) as server:
        context = server_context(b"".join(pair or authority.server(["127.0.0.1", "localhost"])))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        hook = WebhookServer(f"https://127.0.0.1:{server.server_port}", authority.certificate)
        group = Group()
        group.start(lambda: server.serve_forever(0.01), name="webhook")
        try:
            yield hook
        finally:
            server.shutdown()
            group.join()
