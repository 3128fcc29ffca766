"""How long the stop of a program takes, whatever its server does.

    python -m tests.stop.stops --stops 1000

Each stop is that of a whole manager: leader election, caches, four workers in the middle of requests and writes, events
and servers. It prints the worst time of each case, and fails if one was a second or more.
"""

import argparse
import logging
import random
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import LeaderElectionOptions, Manager, Options, Reconciler, Result
from clientgo.manager.options import CacheOptions
from clientgo.meta import replace
from clientgo.rest import Config
from clientgo.rest.config import Delegated
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import ends_with
from tests.processes import Child
from tests.stop import hostile

LIMIT = 1.0


class Case(NamedTuple):
    """A hostile server: its mode when the program starts and when it stops, and what is in it."""

    begin: str = "answer"
    end: str = "answer"
    objects: int = 40
    namespaces: int = 1
    plugin: bool = False
    settle: float = 0.15
    """Seconds between the start of the workers and the stop, at random up to this; without workers, since the start."""


CASES = {
    "a server that turns silent": Case(end="hang"),
    "a silent server": Case(begin="hang", end="hang"),
    "a server that begins to trickle": Case(end="trickle"),
    "a server that trickles": Case(begin="trickle", end="trickle", settle=0.5),
    "a server that goes away": Case(end="refuse"),
    "no server": Case(begin="refuse", end="refuse"),
    "a server that accepts no more": Case(end="ignore"),
    "a server that accepts nothing": Case(begin="ignore", end="ignore"),
    "a start": Case(settle=-0.3),
    "a list of 50,000": Case(objects=50_000, settle=-2.5),
    "a hanging credential plugin": Case(plugin=True),
    "200 watches": Case(objects=400, namespaces=200),
    "200 watches of a silent server": Case(end="hang", objects=400, namespaces=200),
}


class Busy(Reconciler[ConfigMap], workers=4):
    """Reads, writes and records all the time."""

    def reconcile(self, config_map: ConfigMap) -> Result:
        self.client.update(replace(config_map, data={"key": str(random.random())}))
        self.recorder.event(config_map, "Normal", "Busy", str(random.random()))
        return Result(requeue_after=0.001)


class Server:
    """The hostile server's process."""

    def __init__(self, case: Case, folder: Path) -> None:
        command = [sys.executable, "-m", hostile.__name__, str(case.objects), str(case.namespaces)]
        self._child = Child(command, folder / f"server{len(list(folder.iterdir()))}")
        port, command_port = self._child.wait_for(r"^\d+ \d+$").split()
        self.port = int(port)
        self._commands = socket.create_connection(("127.0.0.1", int(command_port)), timeout=30)
        if case.begin != "answer":
            self.turn(case.begin)

    def turn(self, mode: str) -> None:
        """Change the mode; return once it has changed."""
        self._commands.sendall(f"{mode}\n".encode())
        assert self._commands.recv(64).decode().strip() == mode

    def close(self) -> None:
        """End the process."""
        self._commands.close()
        self._child.kill()


@contextmanager
def server_of(case: Case, folder: Path) -> Iterator[Server]:
    """A server of that case."""
    server = Server(case, folder)
    try:
        yield server
    finally:
        server.close()


def stop_once(case: Case, server: Server, plugin: str) -> tuple[float, list[str]]:
    """Run and stop a program; return the seconds that the stop took, and the threads that are left."""
    stop, outcome, before = threading.Event(), list[BaseException | None](), set(threading.enumerate())
    created = list[Manager]()
    group = Group()
    config = Config(f"http://127.0.0.1:{server.port}")
    if case.plugin:
        spec = {"apiVersion": "client.authentication.k8s.io/v1", "command": plugin}
        config = Config(config.host, delegated=Delegated(exec=spec))
    group.start(_run, case, config, stop, created, outcome, name="program")
    if case.settle < 0 or case.begin != "answer" or case.plugin:
        SYSTEM_CLOCK.sleep(stop, random.uniform(0.0, abs(case.settle)))
    else:
        deadline = SYSTEM_CLOCK.now() + 60
        while not (created and created[0].elected.is_set()):
            SYSTEM_CLOCK.sleep(stop, 0.005)
            assert SYSTEM_CLOCK.now() < deadline, "the program did not start"
        SYSTEM_CLOCK.sleep(stop, random.uniform(0.0, case.settle))
    if case.end != case.begin:
        server.turn(case.end)
        SYSTEM_CLOCK.sleep(stop, random.uniform(0.0, 0.05))
    began = SYSTEM_CLOCK.now()
    stop.set()
    group.join(60)
    took = SYSTEM_CLOCK.now() - began
    if outcome[0] is not None:
        raise outcome[0]
    ended = SYSTEM_CLOCK.now() + 5
    while remaining := [thread.name for thread in set(threading.enumerate()) - before if not _may_stay(thread.name)]:
        SYSTEM_CLOCK.sleep(threading.Event(), 0.01)
        if SYSTEM_CLOCK.now() > ended:
            break
    return took, remaining


def _may_stay(name: str) -> bool:
    return name == "stop-dispatcher"


def _run(
    case: Case, config: Config, stop: threading.Event, created: list[Manager], outcome: list[BaseException | None]
) -> None:
    options = Options(
        leader_election=LeaderElectionOptions(id="stops", namespace="default"),
        health_probe_bind_address="127.0.0.1:0",
        cache=CacheOptions(
            namespaces=tuple(f"n{number}" for number in range(case.namespaces)) if case.namespaces > 1 else ()
        ),
    )
    error: BaseException | None = None
    try:
        with ends_with(stop):
            manager = Manager(config, options=options)
            manager.add_reconciler(Busy)
            created.append(manager)
            manager.run(stop)
    except ConnectionFailed as failure:
        error = None if failure.stopping else failure
    except BaseException as failure:  # noqa: BLE001  # reported
        error = failure
    outcome.append(error)


def stops_of(case: Case, count: int) -> tuple[list[float], list[str]]:
    """Stop that many programs; return the times, and the threads that any of them left."""
    times, leftover = list[float](), list[str]()
    with TemporaryDirectory() as folder:
        plugin = Path(folder, "plugin")
        plugin.write_text("#!/bin/sh\nsleep 600\n")
        plugin.chmod(0o700)
        for _ in range(count):
            with server_of(case, Path(folder)) as server:
                took, remaining = stop_once(case, server, str(plugin))
            times.append(took)
            leftover += remaining
    return times, leftover


def main(stops: int, only: str) -> int:
    """Print a line for each case; return 1 if a stop took a second or more."""
    logging.disable()
    cases = {name: case for name, case in CASES.items() if only in name}
    worst_of_all = 0.0
    for name, case in cases.items():
        times, remaining = stops_of(case, -(-stops // len(cases)))
        worst_of_all = max(worst_of_all, *times)
        median = sorted(times)[len(times) // 2]
        threads = f", threads left: {', '.join(sorted(set(remaining)))}" if remaining else ""
        print(f"{name:35} {len(times):4} stops, median {median:.3f} s, worst {max(times):.3f} s{threads}", flush=True)
    print(f"worst {worst_of_all:.3f} s")
    return int(worst_of_all >= LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stops", type=int, default=1000, help="number of stops in all (default: 1000)")
    parser.add_argument("--case", default="", help="only cases whose name contains this text")
    arguments = parser.parse_args()
    sys.exit(main(arguments.stops, arguments.case))
