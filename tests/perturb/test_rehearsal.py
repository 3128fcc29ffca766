"""Runs that are played again with more time, and compared."""

from typing import Any

import pytest

pytest.importorskip("clientgo_apiserver")

from clientgo.perturb import ScenarioRun
from clientgo.perturb.compare import Masks
from clientgo.perturb.kinds.rehearsal import Moment, Rehearsal
from clientgo.perturb.state import ClusterState
from clientgo.perturb.steps import ScenarioStep


def _run(**options: Any) -> ScenarioRun:
    return ScenarioRun(["create", "wait"], states=[ClusterState({}), ClusterState({})], **options)


REHEARSAL = Rehearsal(_run(), [], Masks(), lambda *_: _run())


def test_repeated_runs_are_played_once_for_all_comparisons() -> None:
    played: list[ScenarioRun] = []

    def play(_: ScenarioStep) -> ScenarioRun:
        played.append(_run())
        return played[-1]

    again = REHEARSAL.repeated(play, play)
    assert again() == again() == (Moment(played[0], -1), Moment(played[1], -1))
    assert len(played) == 2


def test_operator_that_writes_for_ever_as_time_passes_is_compared() -> None:
    again = REHEARSAL.repeated(lambda _: _run(noise="not quiet"), lambda _: _run())
    assert again() is not None


@pytest.mark.parametrize(
    "cut", [None, _run(failure="step 1 failed"), _run(exit="code 1"), ScenarioRun(["create", "wait"])]
)
def test_run_that_does_not_get_to_its_end_is_not_compared(cut: ScenarioRun | None) -> None:
    assert REHEARSAL.repeated(lambda _: _run(), lambda _: cut)() is None
