"""Commands in pods, under perturbation: a command is a write, and its output passes when the engine lets it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clientgo.perturb import PerturbResults, PlanSelection, perturb, run_scenario
from clientgo.perturb.files import read_scenario
from clientgo.perturb.programs.processes import OperatorCommand
from tests.perturb.dumps import STEPS, AsyncDumps, Dumps, Impatient, Patient, ReportsFirst, Unlucky


def writes(results: PerturbResults) -> list[str]:
    return [f"{write}: {write.status}" for write in results.results[0].run.writes]


def output(results: PerturbResults) -> Any:
    return results.results[0].run.states[-1].find("configmaps", "a")["data"]["output"]  # type: ignore[index]


@pytest.mark.parametrize("cls", [Dumps, AsyncDumps, Patient])
def test_operator_that_runs_commands_survives_faults_around_them(cls: type[Dumps]) -> None:
    plans = ["reference", *(f"{kind}:1" for kind in ("crash-before", "crash-stored", "crash-after", "timeout-after"))]
    results = perturb(cls, STEPS, plans=[*plans, "error-500:1", "leader-paused:1"])
    results.check()
    assert writes(results)[0] == "#1 CONNECT pods default/db/exec: 101"
    assert output(results) == ("late" if cls is Patient else "dump")
    assert len(writes(results)) == 3


def test_crash_before_a_command_finds_what_was_reported_too_early() -> None:
    results = perturb(ReportsFirst, STEPS, only=["crash-before", "crash-after"])
    failed = {str(result.plan) for result in results.failed}
    assert failed == {"crash-before:2", "crash-before:3", "crash-after:1", "crash-after:2"}


@pytest.mark.parametrize("cls", [Impatient, Unlucky])
def test_command_without_an_end_fails_and_is_tried_again(cls: type[Dumps]) -> None:
    results = perturb(cls, STEPS, plans=["reference", "crash-after:2"])
    results.check()
    assert len(writes(results)) > 3
    assert set(writes(results)) <= {f"#{number} CONNECT pods default/db/exec: 101" for number in range(50)}
    assert results.results[0].run.states[-1].find("configmaps", "a") is None


HERE = Path(__file__).parent / "processes"
SPDY = """
import http.client, sys, time
from clientgo.rest import load_config
connection = http.client.HTTPConnection(load_config(kubeconfig=sys.argv[1]).host.removeprefix("http://"))
connection.request("POST", "/api/v1/namespaces/default/pods/db/exec?command=ls&stdout=true",
                   headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})
connection.getresponse()
time.sleep(60)
"""


def process(*arguments: str, plans: Sequence[str] = ("reference", "crash-after:1")) -> PerturbResults:
    command = OperatorCommand([sys.executable, *arguments, "{kubeconfig}"])
    return run_scenario(read_scenario(HERE / "commands.yaml", command), PlanSelection(plans=plans))


@pytest.mark.e2e
def test_operator_in_another_process_runs_commands() -> None:
    results = process(str(HERE / "program.py"), "dumps")
    results.check()
    assert writes(results)[0] == "#1 CONNECT pods default/db/exec: 101"
    assert output(results) == "dump"


@pytest.mark.e2e
def test_stream_that_is_no_websocket_fails_the_run() -> None:
    verdict = process("-c", SPDY, plans=["reference"]).results[0].verdict
    assert "not supported: POST /api/v1/namespaces/default/pods/db/exec with SPDY/3.1: use WebSockets" in verdict
