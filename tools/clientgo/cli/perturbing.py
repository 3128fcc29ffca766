"""`clientgo perturb`: proves the controllers of a file by perturbation, and tells what is wrong.

    clientgo perturb scenarios.py --html report.html
    clientgo perturb scenario.yaml -- ./operator --kubeconfig {kubeconfig}

A Python file defines `Scenario` objects, and may import modules of the current folder. Exit code 0: every plan passed;
1: some failed, or the file is invalid; 3: none failed, and some were not run because the time was over.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from clientgo.cli.creating import say
from clientgo.cli.names import CommandError
from clientgo.cli.onefile import load_file
from clientgo.perturb import PerturbResults, PlanResult, PlanSelection, Scenario, run_scenario
from clientgo.perturb.engine import Engine
from clientgo.perturb.files import read_scenario
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.page import page
from clientgo.perturb.plans import MAX_PER_KIND
from clientgo.perturb.programs.processes import OperatorCommand
from clientgo.perturb.report import groups, junit, progress, repeat, summary
from clientgo.perturb.running import SMOKE_LIMIT, shrunk

FAILED, UNFINISHED = 1, 3
"""Exit codes."""

WAITING = 2
"""Processes for each processor, for operators in other processes: their plans wait most of the time."""


def perturb(options: argparse.Namespace, root: Path) -> int:
    """Run the scenarios of a file; return the exit code.

    Raises:
        CommandError: the file has no such scenario, or an option is invalid.
    """
    selection = selection_of(options)
    sys.path.insert(0, str(root))
    scenarios, outcomes = _scenarios(options), []
    for scenario in scenarios:
        if len(scenarios) > 1:
            options.scenario = scenario.name  # which the command has that repeats a plan
            say(f"Scenario {scenario.name}")
        if options.list:
            _list(scenario, selection)
            continue
        outcomes.append(_run(scenario, selection, options))
    _write_files(outcomes, options)
    if any(results.failed for results in outcomes):
        return FAILED
    return UNFINISHED if any(results.left_out for results in outcomes) else 0


def selection_of(options: argparse.Namespace) -> PlanSelection:
    """Return the selection that the options describe; CommandError if one is invalid."""
    part, slash, total = options.shard.partition("/")
    if not (slash and part.isdigit() and total.isdigit()):
        raise CommandError(f"invalid --shard {options.shard!r}: expected I/N, such as 1/4")
    if wrong := [text for text in options.steps if not text.isdigit()]:
        raise CommandError(f"invalid --steps {wrong[0]!r}: expected numbers of steps, such as 1,3")
    return PlanSelection(
        plans=options.plan,
        only=options.kind,
        limit=SMOKE_LIMIT if options.smoke else MAX_PER_KIND,
        steps=[int(text) for text in options.steps],
        shard=(int(part), int(total)),
        max_time=options.max_time,
        processes=options.processes or (os.cpu_count() or 1) * (WAITING if options.arguments else 1),
    )


def _scenarios(options: argparse.Namespace) -> list[Scenario]:
    if options.file.suffix in (".yaml", ".yml"):
        return [read_scenario(options.file, OperatorCommand(options.arguments))]
    if options.arguments:
        raise CommandError("-- COMMAND is for the steps of a YAML file")
    values = vars(load_file(options.file)).items()
    scenarios = [replace(v, name=name) if v.name == "scenario" else v for name, v in values if isinstance(v, Scenario)]
    chosen = [scenario for scenario in scenarios if options.scenario in ("", scenario.name)]
    if not chosen:
        names = ", ".join(scenario.name for scenario in scenarios)
        raise CommandError(
            f"{options.file}: no scenario {options.scenario!r}: it has {names}"
            if scenarios
            else f"{options.file}: no scenario found: define one as SCENARIO = Scenario(...)"
        )
    return chosen


def _run(scenario: Scenario, selection: PlanSelection, options: argparse.Namespace) -> PerturbResults:
    def tell(result: PlanResult, done: int, total: int, seconds_left: float) -> None:
        if not (options.quiet and result.passed):
            say(progress(result, done, total, seconds_left))

    try:
        results = run_scenario(scenario, selection, tell)
    except ValueError as error:
        raise CommandError(str(error)) from error
    command = _command(options, scenario)
    say(summary(results, command=command))
    for group in groups(results.results) if options.shrink else ():
        steps, shortest = shrunk(results.scenario, group[0])
        chosen = [selection.steps[step - 1] for step in steps] if selection.steps else steps
        fewest = replace(results, steps=tuple(chosen))
        say(f"{group[0].plan}, with as few steps as possible: {repeat(fewest, shortest, command)}")
    return results


def _list(scenario: Scenario, selection: PlanSelection) -> None:
    for plan in selection.chosen(Engine(selection.scenario(scenario))):
        say(str(plan))
    for name, oracle in ORACLES.items():
        say(f"oracle {name}: {oracle.explanation}")


def _command(options: argparse.Namespace, scenario: Scenario) -> str:
    name = f" --scenario {shlex.quote(scenario.name)}" if options.scenario else ""
    operator = f" -- {' '.join(options.arguments)}" if options.arguments else ""
    return f"clientgo perturb {options.file}{name}{{steps}} --plan {{plan}}{operator}"


def _write_files(outcomes: Sequence[PerturbResults], options: argparse.Namespace) -> None:
    for number, results in enumerate(outcomes):
        html = partial(page, command=_command(options, results.scenario))
        for path, text in ((options.html, html), (options.junit, junit)):
            if path is not None:
                target = path if len(outcomes) == 1 else path.with_stem(f"{path.stem}-{number + 1}")
                target.write_text(text(results), encoding="utf-8")
