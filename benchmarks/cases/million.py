"""Growth of a cache to a million objects: time, memory and pauses of the garbage collector."""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.cases.parts import command
from benchmarks.kubeconfigs import plain
from benchmarks.model import FLOOR, OURS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.processes import Child

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHANGES = 20_000


def fill(subject: str, size: int) -> Mapping[str, float]:
    """Fill one cache; return microseconds and bytes for each object, and the longest pause until some changes later."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Child([sys.executable, "-m", "benchmarks.replay", str(size), str(CHANGES)]) as server,
    ):
        kubeconfig = plain(Path(folder) / "kubeconfig", server.line(60).strip())
        with Child(command(subject, "million", kubeconfig, CHANGES)) as child:
            child.report()
            cpu, resident = child.cpu(), child.resident_mb()
            child.go_on()
            if (objects := child.report()["objects"]) != size:
                raise Failed(f"{subject} has {objects:.0f} of {size} Foos")
            figures = {
                "cpu": 1e6 * (child.cpu() - cpu) / size,
                "memory": 1e6 * (child.resident_mb() - resident) / size,
            }
            child.go_on()
            server.go_on()
            return {**figures, **child.report()}


@contextmanager
def _open(setting: Setting) -> Iterator[Measure]:
    def measure(subject: str) -> Mapping[str, float]:
        figures: dict[str, float] = {}
        for size in SIZES:
            setting.tell(f"million: {size:,} objects")
            figures |= {f"{key}_{size}": value for key, value in fill(subject, setting.size(size, size // 100)).items()}
        smallest, largest = (figures[f"cpu_{size}"] for size in (SIZES[1], SIZES[-1]))
        return {**figures, "linear": largest / smallest}

    yield measure


MEASURED = (
    ("cpu", "us", "processor time for each of", Limit(1.5, FLOOR)),
    ("memory", "B", "memory for each of", Limit(1340.0)),
    ("pause", "ms", "longest pause of the collector with", Limit(0.125, FLOOR)),
)

MILLION = Case(
    name="million",
    words="a list of up to 1,000,000 Foos into a cache, then 20,000 changes; the floor keeps dictionaries",
    figures=(
        *(
            Figure(
                key=f"{key}_{n}",
                unit=unit,
                words=f"{words} {n:,}",
                limits=(limit,) if n == SIZES[-1] else (),
                steady=n == SIZES[-1] and key != "pause",
            )
            for key, unit, words, limit in MEASURED
            for n in SIZES
        ),
        Figure(
            key="linear",
            unit="",
            words="processor time for each of 1,000,000 against 10,000",
            limits=(Limit(1.1),),
            steady=False,
        ),
    ),
    subjects=(OURS, FLOOR),
    open=_open,
    rounds=1,
)
