"""Processor time of one operation of a server in process, without HTTP and sockets.

`python apiserver/benchmarks/operations.py [create patch ...]` prints microseconds for each; the least of five series.
"""

import argparse
import gc
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.inmemory import InMemoryServer

Object = dict[str, Any]

_CRD = Path(__file__).resolve().parents[2] / "artifacts" / "crd"
_FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_SERIES, _COUNT, _WATCHERS = 5, 400, 1000


def server() -> InMemoryServer:
    """Return a server with the CRD of Foo."""
    built = InMemoryServer(FakeClock())
    for path in sorted(_CRD.glob("*foo*.yaml")):
        send(built, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(path.read_text()))
    return built


def send(target: InMemoryServer, method: str, path: str, body: Object | None = None, kind: str = "json") -> bytes:
    """Send a request and return the body of its response, which must be a success."""
    headers = {"content-type": f"application/{kind}", "user-agent": "operations/1"}
    reply = target.request(method, path, headers, b"" if body is None else json.dumps(body).encode())
    assert reply.status < 300, reply.body
    return reply.body


def foo(name: str, replicas: int = 1) -> Object:
    """Return a Foo as a user would write it."""
    head = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": {"name": name}}
    return {**head, "spec": {"deploymentName": name, "replicas": replicas}}


def deployment(name: str, replicas: int = 1) -> Object:
    """Return a Deployment as a user would write it."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def each(run: Callable[[int], object], count: int = _COUNT) -> float:
    """Return the least microseconds of one call, of five series; each call has another number."""
    used = []
    for series in range(_SERIES):
        gc.collect()
        began = time.process_time()
        for number in range(series * count, (series + 1) * count):
            run(number)
        used.append(1e6 * (time.process_time() - began) / count)
    return min(used)


def create() -> float:
    """Measure the creation of a Foo."""
    target = server()
    return each(lambda n: send(target, "POST", _FOOS, foo(f"f-{n}")))


def patch() -> float:
    """Measure a merge patch of the spec of a Foo."""
    target = server()
    send(target, "POST", _FOOS, foo("a"))
    return each(lambda n: send(target, "PATCH", f"{_FOOS}/a", {"spec": {"replicas": n % 9 + 1}}, "merge-patch+json"))


def apply() -> float:
    """Measure a server-side apply that changes the spec of a Foo."""
    target = server()
    path = f"{_FOOS}/a?fieldManager=m"
    return each(lambda n: send(target, "PATCH", path, foo("a", n % 9 + 1), "apply-patch+yaml"))


def create_built_in() -> float:
    """Measure the creation of a Deployment without replicas, its ReplicaSet included."""
    target = server()
    return each(lambda n: send(target, "POST", _DEPLOYMENTS, deployment(f"d-{n}", 0)), 100)


def deploy() -> float:
    """Measure the creation of a Deployment of one replica, until it is available."""
    target = server()
    return each(lambda n: send(target, "POST", _DEPLOYMENTS, deployment(f"d-{n}")), 100)


def patch_built_in() -> float:
    """Measure a merge patch of an annotation of a Deployment without replicas."""
    target = server()
    send(target, "POST", _DEPLOYMENTS, deployment("a", 0))
    path = f"{_DEPLOYMENTS}/a"
    return each(
        lambda n: send(target, "PATCH", path, {"metadata": {"annotations": {"n": str(n)}}}, "merge-patch+json"), 100
    )


def apply_built_in() -> float:
    """Measure a server-side apply that changes an annotation of a Deployment without replicas."""
    target = server()
    path, config = f"{_DEPLOYMENTS}/a?fieldManager=m", deployment("a", 0)

    def run(number: int) -> None:
        meta = {"name": "a", "annotations": {"n": str(number)}}
        send(target, "PATCH", path, {**config, "metadata": meta}, "apply-patch+yaml")

    return each(run, 100)


def listing() -> float:
    """Measure a list of 1,000 Foos."""
    target = server()
    for number in range(1000):
        send(target, "POST", _FOOS, foo(f"f-{number}"))
    return each(lambda _: send(target, "GET", _FOOS), 20)


def watch() -> float:
    """Measure an event for each of 1,000 watchers."""
    target = server()
    watches: list[Any] = [target.watch(f"{_FOOS}?watch=1&resourceVersion=0", {}) for _ in range(_WATCHERS)]
    send(target, "POST", _FOOS, foo("a"))

    def run(number: int) -> None:
        send(target, "PATCH", f"{_FOOS}/a", {"spec": {"replicas": number % 9 + 1}}, "merge-patch+json")
        for each_watch in watches:
            assert each_watch.take_lines()

    return each(run, 10) / _WATCHERS


def fork() -> float:
    """Measure a server with a CRD, as perturbation and fakes need one for each run."""
    server()
    return each(lambda _: server(), 10)


def fake() -> float:
    """Measure a further creation by a fake client."""
    client = FakeClient(clock=FakeClock())
    return each(lambda n: client.create(ConfigMap(metadata=ObjectMeta(name=f"m-{n}", namespace="default"))))


def pods() -> float:
    """Measure 3,300 Deployments with 9,900 pods: microseconds of a pod; the memory is printed."""
    target = server()
    gc.collect()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    for number in range(3300):
        send(target, "POST", _DEPLOYMENTS, deployment(f"d-{number}", 3))
    used = time.process_time() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    listed = json.loads(send(target, "GET", "/api/v1/pods"))["items"]
    assert len(listed) == 9900
    print(f"pods: {used:.1f} s of processor time, {(after - before) / 1024:,.0f} MB")
    return 1e6 * used / 9900


PARTS: dict[str, Callable[[], float]] = {
    "create": create,
    "patch": patch,
    "apply": apply,
    "create-built-in": create_built_in,
    "patch-built-in": patch_built_in,
    "apply-built-in": apply_built_in,
    "deploy": deploy,
    "list": listing,
    "watch": watch,
    "fork": fork,
    "fake": fake,
    "pods": pods,
}


def main() -> None:
    """Measure the named parts, by default all but pods."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; by default all but pods")
    for part in parser.parse_args().parts or [part for part in PARTS if part != "pods"]:
        print(f"{part}: {PARTS[part]():,.1f} us", flush=True)


if __name__ == "__main__":
    main()
