"""Watch storm: events at maximum speed through cache, two handlers, queue and one worker."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.cases.parts import command
from benchmarks.kubeconfigs import plain
from benchmarks.model import FLOOR, LIGHTKUBE, OFFICIAL, OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.processes import Child


def storm(subject: str, foos: int, events: int, *shape: int) -> Mapping[str, float]:
    """Run one subject with a number of events about a number of Foos; `shape`: controllers, and workers of each."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Child([sys.executable, "-m", "benchmarks.replay", str(foos), str(events)]) as server,
    ):
        kubeconfig = plain(Path(folder) / "kubeconfig", server.line(60).strip())
        with Child(command(subject, "storm", kubeconfig, events, *shape)) as child:
            child.report()
            busy, began = child.cpu(), child.seconds
            child.go_on()
            server.go_on()
            seen = child.report()["events"]
            cpu, seconds = child.cpu() - busy, child.seconds - began
    if seen != events:
        raise Failed(f"{subject} saw {seen:.0f} of {events} events")
    return {"rate": events / cpu, "each": 1e6 * cpu / events, "seconds": seconds}


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    yield lambda subject: storm(subject, 1_000, setting.size(50_000, 10_000))


STORM = Case(
    name="watch-storm",
    words="50,000 changes of 1,000 Foos through cache, two handlers, queue, worker; the floor parses and keeps them",
    figures=(
        Figure(
            key="rate",
            unit="/s",
            words="events for each second of processor time",
            more_is_better=True,
            limits=(Limit(0.75, FLOOR),),
        ),
        Figure(key="each", unit="us", words="processor time for one event"),
        Figure(key="seconds", unit="s", words="until all have been there", steady=False),
    ),
    subjects=(OURS, FLOOR, OFFICIAL, LIGHTKUBE),
    open=_open,
)


SHAPES = {
    "16 workers": (1, 16),
    "4 controllers on one informer": (4, 1),
    "4 controllers with 4 workers each": (4, 4),
}


@contextmanager
def _open_shapes(setting: Setting) -> Iterator[Measure]:
    def measure(subject: str) -> Mapping[str, float]:
        events = setting.size(50_000, 10_000)
        single = storm(subject, 1_000, events, 1, 1)["rate"]
        rates = {words: storm(subject, 1_000, events, *shape)["rate"] for words, shape in SHAPES.items()}
        return {"single": single, **{words: rate / single for words, rate in rates.items()}}

    yield measure


SHAPED = Case(
    name="storm-shapes",
    words="the watch storm with more workers and controllers, against one controller with one worker",
    figures=(
        Figure(key="single", unit="/s", words="events for each second of processor time", more_is_better=True),
        *(
            Figure(key=words, unit="", words=words, more_is_better=True, limits=limits, steady=False)
            for words, limits in zip(SHAPES, ((Limit(0.8),), (), ()), strict=True)
        ),
    ),
    subjects=(OURS,),
    open=_open_shapes,
)
