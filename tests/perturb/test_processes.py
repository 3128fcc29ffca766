"""Operators in other processes: killed, paused, and perturbed at the server."""

import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clientgo.errors import ConfigError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.perturb import PlanSelection, create, delete, run_scenario
from clientgo.perturb.files import read_scenario
from clientgo.perturb.programs.processes import OperatorCommand
from tests.perturb.greetings import greeting
from tests.processes import Child

HERE = Path(__file__).parent / "processes"

pytestmark = pytest.mark.e2e


def command(kind: str) -> OperatorCommand:
    return OperatorCommand([sys.executable, str(HERE / "program.py"), kind, "{kubeconfig}"])


def verdicts(kind: str, *plans: str, settle: float = 1.0) -> dict[str, str]:
    scenario = replace(read_scenario(HERE / "scenario.yaml", command(kind)), settle=settle)
    results = run_scenario(scenario, PlanSelection(plans=plans, steps=[1, 2]))
    return {str(result.plan): result.findings[0].oracle if result.findings else "" for result in results}


def test_broken_operator_is_found_by_a_kill() -> None:
    results = verdicts("status-first", "reference", "crash-stored:1", settle=0.5)
    assert results == {"reference": "", "crash-stored:1": "final-state"}


@pytest.mark.slow
def test_correct_operator_survives_one_plan_of_each_kind() -> None:
    plans = [
        "crash-before:1", "crash-after:2", "error-409:1", "timeout-after:1", "leader-paused:1", "down:2",
        "stale:w2:all:0", "late:configmaps:1:quiet", "unobserved:greetings.greetings.example.com:default/a:1",
    ]  # fmt: skip
    assert verdicts("correct", *plans) == dict.fromkeys(plans, "")


def test_wrong_state_counts_only_after_the_time_of_a_retry() -> None:
    assert verdicts("retries-late", "error-500:1") == {"error-500:1": ""}


def test_deletion_for_what_was_never_seen_is_not_asked_for() -> None:
    old = ConfigMap(metadata=ObjectMeta(name="old", namespace="default"))
    scenario = replace(
        read_scenario(HERE / "scenario.yaml", command("evicts")),
        steps=[create(old), create(greeting("old")), delete(greeting())],
    )
    plan = "unobserved:greetings.greetings.example.com:default/a:1"
    [result] = run_scenario(scenario, PlanSelection(plans=[plan])).results
    assert result.passed
    assert result.run.states[-1].find("configmaps", "old") is not None, "the plan does not show what it should"


def test_operator_that_ends_after_an_injected_error_is_started_again() -> None:
    assert verdicts("ends", "error-500:1", "error-409:2") == {"error-500:1": "", "error-409:2": ""}


def test_plans_share_a_start_of_the_operator(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    operator = OperatorCommand(command("correct").arguments, environ={"STARTS": str(starts)})
    plans = ["error-409:1", "error-500:1", "timeout-after:1", "error-429:2"]
    run_scenario(read_scenario(HERE / "scenario.yaml", operator), PlanSelection(plans=plans)).check()
    learning = 2
    # One for all plans; one more for a plan that fails on a busy machine, and is repeated from a fresh start.
    assert len(starts.read_text().splitlines()) < learning + len(plans)


SERVER = """
import re, sys, time, urllib.request
server = re.search("server: (.*)", open(sys.argv[1]).read())[1].strip("'\\"")
"""
WATCHES = """
urllib.request.urlopen(server + "/api/v1/pods?watch=true&timeoutSeconds=1").read()
sys.exit("the watch has ended")
"""
POLLS = """
while True:
    urllib.request.urlopen(server + "/api/v1/pods").read()
    time.sleep(0.3)
"""


def test_operator_that_polls_for_ever_becomes_quiet() -> None:
    scenario = read_scenario(
        HERE / "scenario.yaml", OperatorCommand([sys.executable, "-c", SERVER + POLLS, "{kubeconfig}"])
    )
    [result] = run_scenario(scenario, PlanSelection(plans=["reference"], steps=[1]))
    assert result.passed, result.verdict


def test_watch_ends_after_the_time_that_the_client_asks_for() -> None:
    operator = OperatorCommand([sys.executable, "-c", SERVER + WATCHES, "{kubeconfig}"])
    [result] = run_scenario(read_scenario(HERE / "scenario.yaml", operator), PlanSelection(plans=["reference"]))
    assert result.findings[0].text == "the operator ends: exit code 1: the watch has ended"


def test_operator_that_ends_is_a_bug() -> None:
    scenario = read_scenario(
        HERE / "scenario.yaml", OperatorCommand([sys.executable, "-c", "raise SystemExit('no config')"])
    )
    [result] = run_scenario(scenario, PlanSelection(plans=["reference"]))
    assert [str(finding) for finding in result.findings] == ["bug: the operator ends: exit code 1: no config"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_operator_ends_with_the_command(tmp_path: Path, number: signal.Signals, processes: str) -> None:
    program = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        operator = [sys.executable, "-c", program, str(server.getsockname()[1])]
        arguments = ["perturb", str(HERE / "scenario.yaml"), "--processes", processes, "--", *operator]
        with Child([sys.executable, "-m", "clientgo", *arguments], tmp_path / "output") as perturb:
            connection, _ = server.accept()
            perturb.process.send_signal(number)
            with connection:
                connection.settimeout(30)
                assert connection.recv(1) == b""
            assert perturb.process.wait(30) == 128 + number


def test_command_that_cannot_start_is_reported() -> None:
    scenario = read_scenario(HERE / "scenario.yaml", OperatorCommand(["./no-such-operator"]))
    with pytest.raises(ConfigError, match=r"cannot start the operator \./no-such-operator: No such file"):
        run_scenario(scenario, PlanSelection(plans=["reference"]))
    with pytest.raises(ConfigError, match="command is empty"):
        OperatorCommand([])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: {}", "steps must be a list"),
        ("steps: []\nstep: 1", "unknown field 'step'"),
        ("steps: [{run: x}]", "step 1 must have one of create, patch, replace, delete, ready, advance"),
        ("steps: [{create: {kind: Foo}}]", "step 1 must have objects with apiVersion, kind and metadata"),
        ("steps: [{create: []}]", "create in step 1 must have one object or more"),
        ("steps: [{patch: []}]", "patch in step 1 must have one object"),
        ("steps: [{advance: x}]", "invalid time 'x' of advance: expected seconds"),
        ("{steps: [{advance: 1}], crds: a}", "crds must be a list"),
        ("{steps: [{advance: 1}], settle: a}", "invalid settle of scenario scenario: Expected `float`, got `str`"),
        ("{steps: [{advance: 1}], settle: -1}", "invalid settle of scenario scenario: expected seconds, not -1"),
        ("{steps: [{advance: 1}], ignore: foos}", "invalid ignore of scenario scenario: Expected `array`, got `str`"),
        ("{steps: [{advance: 1}], allow: {pods: x}}", "invalid allow of scenario scenario: Expected `int`, got `str`"),
        ("{steps: [{advance: 1}], name: 5}", "invalid name of scenario 5: Expected `str`, got `int`"),
    ],
    ids=lambda value: value[:40],
)
def test_invalid_scenarios_are_rejected(tmp_path: Path, text: str, message: str) -> None:
    (path := tmp_path / "scenario.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_scenario(path, command("correct"))
