"""Start-up time: until `--help` is answered, and until the first list."""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.cases.controllers import CONTROLLERS, controller
from benchmarks.cases.parts import command
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.model import FLOOR, KOPF, LIGHTKUBE, OFFICIAL, OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.processes import Child

_IMPORTS = {OFFICIAL: "kubernetes.client", KOPF: "kopf", LIGHTKUBE: "lightkube"}


def _helped(subject: str) -> list[str]:
    match subject:
        case "clientgo":
            return [sys.executable, "main.py", "--help"]
        case "floor":
            return [sys.executable, "-c", "import argparse; argparse.ArgumentParser().parse_args(['--help'])"]
        case _:
            return [sys.executable, "-c", f"import {_IMPORTS[subject]}"]


def _help(subject: str) -> Mapping[str, float]:
    with Child(_helped(subject)) as child:
        while child.line(30):
            pass
        cpu = child.wait()
        return {"seconds": child.seconds, "cpu": cpu}


@contextmanager
def _open_help(_: Setting) -> Iterator[Measure]:
    yield _help


def _first_list(cluster: Cluster, subject: str) -> Mapping[str, float]:
    """Measure from the start of a process until the server receives its first list, by its audit log."""
    assert cluster.audit is not None
    first = command(subject, "first_list", cluster.kubeconfig) if subject == FLOOR else None
    with Child(first) if first else controller(subject, cluster) as child:
        while child.seconds < 60:
            # Before the log: what the process does with the list does not count.
            cpu = child.cpu()
            if lists := [when for when in _lists(cluster.audit) if when > child.began_at]:
                return {"seconds": min(lists) - child.began_at, "cpu": cpu}
            threading.Event().wait(0.005)
        raise Failed(f"{subject} listed nothing in a minute: {child.log()}")


def _lists(audit: Path) -> list[float]:
    """Return the times at which the server received lists and watches of our kinds."""
    # A line that is being written lacks its end.
    splitlines = audit.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in splitlines]
    expected = ("foos", "deployments")
    return [
        datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
        for event in events
        # kopf looks a kind up before it lists it; what counts is the first request for objects.
        if event["verb"] in {"list", "watch"} and event.get("objectRef", {}).get("resource") in expected
    ]


@contextmanager
def _open_first(setting: Setting) -> Iterator[Measure]:
    with cluster_for(setting, audit=True) as cluster:
        yield lambda subject: _first_list(cluster, subject)


HELP = Case(
    name="help",
    words="`python main.py --help`; of the others only the import; the floor is argparse alone",
    figures=(
        Figure(key="seconds", unit="s", words="start to end", limits=(Limit(1.5, FLOOR),), steady=False),
        Figure(key="cpu", unit="s", words="processor time", limits=(Limit(1.5, FLOOR),)),
    ),
    subjects=(OURS, FLOOR, KOPF, OFFICIAL, LIGHTKUBE),
    open=_open_help,
)

FIRST_LIST = Case(
    name="first-list",
    words="from the start of the controller to its first list; the floor is http.client, yaml and ssl",
    figures=(
        Figure(key="seconds", unit="s", words="start to first list", limits=(Limit(2.0, FLOOR),), steady=False),
        Figure(key="cpu", unit="s", words="processor time", limits=(Limit(2.0, FLOOR),)),
    ),
    subjects=(OURS, FLOOR, *CONTROLLERS[1:]),
    open=_open_first,
    bundled_only="the audit of every request",
)
