"""Runs cases: every subject in turn, round after round, so that a busy minute spoils the same round of all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.model import Case, Failed, Setting


@dataclass
class Outcome:
    """What one case gave: figures by subject, a list of one number a round; or why there are none."""

    case: Case
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    skipped: str = ""
    failures: dict[str, str] = field(default_factory=dict)
    """By subject: what it said when it did not do its work."""


def run(case: Case, setting: Setting, subjects: Sequence[str] = ()) -> Outcome:
    """Measure one case; a subject that fails, in whatever way, is left out from then on, and the others go on."""
    outcome = Outcome(case)
    if setting.kubeconfig and case.bundled_only:
        outcome.skipped = f"needs {case.bundled_only}, which a real cluster does not give"
        return outcome
    wanted = [s for s in case.subjects if not subjects or s in subjects]
    rounds = max(1, min(case.rounds, setting.rounds))
    try:
        with case.open(setting) as measure:
            for number in range(1, rounds + 1):
                for subject in wanted:
                    if subject in outcome.failures:
                        continue
                    setting.tell(f"{case.name}: {subject}, round {number} of {rounds}")
                    try:
                        _keep(outcome, subject, measure(subject))
                    except Exception as error:  # noqa: BLE001  # hours of figures must not hang on one subject
                        outcome.failures[subject] = why = sentence(error)
                        setting.tell(f"{case.name}: {subject} FAILED: {why}")
    except Exception as error:  # noqa: BLE001  # nor on one case
        outcome.skipped = why = sentence(error)
        setting.tell(f"{case.name} COULD NOT BE RUN: {why}")
    return outcome


def sentence(error: Exception) -> str:
    """What went wrong, in one line; the type is said of what was not foreseen."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Failed) else f"{type(error).__name__}: {text}"


def _keep(outcome: Outcome, subject: str, figures: Mapping[str, float]) -> None:
    kept = outcome.figures.setdefault(subject, {})
    for key, value in figures.items():
        # NaN: this server does not tell.
        if value == value:
            kept.setdefault(key, []).append(value)
