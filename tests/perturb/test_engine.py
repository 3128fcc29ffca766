"""Perturbations of controllers in this process: correct ones pass every plan, broken ones fail some."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from clientgo.errors import ConfigError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Manager, Reconciler, Result
from clientgo.meta import ObjectMeta, api_type, meta_for, object_name, replace
from clientgo.perturb import (
    ClusterState,
    PerturbResults,
    Scenario,
    ScenarioUser,
    advance,
    call,
    change,
    create,
    delete,
    perturb,
)
from tests.perturb.greetings import (
    Correct,
    GeneratesNames,
    Greeting,
    GreetingStatus,
    MissesDeletions,
    Restless,
    StatusFirst,
    greeting,
)

STEPS = [create(greeting()), change(greeting(), {"spec": {"text": "goodbye"}}), delete(greeting())]


def oracles(results: PerturbResults) -> set[tuple[str, str]]:
    return {(result.plan.kind, finding.oracle) for result in results for finding in result.findings}


def test_correct_controller_survives_every_plan_twice_in_the_same_way() -> None:
    first, second = perturb(Correct, STEPS), perturb(Correct, STEPS)
    first.check()
    assert len(first) > 100
    assert [result.verdict for result in first] == [result.verdict for result in second]
    assert [[entry.text for entry in result.run.trace] for result in first] == [
        [entry.text for entry in result.run.trace] for result in second
    ]


def test_old_caches_catch_up_five_seconds_after_the_restart() -> None:
    seconds = []
    for result in perturb(Correct, STEPS, only=["stale"]):
        times = {entry.text: entry.at for entry in result.run.trace if entry.lane == "perturb"}
        if (end := times.pop("caches catch up: a delay has passed", None)) is not None:
            seconds.append(end - min(times.values()))
    assert seconds
    assert set(seconds) == {5.0}


@pytest.mark.parametrize(
    ("broken", "plan", "oracle"),
    [
        (StatusFirst, "crash-before", "final-state"),
        (GeneratesNames, "crash-stored", "final-state"),
        (Restless, "reference", "quiet"),
        (MissesDeletions, "reference", "left-behind"),
    ],
    ids=["status-first", "generates-names", "restless", "misses-deletions"],
)
def test_bug_is_found_by_plan_and_oracle(broken: type[Reconciler[Any]], plan: str, oracle: str) -> None:
    assert (plan, oracle) in oracles(perturb(broken, STEPS, only=["crash-before", "crash-stored"]))


def test_stale_plan_shows_an_older_revision_in_the_first_list() -> None:
    [result] = perturb(Correct, STEPS, plans=["stale:w2:all:0"])
    assert any("shows revision" in entry.text for entry in result.run.trace)


def test_single_plan_is_repeated_by_its_name() -> None:
    results = perturb(StatusFirst, STEPS, plans=["crash-before:2"])
    assert [str(result.plan) for result in results] == ["crash-before:2"]
    with pytest.raises(AssertionError, match="crash-before:2: final-state: after step 1"):
        results.check()


def test_invariants_are_checked_at_every_revision() -> None:
    def no_goodbye(state: ClusterState) -> bool:
        return all(config["data"]["text"] != "goodbye" for config in state.all("configmaps"))

    results = perturb(Correct, STEPS, invariants=[no_goodbye], plans=["reference"])
    [finding] = results.failed[0].findings
    assert finding.text.startswith("no_goodbye does not hold at revision")


def broken_invariant(state: ClusterState) -> bool:
    return bool(state.all("secrets")[0])


def broken_step(_: ScenarioUser) -> None:
    raise KeyError("b")


class BrokenOutside:
    """Fake whose state cannot be read."""

    def reset(self) -> None:
        """Do nothing."""

    def state(self) -> object:
        raise LookupError("no account")


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        (
            {"at_rest": [broken_invariant]},
            "invariant: broken_invariant does not hold at rest after step 1: it raised IndexError",
        ),
        (
            {"invariants": [broken_invariant]},
            "invariant: broken_invariant does not hold at revision 25, when greetings.greetings.example.com default/a "
            "was ADDED: it raised IndexError",
        ),
        ({"steps": [*STEPS, call(broken_step)]}, "scenario: step 4 (broken_step) failed: KeyError: 'b'"),
        ({"outside": BrokenOutside()}, "scenario: the state outside cannot be read at rest after step 1: LookupError"),
    ],
    ids=["at-rest", "at-each-revision", "step", "outside"],
)
def test_exception_of_the_users_code_is_a_finding_of_the_plan(options: dict[str, Any], verdict: str) -> None:
    [result] = perturb(Correct, **{"steps": STEPS, "plans": ["reference"], **options})
    assert result.verdict.startswith(f"reference: {verdict}")


def test_function_adds_controllers_to_the_manager() -> None:
    perturb(lambda manager: manager.add_reconciler(Correct), STEPS, crds=[Greeting], plans=["reference"]).check()


def test_invalid_options_are_rejected() -> None:
    with pytest.raises(ValueError, match="invalid plan 'crush:1': unknown kind 'crush'"):
        perturb(Correct, STEPS, plans=["crush:1"])
    with pytest.raises(ConfigError, match="invalid oracle 'nothing'"):
        perturb(Correct, STEPS, off={"nothing": "reason"})
    with pytest.raises(ConfigError, match="oracle quiet is switched off without a reason"):
        perturb(Correct, STEPS, off={"quiet": ""})
    wrong_order: Any = ("greetings", Correct, STEPS)
    with pytest.raises(ConfigError, match=r"expected Scenario\(setup, steps, name=...\), in this order"):
        Scenario(*wrong_order)


def start_correct(manager: Manager) -> None:
    manager.add_reconciler(Correct)


def test_kinds_of_a_program_are_those_that_its_steps_create() -> None:
    results = perturb(start_correct, STEPS, only=["crash-before"])
    results.check()
    assert len(results) > 2


class Idle(Reconciler[Greeting], name="idle"):
    """Does nothing."""

    def reconcile(self, greeting: Greeting) -> None:
        pass


def test_scenario_in_which_the_operator_writes_nothing_is_not_applicable() -> None:
    [result] = perturb(Idle, [create(greeting())])
    assert "not applicable: the operator writes nothing in this scenario, so that no plan can show" in result.verdict


def test_missing_definition_is_named() -> None:
    [result] = perturb(start_correct, [create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))])
    assert result.verdict.endswith("the server does not serve greetings.greetings.example.com: add the CRD to crds")


class EachMinute(Reconciler[Greeting], owns=[ConfigMap], name="each-minute"):
    """Creates a ConfigMap a minute, and claims before that the greeting is ready."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager.client)
        self.time = manager.clock.time

    def reconcile(self, greeting: Greeting) -> Result:
        status = GreetingStatus(observed_generation=greeting.metadata.generation)
        if greeting.status != status:
            self.client.update_status(replace(greeting, status=status))
        name = f"minute-{int(self.time()) // 60}"
        self.client.apply(ConfigMap(metadata=meta_for(greeting, name)), owner=greeting)
        return Result(requeue_after=60 - self.time() % 60)


