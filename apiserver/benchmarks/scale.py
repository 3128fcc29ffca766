"""Growth of the server's cost with 1,000 to 1,000,000 objects, over HTTP.

`python -m apiserver.benchmarks.scale` prints the server's processor time and memory for each object: creation, tables
in pages, one list, a streamed list, deletion of the namespace, and garbage collection of dependents. It draws them into
`apiserver/docs/scale.png`. The largest number takes half an hour and 8 GB; `--most 100000` ends before it.
"""

import argparse
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from apiserver.benchmarks.server import Server, answer, load, receive, resident, server
from benchmarks.processes import cpu_seconds
from clientgo.clock import SYSTEM_CLOCK

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "scale.png"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PANELS = {
    "write": ("creation", "namespace's deletion", "garbage collection"),
    "read": ("tables in pages of 500", "one list", "streamed list"),
    "memory": ("memory",),
}
UNITS = {"write": "us of processor time, each", "read": "us of processor time, each", "memory": "bytes, each"}
_HOURS = 7200.0


def maps(namespace: str) -> str:
    """Return the path of a namespace's ConfigMaps."""
    return f"/api/v1/namespaces/{namespace}/configmaps"


def body(name: str, **metadata: Any) -> bytes:
    """Return a small ConfigMap, or a namespace's name."""
    return json.dumps({"metadata": {"name": name, **metadata}}).encode()


def create(target: Server, namespace: str, size: int, **metadata: Any) -> None:
    """Create ConfigMaps over all connections."""
    load(target, lambda n: target.request("POST", maps(namespace), body(f"m-{n}", **metadata)), count=size)


def send(target: Server, method: str, path: str, content: bytes = b"", accept: str = "") -> Any:
    """Send one request; return its decoded response."""
    request = target.request(method, path, content)
    if accept:
        request = request.replace(b"\r\n", f"\r\nAccept: {accept}\r\n".encode(), 1)
    with target.connect() as connection:
        connection.settimeout(_HOURS)
        status, data = answer(connection, request)
    assert status < 400 or status == 404, data
    return json.loads(data) if data else None


def pages(target: Server, size: int) -> None:
    """Read all ConfigMaps as `kubectl get` does."""
    result, token = 0, ""
    while True:
        page = send(target, "GET", f"{maps('big')}?limit=500&continue={token}", accept=TABLE)
        result, token = result + len(page["rows"]), page["metadata"].get("continue", "")
        if not token:
            break
    assert result >= size, result


def whole(target: Server, size: int) -> None:
    """Read all ConfigMaps in one list."""
    assert len(send(target, "GET", maps("big"))["items"]) >= size


def stream(target: Server, size: int) -> None:
    """Read all ConfigMaps as an informer does."""
    query = "watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
    with target.connect() as connection:
        connection.settimeout(_HOURS)
        connection.sendall(target.request("GET", f"{maps('big')}?{query}"))
        seen, tail = 0, b""
        while seen < size or b"initial-events-end" not in tail:
            data = receive(connection)
            assert data, "the stream ended"
            seen += data.count(b'"ADDED"')
            tail = tail[-2000:] + data[-2000:]


def emptied(target: Server, path: str) -> None:
    """Wait until a namespace is gone, or its ConfigMaps are but for that of the cluster's authority."""
    never = threading.Event()
    while (page := send(target, "GET", f"{path}?limit=2")).get("items", [0])[1:] or page["kind"] == "Namespace":
        SYSTEM_CLOCK.sleep(never, 0.05)


def measure(size: int) -> Mapping[str, float]:
    """Return the costs with this number of objects, for each of them."""
    costs: dict[str, float] = {}
    with server() as target:

        def timed(name: str, run: Callable[[], object]) -> None:
            before = cpu_seconds(target.pid)
            run()
            costs[name] = 1e6 * (cpu_seconds(target.pid) - before) / size
            print(f"{size:>9,} objects, {name}: {costs[name]:.1f} us each", flush=True)

        def drop(path: str, within: str, content: bytes = b"") -> None:
            send(target, "DELETE", path, content)
            emptied(target, within)

        send(target, "POST", "/api/v1/namespaces", body("big"))
        before = resident(target.pid)
        timed("creation", lambda: create(target, "big", size))
        costs["memory"] = (resident(target.pid) - before) / size
        print(f"{size:>9,} objects, memory: {costs['memory']:,.0f} bytes each", flush=True)
        timed("tables in pages of 500", lambda: pages(target, size))
        timed("one list", lambda: whole(target, size))
        timed("streamed list", lambda: stream(target, size))
        timed("namespace's deletion", lambda: drop("/api/v1/namespaces/big", "/api/v1/namespaces/big"))
        uid = send(target, "POST", maps("default"), body("owner"))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
        create(target, "default", size, ownerReferences=[owner])
        timed("garbage collection", lambda: drop(f"{maps('default')}/owner", maps("default")))
    return costs


def draw(results: Mapping[int, Mapping[str, float]], file: Path) -> None:
    """Write a chart: one panel each for writes, reads and memory."""
    mpl.use("Agg")
    figure, panels = plt.subplots(1, len(PANELS), figsize=(11, 3), layout="constrained")
    for axes, (panel, names) in zip(panels.flat, PANELS.items(), strict=True):
        for name in names:
            axes.plot(list(results), [costs[name] for costs in results.values()], "o-", label=name)
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_title(UNITS[panel], fontsize=9, loc="left")
        axes.set_xlabel("objects", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=8)
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Measure each number of objects on a new server, and draw the costs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--most", type=int, default=SIZES[-1], metavar="N", help="largest number (default: %(default)s)"
    )
    options = parser.parse_args()
    draw({size: measure(size) for size in SIZES if size <= options.most}, PICTURE)


if __name__ == "__main__":
    main()
