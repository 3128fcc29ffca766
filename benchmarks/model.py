"""The words of a benchmark: a case, what it measures (figures), of whom (subjects), and what must hold (limits).

Only ratios taken in the same run travel from one machine to another. So every case runs the product (`OURS`), the least
that the work can cost (`FLOOR`) and, where there are any, other libraries, one after the other, round after round.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

OURS, FLOOR = "clientgo", "floor"
KOPF, OFFICIAL, LIGHTKUBE, URLLIB3 = "kopf", "official", "lightkube", "urllib3"

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


class Failed(Exception):
    """A subject did not do its work, or a case can't be run here: one sentence."""


@dataclass(frozen=True)
class Limit:
    """Where a figure has to be: `bound` itself, or `bound` times the same figure of subject `of`."""

    bound: float
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number a case measures. `more_is_better` turns its limits into lower bounds, and how ratios are read."""

    key: str
    unit: str
    words: str
    more_is_better: bool = False
    limits: tuple[Limit, ...] = ()
    steady: bool = True
    """False: too dependent on chance or on the machine's load for `bench-check` to judge by."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How everything is run."""

    quick: bool
    """Small sizes: to see that it works, not to publish."""
    rounds: int
    kubeconfig: str
    """A real cluster's, or "" for the bundled server."""
    plain: bool
    """The bundled server speaks HTTP, without TLS and tokens."""
    tell: Callable[[str], None]
    """Takes a line about what is going on."""

    def size(self, full: int, quick: int) -> int:
        """How many objects, for this setting."""
        return quick if self.quick else full


Measure = Callable[[str], Mapping[str, float]]
"""Runs one subject once; gives its figures by key."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One benchmark: `open` prepares what all rounds share, and gives the function that measures one subject."""

    name: str
    words: str
    figures: tuple[Figure, ...]
    subjects: tuple[str, ...]
    open: Callable[[Setting], AbstractContextManager[Measure]]
    rounds: int = 3
    bundled_only: str = ""
    """What of the bundled server the case needs; "" if it runs on any."""
