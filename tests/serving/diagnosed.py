"""Diagnostics of a program, and requests to its servers."""

import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clientgo.metrics import provider, set_provider
from clientgo.program.commandline import ServingFlags
from clientgo.program.flags import Address
from clientgo.rest import Config
from clientgo.serving import Diagnostics, serve_diagnostics

LOOPBACK = Address("127.0.0.1", 0)
METRICS = ServingFlags(metrics_bind_address=LOOPBACK)
NOWHERE = Config(host="http://127.0.0.1:9")


@contextmanager
def serving(options: ServingFlags, stop: threading.Event | None = None) -> Iterator[Diagnostics]:
    """Serve diagnostics; the metrics provider is restored afterwards."""
    before = provider()
    try:
        diagnostics = Diagnostics(options, NOWHERE, component="foos", flags={"workers": 3})
        with serve_diagnostics(diagnostics, stop or threading.Event()):
            yield diagnostics
    finally:
        set_provider(before)


def get(url: str, path: str, **headers: str) -> tuple[int, str]:
    scheme, _, address = url.partition("://")
    connection: http.client.HTTPConnection
    if scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(address, context=context, timeout=10)
    else:
        connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = response.read().decode("latin-1" if response.getheader("Content-Encoding") else "utf-8")
    connection.close()
    return response.status, body
