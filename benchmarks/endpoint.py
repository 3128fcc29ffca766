"""Minimal HTTP client for the benchmark driver and the floor.

It uses nothing of `clientgo`, so that the floor is independent of it.
"""

import base64
import http.client
import json
import ssl
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"

Prepared = tuple[str, str, bytes, str]
"""Method, path, body, content type."""


class Refused(Exception):
    """Error response of the server."""

    def __init__(self, status: int, request: str, body: bytes) -> None:
        super().__init__(f"{request}: {status} {body[:300].decode(errors='replace')}")


@dataclass(frozen=True)
class Endpoint:
    """Address of a server, and credentials for it."""

    address: str
    https: bool
    headers: dict[str, str]
    tls: ssl.SSLContext | None

    @classmethod
    def of(cls, kubeconfig: str | Path) -> "Endpoint":
        """Read the current context of a kubeconfig; tokens and client certificates only."""
        document = yaml.safe_load(Path(kubeconfig).read_text(encoding="utf-8"))
        by_name = {
            part: {entry["name"]: entry for entry in document[part]} for part in ("clusters", "users", "contexts")
        }
        context = by_name["contexts"][document["current-context"]]["context"]
        cluster = by_name["clusters"][context["cluster"]]["cluster"]
        user = by_name["users"].get(context.get("user"), {}).get("user") or {}
        url = urlsplit(cluster["server"])
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        tls = _tls(cluster, user) if url.scheme == "https" else None
        return cls(url.netloc, url.scheme == "https", headers, tls)

    def connect(self) -> http.client.HTTPConnection:
        """Open a keep-alive connection."""
        if self.https:
            return http.client.HTTPSConnection(self.address, context=self.tls, timeout=120)
        return http.client.HTTPConnection(self.address, timeout=120)


class Api:
    """One connection to the server, for one thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._headers = endpoint.headers
        self._connection = endpoint.connect()

    def raw(self, method: str, path: str, body: bytes = b"", kind: str = JSON) -> bytes:
        """Send a request and return the bytes of its response.

        Raises:
            Refused: the response is an error.
        """
        headers = {**self._headers, "Content-Type": kind} if body else self._headers
        self._connection.request(method, path, body or None, headers)
        response = self._connection.getresponse()
        data = response.read()
        if response.status >= 400:
            raise Refused(response.status, f"{method} {path}", data)
        return data

    def json(self, method: str, path: str, body: bytes = b"", kind: str = JSON) -> Any:
        """Send a request and return its decoded response."""
        return json.loads(self.raw(method, path, body, kind))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def send_all(endpoint: Endpoint, requests: Sequence[Prepared], *, connections: int = 2) -> None:
    """Send requests over several connections, each in its own thread, and wait for all responses.

    Raises:
        Refused: a response is an error.
    """
    errors: list[Exception] = []

    def send(part: Iterable[Prepared]) -> None:
        api = Api(endpoint)
        try:
            for method, path, body, kind in part:
                api.raw(method, path, body, kind)
        except (Refused, OSError, http.client.HTTPException) as error:
            errors.append(error)
        finally:
            api.close()

    # Daemons: should the benchmark be interrupted, nothing is worth waiting for.
    threads = [
        threading.Thread(target=send, args=(requests[n::connections],), daemon=True)  # noqa: TID251  # owned right here
        for n in range(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _tls(cluster: dict[str, Any], user: dict[str, Any]) -> ssl.SSLContext:
    authority = _given(cluster, "certificate-authority")
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _given(user, "client-certificate"), _given(user, "client-key")
    if certificate and key:
        # Python loads client certificates from files only.
        with tempfile.NamedTemporaryFile() as file:
            file.write(certificate + b"\n" + key)
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _given(location: dict[str, Any], name: str) -> bytes:
    if f"{name}-data" in location:
        return base64.b64decode(location[f"{name}-data"])
    return Path(location[name]).read_bytes() if name in location else b""
