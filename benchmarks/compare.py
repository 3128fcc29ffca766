"""Whether the product has become dearer against its floor and its peers than it was when results were last kept.

Ratios only: they hold on another machine, figures do not.
"""

from dataclasses import dataclass

from benchmarks.model import OURS
from benchmarks.results import CaseFound, Results

TOLERATED = 1.2


@dataclass(frozen=True)
class Loss:
    """One figure that got dearer against one subject."""

    case: str
    figure: str
    subject: str
    before: float
    now: float

    def __str__(self) -> str:
        change = f"{100 * (self.now / self.before - 1):+.0f} %"
        return f"{self.case}, {self.figure}: {self.now:.2f} x {self.subject} in place of {self.before:.2f} ({change})"


def losses(before: Results, now: Results, *, tolerated: float = TOLERATED) -> list[Loss]:
    """Every case's lost figures; a figure counts as lost when against most subjects it got dearer than tolerated.

    Against most, not any: a peer that one day is lucky must not make the product look bad.
    """
    return [
        loss
        for name, case in now.cases.items()
        if name in before.cases
        for loss in _lost(name, before.cases[name], case, tolerated)
    ]


def _lost(name: str, before: CaseFound, now: CaseFound, tolerated: float) -> list[Loss]:
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
