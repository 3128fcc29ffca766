"""Cases that ask each subject to do one part and report it, on what all rounds share."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from benchmarks.model import FLOOR, OURS
from benchmarks.processes import Child


def command(subject: str, part: str, *arguments: object) -> list[str]:
    """The command that does one part of a subject."""
    module = {OURS: "ours", FLOOR: "floor"}.get(subject, f"with_{subject}")
    return [sys.executable, "-m", f"benchmarks.peers.{module}", part, *map(str, arguments)]


@contextmanager
def doing(subject: str, part: str, *arguments: object) -> Iterator[tuple[Child, Mapping[str, float]]]:
    """A subject that has done its part, still alive to be looked at, and what it reported."""
    with Child(command(subject, part, *arguments)) as child:
        yield child, child.report()


def done(subject: str, part: str, *arguments: object) -> Mapping[str, float]:
    """What a subject reports of its part."""
    with doing(subject, part, *arguments) as (_, figures):
        return figures
