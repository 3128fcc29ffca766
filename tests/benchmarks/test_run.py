"""The benchmark command: progress, and results that survive a later failure."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.__main__ import main
from benchmarks.model import FLOOR, KOPF, OURS, RESULTS, Case, Failed, Figure, Limit, Measure, Setting
from benchmarks.plot import COURSES, Course, summarize
from benchmarks.results import read


def case(name: str, costs: Mapping[str, float], error: BaseException | None = None) -> Case:
    """Return a case whose subjects have these costs; a subject without one raises the error."""

    def measure(subject: str) -> Mapping[str, float]:
        if subject not in costs:
            raise error or Failed("no such subject")
        return {"cpu": costs[subject]}

    @contextmanager
    def opened(_: Setting) -> Iterator[Measure]:
        yield measure

    figures = (Figure(key="cpu", unit="s", words="processor time"),)
    return Case(name=name, words="something", figures=figures, subjects=(OURS, FLOOR, KOPF), open=opened, rounds=1)


def bench(output: Path, *arguments: str, cases: Sequence[Case], used: float = 0.0) -> int:
    """Run the command on a machine where other processes use some cores."""
    return main(["--output", str(output), *arguments], cases, lambda: used)


ALL = {OURS: 1.0, FLOOR: 0.5, KOPF: 4.0}


def test_interrupted_run_keeps_every_case_that_was_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case("first", ALL), case("second", {OURS: 1.0}, KeyboardInterrupt())]
    assert bench(tmp_path, cases=cases) == 130
    assert list(stored.cases if (stored := read(tmp_path / "latest.json")) else []) == ["first"]
    assert "## first" in (tmp_path / "latest.md").read_text()
    assert (tmp_path / "latest.png").read_bytes().startswith(b"\x89PNG")
    assert "are kept in" in capsys.readouterr().err


def test_summary_is_drawn_only_if_every_headline_was_measured(tmp_path: Path) -> None:
    stored = read(RESULTS / "latest.json")
    assert stored is not None
    summarize(stored, tmp_path / "summary.png")
    assert (tmp_path / "summary.png").read_bytes().startswith(b"\x89PNG")
    partial = replace(stored, cases={name: item for name, item in stored.cases.items() if name != "idle"})
    summarize(partial, tmp_path / "partial.png")
    assert not (tmp_path / "partial.png").exists()


@pytest.mark.parametrize(("chart", "course"), COURSES.items())
def test_course_is_drawn_only_if_it_was_measured(chart: str, course: Course, tmp_path: Path) -> None:
    bench(tmp_path, cases=[case("first", ALL)])
    assert not (tmp_path / f"latest-{chart}.png").exists()
    keys = [f"{key}_{number}" for key, _ in course.panels for number in (1, 1_000_000)]
    figures = tuple(Figure(key=key, unit="", words=key) for key in keys)

    @contextmanager
    def opened(_: Setting) -> Iterator[Measure]:
        yield lambda _: dict.fromkeys(keys, 1.0)

    bench(tmp_path, cases=[Case(name=course.case, words="m", figures=figures, subjects=(OURS,), open=opened)])
    assert (tmp_path / f"latest-{chart}.png").read_bytes().startswith(b"\x89PNG")


def test_progress_names_case_subject_and_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench(tmp_path, "--case", "second", cases=[case("first", ALL), case("second", ALL)])
    err = capsys.readouterr().err
    assert "second, case 1 of 1: something" in err
    assert "second: kopf, round 1 of 1" in err
    assert "first" not in err


def test_peer_that_fails_stands_in_the_table_and_fails_no_run(tmp_path: Path) -> None:
    cases = [case("first", {OURS: 1.0, FLOOR: 0.5}, OSError("no route")), case("second", ALL)]
    assert bench(tmp_path, cases=cases) == 0
    page = (tmp_path / "latest.md").read_text()
    assert "kopf failed: OSError: no route" in page
    assert "| processor time | 1 s |  | 0.5 s (2.00 x) | 4 s (0.25 x) |" in page


def test_run_in_which_the_product_fails_has_failed(tmp_path: Path) -> None:
    assert bench(tmp_path, cases=[case("first", {FLOOR: 1.0}, Failed("broken"))]) == 1


def test_check_compares_ratios_and_is_not_misled_by_a_slower_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench(tmp_path, cases=[case("first", ALL)])
    slower = {subject: 3 * cost for subject, cost in ALL.items()}
    assert bench(tmp_path, "--check", cases=[case("first", slower)]) == 0
    assert bench(tmp_path, "--check", cases=[case("first", {**ALL, OURS: 1.5})]) == 1
    assert "LOST: first, processor time: 3.00 x floor in place of 2.00 (+50 %)" in capsys.readouterr().out


def test_check_measures_only_cases_with_a_subject_to_compare_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = dataclasses.replace(case("alone", {OURS: 1.0}), subjects=(OURS,))
    bench(tmp_path, cases=[case("first", ALL), alone])
    capsys.readouterr()
    assert bench(tmp_path, "--check", cases=[case("first", ALL), alone]) == 0
    err = capsys.readouterr().err
    assert "alone: not measured, latest.json has no other subject to compare with" in err
    assert "alone: clientgo, round 1" not in err


def test_busy_machine_is_refused_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench(tmp_path, cases=[case("first", ALL)], used=0.5) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "the machine is busy: other processes use 0.50 cores, more than 0.25; end them, or add --busy"
    )
    assert not (tmp_path / "latest.json").exists()
    assert bench(tmp_path, "--busy", cases=[case("first", ALL)], used=0.5) == 0


def test_machine_that_becomes_quiet_is_waited_for(tmp_path: Path) -> None:
    looks = iter([1.5, 0.5, 0.1])
    assert main(["--output", str(tmp_path)], [case("first", ALL)], lambda: next(looks)) == 0
    assert list(looks) == []


def test_stored_results_are_judged_by_the_goals_of_today(tmp_path: Path) -> None:
    first, second = case("first", ALL), case("second", ALL)
    bench(tmp_path, cases=[first, second])
    goal = Figure(key="cpu", unit="s", words="processor time", limits=(Limit(1.5, FLOOR),))
    bench(tmp_path, "--case", "second", cases=[dataclasses.replace(first, figures=(goal,)), second])
    assert "- first, processor time: 1 s in place of ≤ 1.5 x floor" in (tmp_path / "latest.md").read_text()
