"""Results of a run, stored as JSON with every measurement of every round."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.model import OURS, Case, Failed, Figure
from benchmarks.rounds import Outcome


class LimitResult(msgspec.Struct, frozen=True, kw_only=True):
    """Limit, and whether it was met; None if its reference was not measured."""

    bound: float
    of: str = ""
    met: bool | None = None


class FigureResult(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of all subjects."""

    unit: str
    words: str
    more_is_better: bool
    steady: bool
    rounds: dict[str, list[float]]
    limits: list[LimitResult]

    def median(self, subject: str) -> float | None:
        """Return the median of a subject; None if it has none."""
        return statistics.median(self.rounds[subject]) if self.rounds.get(subject) else None

    def ratio(self, subject: str) -> float | None:
        """Return the cost of the library relative to a subject: below 1 is better, also if more is better."""
        ours, theirs = self.median(OURS), self.median(subject)
        if ours is None or theirs is None or ours <= 0 or theirs <= 0:
            return None
        return theirs / ours if self.more_is_better else ours / theirs


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One case: figures by key, or the reason why there are none."""

    words: str
    date: str
    load: float
    """The machine's load average over the last minute, when the case began."""
    subjects: list[str]
    figures: dict[str, FigureResult]
    skipped: str = ""
    failures: dict[str, str] = {}


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or several partial ones."""

    machine: dict[str, str]
    versions: dict[str, str]
    quick: bool
    server: str
    cases: dict[str, CaseResult]


def found(outcome: Outcome, *, date: str, load: float) -> CaseResult:
    """Evaluate one case against its limits."""
    case = outcome.case
    figures = {figure.key: _figure(rounds, figure) for figure in case.figures if (rounds := _rounds(outcome, figure))}
    return CaseResult(
        words=case.words,
        date=date,
        load=load,
        subjects=[subject for subject in case.subjects if subject in outcome.figures],
        figures=figures,
        skipped=outcome.skipped,
        failures=dict(outcome.failures),
    )


def merged(old: Results | None, new: Results) -> Results:
    """Add the old cases that the new run lacks, if machine and versions are the same."""
    if old is None or old.quick != new.quick or old.machine != new.machine or old.versions != new.versions:
        return new
    return msgspec.structs.replace(new, cases={**old.cases, **new.cases})


def judged(results: Results, cases: Sequence[Case]) -> Results:
    """Judge each case by today's goals and its measurements alone; sort them in the order of `cases`."""
    stored = {case.name: _judged(results.cases[case.name], case) for case in cases if case.name in results.cases}
    return msgspec.structs.replace(results, cases=stored)


def _judged(stored: CaseResult, case: Case) -> CaseResult:
    figures = {
        item.key: _figure(stored.figures[item.key].rounds, item) for item in case.figures if item.key in stored.figures
    }
    return msgspec.structs.replace(stored, figures=figures)


def read(file: Path) -> Results | None:
    """Read results from a file; None if it does not exist.

    Raises:
        Failed: invalid content.
    """
    if not file.exists():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=Results)
    except msgspec.DecodeError as error:
        raise Failed(f"{file} does not hold results: {error}") from error


def write(results: Results, file: Path) -> None:
    """Store results in a file."""
    rounded = msgspec.json.encode(results)
    file.write_bytes(msgspec.json.format(rounded, indent=1) + b"\n")


def met(figure: FigureResult, bound: float, of: str) -> bool | None:
    """Return whether a limit is met; None if its reference was not measured."""
    if of:
        ratio = figure.ratio(of)
        return None if ratio is None else ratio <= (1 / bound if figure.more_is_better else bound)
    ours = figure.median(OURS)
    if ours is None:
        return None
    return ours >= bound if figure.more_is_better else ours <= bound


def _rounds(outcome: Outcome, figure: Figure) -> dict[str, list[float]]:
    return {
        subject: [float(f"{value:.6g}") for value in stored[figure.key]]
        for subject, stored in outcome.figures.items()
        if figure.key in stored
    }


def _figure(rounds: dict[str, list[float]], figure: Figure) -> FigureResult:
    bare = FigureResult(
        unit=figure.unit,
        words=figure.words,
        more_is_better=figure.more_is_better,
        steady=figure.steady,
        rounds=rounds,
        limits=[],
    )
    limits = [LimitResult(bound=li.bound, of=li.of, met=met(bare, li.bound, li.of)) for li in figure.limits]
    return msgspec.structs.replace(bare, limits=limits)