def start_each_minute(manager: Manager) -> None:
    manager.add_reconciler(EachMinute(manager))


def test_schedule_longer_than_a_step_runs_while_time_passes() -> None:
    steps = [create(greeting()), advance(615), delete(greeting())]
    results = perturb(start_each_minute, steps, settle=30, only=["crash-stored", "down"])
    results.check()
    assert len(results.results[0].run.states[1].all("configmaps")) >= 10
    assert "down:2" not in {str(result.plan) for result in results}


class Polls(Reconciler[Greeting], name="polls"):
    """Looks again every two seconds."""

    def reconcile(self, greeting: Greeting) -> Result:
        if not greeting.status.text:
            self.client.update_status(replace(greeting, status=GreetingStatus(text="seen")))
        return Result(requeue_after=2.0)


def test_many_looks_while_hours_pass_are_no_noise() -> None:
    perturb(Polls, [create(greeting()), advance(4 * 3600)], plans=["reference"]).check()


@dataclass(frozen=True)
class TimedStatus:
    at: datetime | None = None


@api_type(group="greetings.example.com", version="v1")
@dataclass(frozen=True)
class Timed:
    metadata: ObjectMeta = ObjectMeta()
    status: TimedStatus = TimedStatus()


class Punctual(Reconciler[Timed], owns=[ConfigMap], name="punctual"):
    """Creates a ConfigMap a minute, and then writes its time into the status."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager.client)
        self.clock = manager.clock

    def reconcile(self, timed: Timed) -> Result:
        now = self.clock.time()
        due = datetime.fromtimestamp(now // 60 * 60, UTC)
        config = ConfigMap(metadata=meta_for(timed, f"minute-{int(now) // 60}"))
        if self.client.find(ConfigMap, object_name(config)) is None or self.repairs(timed, due):
            self.client.apply(config, owner=timed)
            self.client.update_status(replace(timed, status=TimedStatus(due)))
        return Result(requeue_after=60 - now % 60)

    def repairs(self, timed: Timed, due: datetime) -> bool:
        return timed.status.at != due


class LosesTimes(Punctual, name="loses-times"):
    """Writes the time only after it has created the ConfigMap itself."""

    def repairs(self, timed: Timed, due: datetime) -> bool:
        return False


@pytest.mark.parametrize(("cls", "failing"), [(Punctual, 0), (LosesTimes, 2)], ids=["repairs", "loses"])
def test_time_older_than_that_of_the_reference_is_a_lost_write(cls: type[Punctual], failing: int) -> None:
    timed = Timed(metadata=ObjectMeta(name="a", namespace="default"))
    results = perturb(
        lambda manager: manager.add_reconciler(cls(manager)),
        [create(timed), advance(185)],
        settle=30,
        only=["crash-stored", "error-500"],
        crds=[Timed],
    )
    assert any("status.at" in line for line in results.masks.lines())
    texts = [str(result.findings[0]) for result in results.failed]
    assert len(texts) >= failing if failing else not texts
    assert all("a status.at: - '2023-11-14T22:1" in text for text in texts)
