"""Soak test: random faults while the controller runs; run by `make soak ARGS="--minutes 30"`.

`--faults nothing` only changes Foos, and `--plot FILE` draws memory, threads and open files of every process over time.

A server, two replicas of the controller and a proxy between them; 2,000 Foos are created, changed and deleted. After
each fault every Foo must be synced again, and at the end nothing may be lost. The seed, printed first, determines the
faults.
"""

import argparse
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Event

import matplotlib as mpl
import matplotlib.pyplot as plt

from clientgo.clock import SYSTEM_CLOCK, utc
from clientgo.errors import ClientGoError
from tests.faults.oracle import Resources, no_write_without_the_lease
from tests.faults.soaking import FAULTS, Cluster, bursts, overlaps

BOUND = 120.0
"""Time limit in seconds to heal: twice the longest backoff, which several faults in a row reach."""

WARM = 60.0
"""Seconds after which the memory of a process is expected to be stable."""


class Soak:
    """Measurements of one run."""

    def __init__(self, cluster: Cluster, rng: random.Random) -> None:
        self.cluster = cluster
        self.rng = rng
        self.healed: defaultdict[str, list[float]] = defaultdict(list)
        self.problems: list[str] = []
        self.memory: dict[tuple[str, int], list[float]] = {}
        self.writes: Counter[str] = Counter()
        self.course: defaultdict[str, list[tuple[float, Resources]]] = defaultdict(list)
        self.began = SYSTEM_CLOCK.now()

    def round(self, fault: str) -> None:
        """Inject one fault during changes; return when every Foo is synced again, or after the time limit."""
        seconds = self.rng.uniform(0.5, 6.0)
        with FAULTS[fault](self.cluster, self.rng):
            self._busy(seconds)
        self._busy(0.0)
        began = SYSTEM_CLOCK.now()
        while not (synced := self.cluster.converged()) and SYSTEM_CLOCK.now() - began < BOUND:
            self.cluster.supervise()
            SYSTEM_CLOCK.sleep(Event(), 0.2)
        self.healed[fault].append(SYSTEM_CLOCK.now() - began)
        if not synced:
            self.problems.append(f"{fault}: not healed after {BOUND:.0f} s: {self.cluster.difference()}")
        self.measure()

    def measure(self) -> None:
        """Record the resources of each process, and the memory of each that is warm."""
        minutes = (SYSTEM_CLOCK.now() - self.began) / 60
        self.course["server"].append((minutes, Resources.now(self.cluster.server.pid)))
        for replica in self.cluster.replicas:
            held = replica.resources()
            if held is not None:
                self.course[replica.name].append((minutes, held))
            if held is not None and SYSTEM_CLOCK.now() - replica.began > WARM:
                self.memory.setdefault((replica.name, replica.starts), []).append(held.megabytes)

    def _busy(self, seconds: float) -> None:
        """Change Foos for some seconds, as far as the server accepts it; at least one."""
        until = SYSTEM_CLOCK.now() + seconds
        while True:
            self.cluster.supervise()
            for _ in range(self.rng.randint(1, 20)):
                self.writes[self.cluster.change(self.rng)] += 1
            if SYSTEM_CLOCK.sleep(Event(), 0.2) or SYSTEM_CLOCK.now() >= until:
                return


def main(arguments: Sequence[str]) -> int:
    """Run the soak test; return 0 if every invariant held."""
    parser = argparse.ArgumentParser(prog="python -m hack.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0, help="duration (default: 30)")
    parser.add_argument("--foos", type=int, default=2000, help="number of Foos (default: 2000)")
    drawn = random.randrange(10**6)  # nosec B311  # faults are no secrets
    parser.add_argument("--seed", type=int, default=drawn, help="seed of the faults (default: random)")
    names = ", ".join(sorted(FAULTS))
    parser.add_argument("--faults", nargs="+", choices=sorted(FAULTS), default=sorted(FAULTS), metavar="FAULT",
                        help=f"faults to inject (default: all): {names}")  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="PNG file of memory, threads and open files over time"
    )
    parser.add_argument("--keep", type=Path, help="new folder to keep logs and audit log in")
    options = parser.parse_args(arguments)
    say(f"seed {options.seed}, {options.foos} Foos, {options.minutes:g} minutes")
    with place(options.keep) as folder, started(folder, options.foos) as cluster:
        soak = Soak(cluster, random.Random(options.seed))  # nosec B311  # faults are no secrets
        until = SYSTEM_CLOCK.now() + 60 * options.minutes
        number = 0
        while SYSTEM_CLOCK.now() < until:
            fault = soak.rng.choice(options.faults)
            number += 1
            soak.round(fault)
            now = f"{utc(SYSTEM_CLOCK):%H:%M:%S}"
            say(f"{number:4} {now} {fault}: {soak.healed[fault][-1]:.1f} s, {len(cluster.wanted)} Foos")
        if options.plot:
            plot(soak, options.plot)
        return report(soak)


@contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """Create the folder for logs; delete it afterwards unless it is to be kept."""
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        yield Path(folder)


@contextmanager
def started(folder: Path, foos: int) -> Iterator[Cluster]:
    """Start a cluster with this number of Foos, all of them synced."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        began = SYSTEM_CLOCK.now()
        cluster.fill(foos)
        while not cluster.converged():
            SYSTEM_CLOCK.sleep(Event(), 0.2)
        say(f"{foos} Foos are synced after {SYSTEM_CLOCK.now() - began:.1f} s")
        yield cluster
    finally:
        cluster.stop()


def plot(soak: Soak, file: Path) -> None:
    """Draw the resources of each process over time."""
    mpl.use("Agg")
    panels = (("megabytes", "memory, MB"), ("threads", "threads"), ("files", "open files"))
    figure, axes_of = plt.subplots(1, len(panels), figsize=(11, 3), layout="constrained")
    for axes, (field, title) in zip(axes_of.flat, panels, strict=True):
        for name, course in soak.course.items():
            axes.plot([minutes for minutes, _ in course], [getattr(held, field) for _, held in course], label=name)
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel("minutes", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    axes_of.flat[0].legend(fontsize=8)
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


def report(soak: Soak) -> int:
    """Print the results; return 0 if all checks passed."""
    cluster, problems = soak.cluster, soak.problems
    problems += disagreements(cluster)
    codes = [replica.end() for replica in cluster.replicas]
    problems += [f"exit code {code}" for code in codes if code]
    output = "\n".join(replica.output.read_text(encoding="utf-8") for replica in cluster.replicas)
    unhandled = re.findall(r"^Traceback.*|thread died.*|\"bug: .*", output, re.MULTILINE)
    problems += [f"unhandled: {text}" for text in unhandled]
    users = {replica.user for replica in cluster.replicas}
    try:
        built = no_write_without_the_lease(cluster.trail, users)
    except AssertionError as error:
        built = Counter()
        problems.append(str(error))
    problems += [f"two workers at one Foo: {item}" for item in overlaps(cluster.trail, users)]
    most = bursts(cluster.trail, users)
    if most > 3:
        problems.append(f"{most} lists of one kind within a step of the backoff")
    say(f"\n{'fault':34}{'times':>6}{'median':>9}{'most':>7}   seconds until synced")
    for fault, times in sorted(soak.healed.items()):
        say(f"{fault:34}{len(times):6}{median(times):9.1f}{max(times):7.1f}")
    growth = [(max(held[-3:]) / held[0] - 1) * 100 for held in soak.memory.values() if len(held) > 5]
    for (name, start), held in sorted(soak.memory.items()):
        say(f"RSS of {name}, process {start}: {held[0]:.0f} MB when warm, {held[-1]:.0f} last, {max(held):.0f} at most")
    say(f"RSS growth at most: {max(growth, default=0.0):.1f} %; starts: {[entry.starts for entry in cluster.replicas]}")
    say(f"changes: {dict(soak.writes)}; writes by {dict(built)}; most lists in a step of the backoff: {most}")
    say(f"unhandled exceptions: {len(unhandled)}; lost updates: {len(cluster.difference())}; problems: {len(problems)}")
    for problem in problems:
        say(f"  {problem}")
    return 1 if problems or max(growth, default=0.0) > 5.0 else 0


def disagreements(cluster: Cluster) -> list[str]:
    """Return the caches whose number of objects differs from the server."""
    matches = []
    for replica in cluster.replicas:
        try:
            counts = {cache["kind"]: cache["objects"] for cache in replica.caches()}
        except (OSError, ClientGoError) as error:
            matches.append(f"{replica.name} does not serve its caches: {error}")
            continue
        if counts != cluster.counts():
            matches.append(f"{replica.name} holds {counts}, the server has {cluster.counts()}")
    return matches


def say(text: str) -> None:
    """Print without buffering."""
    print(text, flush=True)  # noqa: T201  # for the person who runs it


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
