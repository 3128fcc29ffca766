"""Comparison with the stored results: figures that became worse relative to the floor and the peers.

Only ratios are compared: they hold on other machines.
"""

from dataclasses import dataclass

from benchmarks.model import OURS
from benchmarks.results import CaseResult, Results

TOLERATED = 1.2


@dataclass(frozen=True)
class Loss:
    """Figure that became worse relative to one subject."""

    case: str
    figure: str
    subject: str
    before: float
    now: float

    def __str__(self) -> str:
        change = f"{100 * (self.now / self.before - 1):+.0f} %"
        return f"{self.case}, {self.figure}: {self.now:.2f} x {self.subject} in place of {self.before:.2f} ({change})"


def has_ratios(case: CaseResult) -> bool:
    """Return whether a case has a subject that the library can be compared with."""
    return any(
        figure.ratio(subject) for figure in case.figures.values() for subject in case.subjects if subject != OURS
    )


def losses(before: Results, now: Results, *, tolerated: float = TOLERATED) -> list[Loss]:
    """Return the figures that became worse than tolerated relative to most subjects.

    Most, not any: one fast measurement of a peer is not a regression.
    """
    return [
        loss
        for name, case in now.cases.items()
        if name in before.cases
        for loss in _lost(name, before.cases[name], case, tolerated)
    ]


def _lost(name: str, before: CaseResult, now: CaseResult, tolerated: float) -> list[Loss]:
    lost: list[Loss] = []
    for key, figure in now.figures.items():
        old = before.figures.get(key)
        if old is None or not figure.steady:
            continue
        compared = [
            Loss(name, figure.words, subject, was, ratio)
            for subject in now.subjects
            if subject != OURS and (was := old.ratio(subject)) and (ratio := figure.ratio(subject))
        ]
        dearer = [loss for loss in compared if loss.now > tolerated * loss.before]
        if 2 * len(dearer) > len(compared):
            lost += dearer
    return lost
