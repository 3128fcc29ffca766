"""Runner of cases: every subject in turn, round after round, so that other load affects all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.model import GO, Case, Failed, Setting


@dataclass
class Outcome:
    """Result of one case: figures by subject, with one number per round; or the reason why there are none."""

    case: Case
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    skipped: str = ""
    failures: dict[str, str] = field(default_factory=dict)
    """By subject: what it said when it did not do its work."""


def run(case: Case, setting: Setting, subjects: Sequence[str] = ()) -> Outcome:
    """Measure one case; a subject that fails is skipped from then on."""
    outcome = Outcome(case)
    if setting.kubeconfig and case.bundled_only:
        outcome.skipped = f"needs {case.bundled_only}, which a real cluster does not give"
        return outcome
    expected = [s for s in case.subjects if (not subjects or s in subjects) and (s != GO or setting.go_controller)]
    rounds = max(1, min(case.rounds or setting.rounds, setting.rounds))
    try:
        with case.open(setting) as measure:
            for number in range(1, rounds + 1):
                for subject in expected:
                    if subject in outcome.failures:
                        continue
                    setting.tell(f"{case.name}: {subject}, round {number} of {rounds}")
                    try:
                        _keep(outcome, subject, measure(subject))
                    except Exception as error:  # noqa: BLE001  # hours of figures must not hang on one subject
                        outcome.failures[subject] = reason = sentence(error)
                        setting.tell(f"{case.name}: {subject} FAILED: {reason}")
    except Exception as error:  # noqa: BLE001  # nor on one case
        outcome.skipped = reason = sentence(error)
        setting.tell(f"{case.name} COULD NOT BE RUN: {reason}")
    return outcome


def sentence(error: Exception) -> str:
    """Describe an error in one line; the type is included for unexpected ones."""
    text = " ".join(str(error).split())
    return text if isinstance(error, Failed) else f"{type(error).__name__}: {text}"


def _keep(outcome: Outcome, subject: str, figures: Mapping[str, float]) -> None:
    stored = outcome.figures.setdefault(subject, {})
    for key, value in figures.items():
        # NaN: this server does not tell.
        if value == value:
            stored.setdefault(key, []).append(value)
