"""Waits of operators in other processes: learned from the timeline of a run."""

from clientgo.perturb.record import ScenarioRun, TimelineEntry, Violation
from clientgo.perturb.waiting import SHORTEST, Waiting
from clientgo.perturb.world import STARTS


def run_of(*entries: tuple[float, str, str]) -> ScenarioRun:
    return ScenarioRun(["create"], trace=[TimelineEntry(at, 0, lane, text) for at, lane, text in entries])


def learned(*entries: tuple[float, str, str]) -> Waiting:
    waiting = Waiting(settle=3.0)
    waiting.learn(run_of(*entries))
    return waiting


def test_operator_is_quiet_after_twice_its_longest_pause_within_a_step() -> None:
    waiting = learned(
        (0, "change", STARTS), (2, "read", "GET"), (5, "step", "1"), (5.5, "wrote", "#1"), (6, "saw", "a")
    )
    assert waiting.settle == 1.0


def test_times_of_starts_and_between_steps_do_not_count() -> None:
    waiting = learned((0, "change", STARTS), (2, "read", "GET"), (4.9, "step", "1"), (4.95, "saw", "a"))
    assert waiting.settle == SHORTEST


def test_runs_wait_at_their_end_for_as_long_as_the_scenario_says_unless_hurried() -> None:
    waiting = learned((0, "step", "1"), (0.5, "saw", "a"))
    assert (waiting.settle, waiting.last_settle) == (1.0, 3.0)
    with waiting.hurried():
        assert (waiting.settle, waiting.last_settle) == (1.0, 1.0)


def test_patience_is_that_for_a_late_retry_unless_one_was_seen() -> None:
    waiting = Waiting(settle=3.0)
    waiting.learn_retry(None)
    assert waiting.patience == waiting.max_patience == 90.0
    waiting.learn_retry(4.0)
    assert waiting.patience == 11.0


def test_finding_is_confirmed_once_for_all_plans_with_the_same_difference() -> None:
    waiting = Waiting(settle=3.0)
    waiting.confirm([Violation("final-state", "after step 1", ("- pods default/a is missing",))])
    assert waiting.is_confirmed([Violation("final-state", "after step 2", ("- pods default/a is missing",))])
    assert not waiting.is_confirmed([Violation("final-state", "after step 2", ("- pods default/b is missing",))])
