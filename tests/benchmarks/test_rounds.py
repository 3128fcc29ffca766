"""Rounds of the benchmarks: every subject in turn; failures are reported and skipped."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from benchmarks.model import FLOOR, GO, KOPF, OURS, Case, Failed, Figure, Measure, Setting
from benchmarks.rounds import run

SETTING = Setting(quick=True, rounds=2, kubeconfig="", plain=False, tell=lambda _: None)


class Subjects:
    """Subjects that record their measurements; those in `broken` fail."""

    def __init__(self, *broken: str, opens: bool = True, error: type[BaseException] = Failed) -> None:
        self.measured: list[str] = []
        self._broken = broken
        self._opens = opens
        self._error = error

    @contextmanager
    def open(self, _: Setting) -> Iterator[Measure]:
        if not self._opens:
            raise Failed("server not found")
        yield self.measure

    def measure(self, subject: str) -> Mapping[str, float]:
        self.measured.append(subject)
        if subject in self._broken:
            raise self._error(f"{subject}\n broke")
        return {"cpu": float(len(self.measured)), "writes": float("nan")}


def case(subjects: Subjects, **changes: object) -> Case:
    figures = (Figure(key="cpu", unit="s", words="processor time"),)
    built = Case(name="some", words="", figures=figures, subjects=(OURS, FLOOR, KOPF), open=subjects.open)
    return replace(built, **changes)  # type: ignore[arg-type]


def test_subjects_take_turns() -> None:
    subjects = Subjects()
    outcome = run(case(subjects), SETTING)
    assert subjects.measured == [OURS, FLOOR, KOPF] * 2
    assert outcome.figures[KOPF]["cpu"] == [3.0, 6.0]


def test_go_is_measured_only_where_its_program_is_given() -> None:
    subjects = Subjects()
    compared = replace(case(subjects), subjects=(OURS, GO), rounds=1)
    run(compared, SETTING)
    run(compared, replace(SETTING, go_controller="sample-controller"))
    assert subjects.measured == [OURS, OURS, GO]


def test_what_a_server_does_not_tell_is_left_out() -> None:
    assert "writes" not in run(case(Subjects()), SETTING).figures[OURS]


def test_subject_that_fails_is_left_out_and_the_others_go_on() -> None:
    subjects = Subjects(FLOOR)
    outcome = run(case(subjects), SETTING)
    assert subjects.measured == [OURS, FLOOR, KOPF, OURS, KOPF]
    assert outcome.failures == {FLOOR: "floor broke"}


def test_unexpected_error_of_one_subject_is_one_line_and_does_not_affect_others() -> None:
    outcome = run(case(Subjects(KOPF, error=KeyError)), SETTING)
    assert outcome.failures == {KOPF: "KeyError: 'kopf\\n broke'"}
    assert len(outcome.figures[OURS]["cpu"]) == len(outcome.figures[FLOOR]["cpu"]) == 2


def test_case_that_can_not_be_opened_says_why() -> None:
    assert run(case(Subjects(opens=False)), SETTING).skipped == "server not found"


def test_subjects_can_be_chosen() -> None:
    subjects = Subjects()
    run(case(subjects), SETTING, [OURS, KOPF])
    assert subjects.measured == [OURS, KOPF] * 2


@pytest.mark.parametrize(("local", "requested", "rounds"), [(0, 5, 5), (2, 5, 2), (5, 1, 1)])
def test_case_has_the_requested_rounds_up_to_its_own_limit(local: int, requested: int, rounds: int) -> None:
    subjects = Subjects()
    run(case(subjects, rounds=local), replace(SETTING, rounds=requested))
    assert subjects.measured == [OURS, FLOOR, KOPF] * rounds


def test_figures_of_the_bundled_server_are_skipped_on_a_real_cluster() -> None:
    subjects = Subjects()
    outcome = run(case(subjects, bundled_only="its audit"), replace(SETTING, kubeconfig="some"))
    assert subjects.measured == []
    assert "its audit" in outcome.skipped
