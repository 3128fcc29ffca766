"""Floor with urllib3's connection pool, which most Python clients use; the requests are prepared."""

import pickle
import threading
import time
from pathlib import Path

import urllib3

from benchmarks.endpoint import Endpoint, Prepared, Refused
from benchmarks.peers.child import report, run


def send(arguments: list[str]) -> None:
    """Send the prepared requests of each file by two threads that share a pool; report after each file."""
    endpoint = Endpoint.of(arguments[0])
    scheme = "https" if endpoint.https else "http"
    manager = urllib3.PoolManager(ssl_context=endpoint.tls, maxsize=2, retries=False)
    pool = manager.connection_from_url(f"{scheme}://{endpoint.address}")
    for file in arguments[1:]:
        # Prepared by the benchmark itself a moment ago.
        requests = pickle.loads(Path(file).read_bytes())
        began = time.perf_counter()
        threads = [
            threading.Thread(target=_send, args=(pool, requests[n::2], endpoint.headers))  # noqa: TID251  # joined here
            for n in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        report({"seconds": time.perf_counter() - began})


def _send(pool: urllib3.HTTPConnectionPool, requests: list[Prepared], headers: dict[str, str]) -> None:
    for method, path, body, kind in requests:
        response = pool.urlopen(method, path, body, {**headers, "Content-Type": kind})
        if response.status >= 400:
            raise Refused(response.status, f"{method} {path}", b"")


PARTS = {f.__name__: f for f in (send,)}

if __name__ == "__main__":
    run(PARTS)
