"""Cluster of the soak test: a server process, a proxy, two replicas; the faults; the checks."""

import json
import random
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

from clientgo.cache.backoff import REFLECTOR_BACKOFF
from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ClientGoError
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from tests.faults.proxy import Mood, Proxy
from tests.faults.replicas import ROOT, Replica
from tests.faults.serverprocess import ServerProcess

PLACE = "default"


class Cluster:
    """Cluster; `wanted` has the acknowledged size of each Foo."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trail = folder / "audit.log"
        crds = ROOT / "artifacts" / "crd"
        self.server = ServerProcess(folder, crds, "--enable-faults", "--audit-reads", secure=True)
        self.wanted: dict[str, int] = {}
        self.replicas: list[Replica] = []
        self._number = 0

    def start(self) -> None:
        """Start everything; return when a replica works."""
        config = self.server.start()
        self.client = RESTClient(config)
        self.foos = Clientset(self.client).samplecontroller_v1alpha1.foos(PLACE)
        self.deployments = Kubernetes(self.client).apps_v1.deployments(PLACE)
        self.proxy = Proxy(config.host)
        self.proxy.start()
        host = f"https://127.0.0.1:{self.proxy.port}"
        self.replicas = [Replica(name, self.folder, config, host) for name in ("one", "two")]
        for replica in self.replicas:
            replica.start()

    def stop(self) -> None:
        """Stop everything."""
        for replica in self.replicas:
            replica.end()
        self.proxy.stop()
        self.client.close()
        self.server.stop()

    def supervise(self) -> None:
        """Restart what has exited: a leader that lost its lease does."""
        for replica in self.replicas:
            if not replica.running:
                replica.start()

    def fill(self, foos: int) -> None:
        """Create Foos."""
        for _ in range(foos):
            self._create(random.Random(self._number))

    def change(self, rng: random.Random) -> str:
        """Create, change or delete a Foo; return which, or that the server did not accept it."""
        what = rng.choices((self._create, self._delete, self._scale), (1, 1, 8))[0]
        with suppress(ClientGoError):
            return what(rng)
        self._look_again()
        return "refused"

    def faults(self, *planted: dict[str, Any]) -> None:
        """Activate these faults only."""
        self.client.raw("DELETE", "/faults")
        for fault in planted:
            self.client.raw("POST", "/faults", body=json.dumps(fault).encode())

    def converged(self) -> bool:
        """Return whether every Foo is as wanted, with its Deployment and a correct status."""
        return not self.difference()

    def difference(self) -> list[str]:
        """Return what differs from the expected state."""
        try:
            foos = {foo.metadata.name: foo for foo in self.foos.list().items}
            deployments = {item.metadata.name: item for item in self.deployments.list().items}
        except ClientGoError as error:
            return [str(error)]
        matches = [f"{name} is lost" for name in self.wanted.keys() - foos.keys()]
        matches += [f"{name} should be gone" for name in foos.keys() - self.wanted.keys()]
        matches += [f"the Deployment {name} should be gone" for name in deployments.keys() - foos.keys()]
        for name, size in self.wanted.items():
            if name not in foos or name not in deployments:
                matches.append(f"{name} has no Deployment")
            elif not foos[name].spec.replicas == deployments[name].spec.replicas == size:
                matches.append(f"{name} should have {size}: {foos[name].spec}, {deployments[name].spec.replicas}")
            elif foos[name].status.available_replicas != size:
                matches.append(f"{name} has an old status")
        return matches

    def counts(self) -> dict[str, int]:
        """Return the number of objects of each kind in all namespaces."""
        return {"Foo": len(self.foos.list().items), "Deployment": len(self.deployments.list().items)}

    def _create(self, rng: random.Random) -> str:
        self._number += 1
        name, size = f"foo-{self._number}", rng.randint(1, 10)
        self.foos.create(Foo(ObjectMeta(name=name, namespace=PLACE), FooSpec(name, size)), field_manager="soak")
        self.wanted[name] = size
        return "created"

    def _delete(self, rng: random.Random) -> str:
        name = rng.choice(list(self.wanted))
        self.foos.delete(name)
        del self.wanted[name]
        return "deleted"

    def _scale(self, rng: random.Random) -> str:
        name, size = rng.choice(list(self.wanted)), rng.randint(1, 10)
        self.foos.patch(name, {"spec": {"replicas": size}})
        self.wanted[name] = size
        return "changed"

    def _look_again(self) -> None:
        """Read Foos whose write was not acknowledged from the server."""
        with suppress(ClientGoError):
            self.wanted = {foo.metadata.name: foo.spec.replicas or 0 for foo in self.foos.list().items}


Fault = Callable[[Cluster, random.Random], AbstractContextManager[None]]
FAULTS: dict[str, Fault] = {}


def fault(built: Callable[[Cluster, random.Random], Iterator[None]]) -> Fault:
    """Register a fault."""
    FAULTS[built.__name__.replace("_", " ")] = named = contextmanager(built)
    return named


@fault
def nothing(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    yield


@fault
def connections_reset(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.proxy.reset()
    yield


@fault
def connections_refused(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.proxy.refuse()
    yield
    cluster.proxy.listen()


def _mood(name: str, make: Callable[[random.Random], Mood]) -> None:
    def struck(cluster: Cluster, rng: random.Random) -> Iterator[None]:
        cluster.proxy.set(make(rng))
        yield
        cluster.proxy.heal()

    FAULTS[name] = contextmanager(struck)


# Behind TLS the proxy sees no requests, so that all connections are struck.
_mood("half-open", lambda rng: Mood(pause=frozenset(("up", "down"))))
_mood("answers lost", lambda rng: Mood(pause=frozenset(("down",))))
_mood("cut off", lambda rng: Mood(cut=rng.randint(1, 5000)))
_mood("garbled", lambda rng: Mood(garble=rng.randint(1, 3000)))
_mood("slow", lambda rng: Mood(delay=rng.uniform(0.01, 0.3)))
_mood("split", lambda rng: Mood(piece=rng.randint(1, 50)))


def _storm(code: int, wait: int | None) -> None:
    def struck(cluster: Cluster, rng: random.Random) -> Iterator[None]:
        more = {} if wait is None else {"retryAfter": wait}
        share = rng.choice((0.3, 1.0))
        kinds: tuple[tuple[str, str], ...] = (
            ("PUT", ""), ("POST", "deployments"), ("PATCH", "deployments"), ("WATCH", ""),
        )  # fmt: skip
        cluster.faults(*({"method": m, "resource": r, "code": code, "share": share, **more} for m, r in kinds))
        cluster.proxy.reset()
        yield
        cluster.faults()

    FAULTS[f"{code}{'' if wait is None else ', Retry-After'}"] = contextmanager(struck)


for _code, _wait in ((429, None), (429, 1), (500, None), (503, None), (503, 1), (504, None), (410, None)):
    _storm(_code, _wait)


@fault
def history_forgotten(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.proxy.refuse()
    cluster.client.raw("POST", "/faults/compact")
    yield
    cluster.client.raw("POST", "/faults/compact")
    cluster.proxy.listen()


@fault
def disk_full(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.client.raw("PUT", "/faults/disk", body=b'{"full": true}')
    yield
    cluster.client.raw("PUT", "/faults/disk", body=b'{"full": false}')


@fault
def server_clock_jumps(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    # Not back beyond the tokens' beginning, which a server refuses.
    cluster.client.raw("PUT", "/faults/clock", body=json.dumps({"skewSeconds": rng.uniform(0, 3600)}).encode())
    yield
    cluster.client.raw("PUT", "/faults/clock", body=b'{"skewSeconds": 0}')


@fault
def server_killed(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.server.kill()
    SYSTEM_CLOCK.sleep(Event(), rng.uniform(0.0, 3.0))
    cluster.server.start()
    yield


@fault
def server_frozen(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    cluster.server.signal(signal.SIGSTOP)
    SYSTEM_CLOCK.sleep(Event(), rng.uniform(0.5, 8.0))
    cluster.server.signal(signal.SIGCONT)
    yield


@fault
def replica_frozen(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    replica = rng.choice(cluster.replicas)
    replica.signal(signal.SIGSTOP)
    yield
    replica.signal(signal.SIGCONT)


@fault
def replica_killed(cluster: Cluster, rng: random.Random) -> Iterator[None]:
    rng.choice(cluster.replicas).signal(signal.SIGKILL)
    yield


def _events(trail: Path, users: set[str]) -> Iterator[dict[str, Any]]:
    with trail.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["user"]["username"] in users:
                yield event


def overlaps(trail: Path, users: set[str]) -> list[str]:
    """Return simultaneous writes of one replica about one Foo, which show two workers on it."""
    busy: dict[tuple[str, str], str] = {}
    matches = []
    for event in sorted(_events(trail, users), key=lambda item: str(item["requestReceivedTimestamp"])):
        about = event["objectRef"]
        if event["verb"] not in ("create", "update", "patch") or about["resource"] not in ("foos", "deployments"):
            continue
        key = (event["user"]["username"], about.get("name", ""))
        if event["requestReceivedTimestamp"] < busy.get(key, ""):
            matches.append(f"{event['verb']} {about}")
        busy[key] = event["stageTimestamp"]
    return matches


def bursts(trail: Path, users: set[str]) -> int:
    """Return the maximum of lists of one kind and replica within the first step of the reflector's backoff."""
    times: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for event in _events(trail, users):
        stored = event.get("requestURI", "")
        # A list's further pages are that list.
        if (event["verb"] == "list" and "continue=" not in stored) or "sendInitialEvents" in stored:
            key = (event["user"]["username"], event["objectRef"]["resource"])
            times[key].append(datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp())
    step = 0.95 * REFLECTOR_BACKOFF.duration
    return max((_most_within(sorted(value), step) for value in times.values()), default=0)


def _most_within(times: list[float], seconds: float) -> int:
    first, most = 0, 0
    for last, time in enumerate(times):
        while times[first] < time - seconds:
            first += 1
        most = max(most, last - first + 1)
    return most
