"""`clientgo perturb`: exit codes, selections, repeated and shrunk failures, and files."""

from pathlib import Path

import pytest

from clientgo.cli.__main__ import main

ROOT = Path(__file__).parents[2]
FILE = str(ROOT / "tests/perturb/scenarios.py")

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # the command imports from the folder
    monkeypatch.chdir(ROOT)


def test_correct_controller_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", FILE, "--scenario", "CORRECT", "--kind", "down,crash-before"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/")
    assert lines[0].endswith(" ok   reference")
    assert "plans passed in" in lines[-1]


def test_broken_controller_exits_with_1_and_the_failure_is_shrunk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", FILE, "--scenario", "broken", "--kind", "crash-before", "--shrink", "--quiet"]) == 1
    shrunk = capsys.readouterr().out.splitlines()[-1]
    _, _, command = shrunk.partition("with as few steps as possible: clientgo ")
    assert "--scenario broken --steps 1 --plan crash-before:2" in command
    assert main(command.split()) == 1


def test_plans_left_out_for_time_exit_with_3() -> None:
    assert main(["perturb", FILE, "--scenario", "CORRECT", "--kind", "crash-before", "--max-time", "0.000001"]) == 3


def test_page_and_junit_are_written(tmp_path: Path) -> None:
    html, junit = tmp_path / "report.html", tmp_path / "report.xml"
    options = ["--kind", "crash-before", "--html", str(html), "--junit", str(junit), "--scenario", "broken"]
    assert main(["perturb", FILE, *options]) == 1
    assert "<svg" in html.read_text()
    assert " --scenario broken --plan crash-before:" in html.read_text()
    assert "<failure" in junit.read_text()


def test_plans_and_oracles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", FILE, "--scenario", "CORRECT", "--list", "--kind", "crash-before"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["reference", "crash-before:1"]
    assert "oracle quiet: the operator stops writing" in lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "nope"], "no scenario 'nope': it has CORRECT, broken"),
        (["--plan", "crush:1"], "invalid plan 'crush:1': unknown kind 'crush'"),
        (["--shard", "2"], "invalid --shard '2': expected I/N, such as 1/4"),
        (["--steps", "a"], "invalid --steps 'a': expected numbers of steps, such as 1,3"),
        (["--", "operator"], "-- COMMAND is for the steps of a YAML file"),
    ],
    ids=["scenario", "plan", "shard", "steps", "command"],
)
def test_invalid_options_are_reported(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", FILE, *options]) == 1
    assert message in capsys.readouterr().err


def test_scenarios_of_a_file_are_named_and_repeated_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "two.py").write_text(
        "from clientgo.perturb import Scenario, create\n"
        "from tests.perturb.greetings import Correct, StatusFirst, greeting\n"
        'A = Scenario(Correct, [create(greeting())], name="first one")\n'
        'B = Scenario(StatusFirst, [create(greeting())], name="second one")\n'
    )
    assert main(["perturb", str(path), "--kind", "crash-before", "--quiet"]) == 1
    output = capsys.readouterr().out
    assert output.index("Scenario first one") < output.index("Scenario second one")
    assert f"clientgo perturb {path} --scenario 'second one' --plan crash-before:2" in output
