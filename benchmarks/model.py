"""Data model of benchmarks: cases, figures, subjects, limits.

Only ratios of one run hold on other machines. So every case runs the library (`OURS`), the minimum cost of the work
(`FLOOR`) and, if there are any, other libraries, in turn, round after round.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

OURS, FLOOR = "clientgo", "floor"
KOPF, OFFICIAL, LIGHTKUBE, URLLIB3 = "kopf", "official", "lightkube", "urllib3"
GO = "go"
"""Kubernetes' sample-controller; measured only where its program is given."""

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"


TIMED = frozenset({"s", "ms", "us", "/s", "%"})
"""Units of figures that depend on the machine."""


class Failed(Exception):
    """Failure of a subject, or a case that cannot run here; one line."""


@dataclass(frozen=True)
class Limit:
    """Goal of a figure: `bound` times the same figure of subject `of` in the same run.

    Without a subject it is the bound itself, for what does not depend on the machine: memory, counts, ratios.
    """

    bound: float
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number that a case measures. `more_is_better` makes its limits lower bounds and inverts ratios."""

    key: str
    unit: str
    words: str
    more_is_better: bool = False
    limits: tuple[Limit, ...] = ()
    steady: bool = True
    """False: too dependent on chance or on the machine's load for `bench-check` to judge by."""

    def __post_init__(self) -> None:
        if self.unit in TIMED and not all(limit.of for limit in self.limits):
            raise ValueError(f"{self.key}: a goal in {self.unit} holds on one machine; name the subject it refers to")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes and repetitions of a run."""

    quick: bool
    """Small sizes: to see that it works, not to publish."""
    rounds: int
    kubeconfig: str
    """A real cluster's, or "" for the bundled server."""
    go_controller: str = ""
    """Path of Kubernetes' sample-controller, or "" if there is none."""
    plain: bool
    """The bundled server speaks HTTP, without TLS and tokens."""
    tell: Callable[[str], None]
    """Takes a line about what is going on."""

    def size(self, full: int, quick: int) -> int:
        """Return the number of objects for this setting."""
        return quick if self.quick else full


Measure = Callable[[str], Mapping[str, float]]
"""Runs one subject once; gives its figures by key."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One benchmark: `open` prepares what all rounds share, and provides the function that measures one subject."""

    name: str
    words: str
    figures: tuple[Figure, ...]
    subjects: tuple[str, ...]
    open: Callable[[Setting], AbstractContextManager[Measure]]
    rounds: int = 0
    """Rounds at most; 0 for as many as requested."""
    bundled_only: str = ""
    """What of the bundled server the case needs; "" if it runs on any."""
