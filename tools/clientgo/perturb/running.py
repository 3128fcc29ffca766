"""Runs of a scenario's plans: all or some, in one process or several, within a time; and with fewer steps."""

import gc
import multiprocessing
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.sharedctypes import Synchronized
from typing import Any, cast

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError
from clientgo.internal.collector import without_collection
from clientgo.perturb.engine import Engine, PerturbResults, PlanResult
from clientgo.perturb.plans import MAX_PER_KIND, PLANS, REFERENCE, TRANSITION, Plan
from clientgo.perturb.programs.inprocess import Operators
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.scenario import Scenario
from clientgo.perturb.steps import ScenarioStep

SMOKE_LIMIT = 2
"""Plans of each kind in a smoke test."""

MAX_RUNS = 60
"""Runs to look for the fewest steps of one failure."""

_PER_STEP = 12  # plans of a kind to try for each step that is left out

PLANS_BETWEEN_COLLECTIONS = 4
"""Plans after which their garbage is collected, about 10 MB each: that of new objects, which costs little."""

PLANS_BETWEEN_FULL_COLLECTIONS = 64
"""Plans after which all objects are looked at, also those that were in use at the former collections."""

Progress = Callable[[PlanResult, int, int, float], object]
"""Called after each plan with its result, the number of plans that have run, that of all, and the seconds left."""


