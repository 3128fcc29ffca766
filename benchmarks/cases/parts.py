"""Cases in which each subject performs one part on shared data and reports."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.model import FLOOR, OURS
from benchmarks.processes import Child


def command(subject: str, part: str, *arguments: object) -> list[str]:
    """Return the command for one part of a subject."""
    module = {OURS: "ours", FLOOR: "floor"}.get(subject, f"with_{subject}")
    return [sys.executable, "-m", f"benchmarks.peers.{module}", part, *map(str, arguments)]


@contextmanager
def doing(subject: str, part: str, *arguments: object) -> Iterator[tuple[Child, Mapping[str, float]]]:
    """Run one part; provide the process, still alive, and its report."""
    with Child(command(subject, part, *arguments)) as child:
        yield child, child.report()


def done(subject: str, part: str, *arguments: object) -> Mapping[str, float]:
    """Run one part; return its report."""
    with doing(subject, part, *arguments) as (_, figures):
        return figures
