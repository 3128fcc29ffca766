"""Create many Foos, wait until each is synced; then scale them all."""

import json
import pickle
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases.controllers import (
    CONTROLLERS,
    controller,
    creations,
    following,
    names,
    reported,
    settle,
    until_ready,
)
from benchmarks.cases.parts import command
from benchmarks.cluster import Cluster, cluster_for
from benchmarks.endpoint import JSON, MERGE_PATCH, Api, Prepared, send_all
from benchmarks.model import FLOOR, GO, KOPF, OFFICIAL, OURS, URLLIB3, Case, Figure, Limit, Measure, Setting
from benchmarks.objects import deployment, event
from benchmarks.processes import Child

FIGURES = (
    Figure(
        key="seconds",
        unit="s",
        words="first Foo created → last one synced",
        limits=(Limit(1.0, GO), Limit(0.25, KOPF), Limit(0.5, OFFICIAL)),
        steady=False,
    ),
    Figure(
        key="cpu",
        unit="s",
        words="processor time, start-up included",
        limits=(Limit(0.85, GO), Limit(0.25, KOPF), Limit(0.5, OFFICIAL), Limit(1.5, FLOOR), Limit(1.5, URLLIB3)),
    ),
    Figure(key="work", unit="s", words="processor time for these Foos alone"),
    Figure(key="peak", unit="MB", words="peak memory", limits=(Limit(48.0),)),
    Figure(key="writes", unit="", words="writes for each Foo", limits=(Limit(3.0),)),
    Figure(key="scale_seconds", unit="s", words="all scaled: first change → last Deployment changed", steady=False),
    Figure(key="scale_cpu", unit="s", words="processor time for scaling", limits=(Limit(0.5, GO),)),
    Figure(key="scale_writes", unit="", words="writes for each scaled Foo", limits=(Limit(2.0),)),
)


def create(cluster: Cluster, subject: str, count: int, *, workers: int = 2, scaled: bool = True) -> Mapping[str, float]:
    """Run one controller with this number of Foos."""
    if subject in {FLOOR, URLLIB3}:
        return _floor(cluster, subject, count)
    expected = names(count)
    with controller(subject, cluster, workers=workers) as child:
        until_ready(cluster, child)
        settle(cluster, child)
        ready, written = child.cpu(), cluster.writes()
        with following(cluster, cluster.foos(), reported) as follower:
            began = time.perf_counter()
            send_all(cluster.endpoint, creations(cluster, expected))
            seconds = follower.wait(count, child) - began
        settle(cluster, child)
        done, more = child.cpu(), cluster.writes()
        figures: dict[str, float] = {
            "seconds": seconds,
            "cpu": done,
            "work": done - ready,
            "peak": child.peak_mb(),
            "writes": (more - written) / count - 1,
        }
        return {**figures, **(_scale(cluster, child, expected) if scaled else {})}


def _scale(cluster: Cluster, child: Child, expected: list[str]) -> Mapping[str, float]:
    def is_scaled(result: dict[str, Any]) -> bool:
        return bool(result["spec"]["replicas"] == 2)

    cpu, written = child.cpu(), cluster.writes()
    with following(cluster, cluster.deployments(), is_scaled) as follower:
        began = time.perf_counter()
        patch = b'{"spec":{"replicas":2}}'
        send_all(cluster.endpoint, [("PATCH", cluster.foos(name), patch, MERGE_PATCH) for name in expected])
        seconds = follower.wait(len(expected), child) - began
    settle(cluster, child)
    writes = (cluster.writes() - written) / len(expected) - 1
    return {"scale_seconds": seconds, "scale_cpu": child.cpu() - cpu, "scale_writes": writes}


def _floor(cluster: Cluster, subject: str, count: int) -> Mapping[str, float]:
    """Prepare our controller's writes: Deployment, status and event for each Foo; then a patch and an event."""
    send_all(cluster.endpoint, creations(cluster, names(count)))
    foos = Api(cluster.endpoint).json("GET", cluster.foos())["items"]
    created: list[Prepared] = []
    scaled: list[Prepared] = []
    for number, foo in enumerate(foos):
        name, uid = foo["metadata"]["name"], foo["metadata"]["uid"]
        status = json.dumps({**foo, "status": {"availableReplicas": 0}}).encode()
        created += [
            ("POST", cluster.deployments(), deployment(name, uid), JSON),
            ("PUT", cluster.foos(name, "status"), status, JSON),
            ("POST", cluster.events(), event(name, uid, number, cluster.namespace), JSON),
        ]
        scaled += [
            ("PATCH", cluster.deployments(name), b'{"spec":{"replicas":2}}', MERGE_PATCH),
            ("POST", cluster.events(), event(name, uid, count + number, cluster.namespace), JSON),
        ]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "created", Path(folder) / "scaled"]
        for file, requests in zip(files, (created, scaled), strict=True):
            file.write_bytes(pickle.dumps(requests))
        with Child(command(subject, "send", cluster.kubeconfig, *files)) as child:
            first = child.report()
            done, peak = child.cpu(), child.peak_mb()
            child.go_on()
            second = child.report()
            return {
                "seconds": first["seconds"],
                "cpu": done,
                "peak": peak,
                "writes": 3.0,
                "scale_seconds": second["seconds"],
                "scale_cpu": child.cpu() - done,
                "scale_writes": 2.0,
            }


def _opener(full: int, quick: int, workers: int = 2) -> Any:
    @contextmanager
    def opened(setting: Setting) -> Iterator[Measure]:
        def measure(subject: str) -> Mapping[str, float]:
            with cluster_for(setting) as cluster:
                return create(cluster, subject, setting.size(full, quick), workers=workers)

        yield measure

    return opened


CREATE = Case(
    name="create",
    words="500 Foos created at once, scaled when all are synced; two workers; floor and urllib3 only send the writes",
    figures=FIGURES,
    subjects=(OURS, FLOOR, URLLIB3, *CONTROLLERS[1:]),
    open=_opener(500, 100),
)

CREATE_MANY = Case(
    name="create-many",
    words="the same with 5,000 Foos; kopf would take minutes",
    figures=(*(f for f in FIGURES if f.key != "peak"), Figure(key="peak", unit="MB", words="peak memory")),
    subjects=(OURS, GO, FLOOR, URLLIB3, OFFICIAL),
    open=_opener(5000, 500),
    rounds=2,
)


def _with(workers: int) -> Case:
    limits = {"seconds": (Limit(1.0, GO),), "cpu": (Limit(1.0, GO),)}
    return Case(
        name=f"create-{workers}",
        words=f"1,000 Foos created at once and scaled, by {workers} workers",
        figures=tuple(replace(figure, limits=limits.get(figure.key, ())) for figure in FIGURES),
        subjects=(OURS, GO),
        open=_opener(1000, 100, workers),
    )


CREATE_8, CREATE_16 = _with(8), _with(16)