@dataclass(frozen=True, kw_only=True)
class PlanSelection:
    """Selection of plans, and the limits of their runs.

    `plans` are names of single plans, `only` are kinds of plans, of which at most `limit` each run; `steps` are the
    numbers of the scenario's steps to run, from 1. `shard` (i, n) runs every n-th plan from the i-th. No plan begins
    after `max_time` seconds. Plans run in `processes` processes, if the program can be forked.
    """

    plans: Sequence[str] = ()
    only: Sequence[str] = ()
    limit: int = MAX_PER_KIND
    steps: Sequence[int] = ()
    shard: tuple[int, int] = (1, 1)
    max_time: float = 0.0
    processes: int = 1

    def __post_init__(self) -> None:
        if unknown := set(self.only) - PLANS.keys():
            raise ConfigError(f"invalid kind of plan {min(unknown)!r}: expected one of {', '.join(PLANS)}")
        part, total = self.shard
        if not 1 <= part <= total:
            raise ConfigError(f"invalid shard {part}/{total}: expected 1/{total} to {total}/{total}")

    def scenario(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the chosen steps; ConfigError if there is no such step."""
        if not self.steps:
            return scenario
        if unknown := [number for number in self.steps if not 1 <= number <= len(scenario.steps)]:
            raise ConfigError(f"invalid step {unknown[0]}: scenario {scenario.name} has {len(scenario.steps)} steps")
        return replace(scenario, steps=[scenario.steps[number - 1] for number in self.steps])

    def chosen(self, engine: Engine) -> list[Plan]:
        """Return the plans; the reference first, if they are derived from it."""
        if self.plans:
            return [Plan.parse(name) for name in self.plans]
        part, total = self.shard
        reference, *plans = engine.plans(self.only, self.limit)
        return [reference, *plans[part - 1 :: total]]


def perturb(
    setup: Operators,
    steps: Sequence[ScenarioStep],
    *,
    plans: Sequence[str] = (),
    only: Sequence[str] = (),
    limit: int = MAX_PER_KIND,
    processes: int = 1,
    **options: Any,
) -> PerturbResults:
    """Perturb an operator in every way that is derived from a scenario, and return a result for each plan.

    `plans` are the names of single plans to repeat, such as `crash-stored:3`; `only` are the kinds of plans to derive
    (see `clientgo.perturb.plans.PLANS`), at most `limit` of each kind. The other options are those of `Scenario`,
    such as `ignore`, `allow`, `lasting` and `off` for what does not count.

    Raises:
        ConfigError: a kind has no CRD, or an option is invalid.
        ValueError: there is no such plan.
    """
    selection = PlanSelection(plans=plans, only=only, limit=limit, processes=processes)
    return run_scenario(Scenario(setup, steps, **options), selection)


def run_scenario(
    scenario: Scenario, selection: PlanSelection = PlanSelection(), progress: Progress | None = None
) -> PerturbResults:
    """Run the selected plans of a scenario.

    Raises:
        ConfigError: a kind has no CRD, or the selection is invalid.
        ValueError: there is no such plan.
    """
    # Everything that a run creates is in one generation at its end, which each collection would look at again.
    with without_collection():
        return _run_scenario(scenario, selection, progress)


def _run_scenario(scenario: Scenario, selection: PlanSelection, progress: Progress | None) -> PerturbResults:
    began = SYSTEM_CLOCK.now()
    deadline = began + selection.max_time if selection.max_time else None
    engine = Engine(selection.scenario(scenario))
    with closing(engine):
        plans = selection.chosen(engine)
        results: dict[Plan, PlanResult] = {}
        run = _run_in_processes if selection.processes > 1 and len(plans) > 2 else _run_here
        with _frozen():
            for result in run(engine, plans, selection.processes, deadline):
                results[result.plan] = result
                if progress is not None:
                    seconds = (SYSTEM_CLOCK.now() - began) / len(results) * (len(plans) - len(results))
                    progress(result, len(results), len(plans), seconds)
    ordered = tuple(results[plan] for plan in plans if plan in results)
    left_out, seconds = len(plans) - len(ordered), SYSTEM_CLOCK.now() - began
    return PerturbResults(engine.scenario, ordered, engine.masks, seconds, left_out, tuple(selection.steps))


def _run_here(engine: Engine, plans: Iterable[Plan], _: int, deadline: float | None) -> Iterator[PlanResult]:
    for number, plan in enumerate(plans, 1):
        if number % PLANS_BETWEEN_COLLECTIONS == 0:
            gc.collect(2 if number % PLANS_BETWEEN_FULL_COLLECTIONS == 0 else 1)
        if plan != REFERENCE and deadline is not None and SYSTEM_CLOCK.now() >= deadline:
            return
        try:
            result = engine.result(plan)
        except Exception as error:
            error.add_note(f"in plan {plan}")
            raise
        yield result


def _run_in_processes(
    engine: Engine, plans: Sequence[Plan], processes: int, deadline: float | None
) -> Iterator[PlanResult]:
    yield engine.result(plans[0])  # here, so that the processes begin with what was learned
    engine.close()  # each process starts operators of its own
    context = multiprocessing.get_context("fork")
    receivers: list[Connection] = []
    following = context.Value("L", 1)
    for _ in range(processes):
        receiver, sender = context.Pipe(duplex=False)
        arguments = (engine, _claimed(plans, following), deadline, sender)
        process = context.Process(target=_send_results, args=arguments, daemon=True)
        with _may_fork():
            process.start()
        sender.close()
        receivers.append(receiver)
    while receivers:
        for ready in wait(receivers):
            receiver = cast(Connection, ready)
            try:
                result = receiver.recv()
            except EOFError:
                receivers.remove(receiver)
                continue
            if isinstance(result, BaseException):
                raise result
            yield result


def _claimed(plans: Sequence[Plan], following: "Synchronized[int]") -> Iterator[Plan]:
    """Yield the next plan that no other process has claimed, until there is none."""
    while True:
        with following.get_lock():
            index = following.value
            following.value += 1
        if index >= len(plans):
            return
        yield plans[index]


def _send_results(engine: Engine, plans: Iterable[Plan], deadline: float | None, sender: Connection) -> None:
    signal.signal(signal.SIGTERM, _exit)  # so that operators in other processes end, too
    try:
        with closing(engine):
            for result in _run_here(engine, plans, 1, deadline):
                sender.send(_portable(result))
    except ConfigError as error:
        sender.send(error)
    except Exception:  # noqa: BLE001  # raised in the parent, with the traceback of this process
        sender.send(RuntimeError(traceback.format_exc()))
    sender.close()


def _exit(*_: object) -> None:
    sys.exit(1)


def _portable(result: PlanResult) -> PlanResult:
    """Return a result without what a process cannot send, or need not if the plan passed."""
    run = result.run
    if result.passed:
        return replace(result, run=ScenarioRun(run.steps, not_applicable=run.not_applicable))
    return replace(result, run=replace(run, frames=[], outside=[]))


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep what was learned out of the collections in the block.

    A program that has frozen its objects expects that they stay so. Then nothing is frozen here: all frozen objects can
    only be unfrozen together, and garbage among them would stay.
    """
    gc.collect()
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def _may_fork() -> Iterator[None]:
    # Threads of the library survive a fork (clientgo.internal.forks); no operator runs now.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def shrunk(scenario: Scenario, result: PlanResult, budget: int = MAX_RUNS) -> tuple[list[int], PlanResult]:
    """Return the numbers of the steps that are needed, from 1, and the result with only these.

    A step is left out if the plan, or another one of its kind, still fails by the same oracle without it.
    """
    steps = list(range(1, len(scenario.steps) + 1))
    if result.plan.kind == TRANSITION or not result.findings:
        return steps, result
    for number in reversed(steps[:]):
        fewer = [step for step in steps if step != number]
        if not fewer or budget <= 0:
            break
        shorter, runs = _failing(replace(scenario, steps=[scenario.steps[step - 1] for step in fewer]), result)
        budget -= runs
        if shorter is not None:
            steps, result = fewer, shorter
    return steps, result


def _failing(scenario: Scenario, result: PlanResult) -> tuple[PlanResult | None, int]:
    engine, oracle = Engine(scenario), result.findings[0].oracle
    reference = engine.result(REFERENCE)
    if reference.findings:
        same = result.plan == REFERENCE and reference.findings[0].oracle == oracle
        return (reference if same else None), 2
    runs = 2
    candidates = [] if result.plan == REFERENCE else engine.plans([result.plan.kind], _PER_STEP)[1:]
    for plan in sorted(candidates, key=lambda plan: plan != result.plan):
        runs += 1
        shorter = engine.result(plan)
        if shorter.findings and shorter.findings[0].oracle == oracle:
            return shorter, runs
    return None, runs
