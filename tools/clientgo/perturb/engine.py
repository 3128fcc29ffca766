"""Perturbation of operators in this process: learns a scenario, derives plans, and judges each run.

The operator runs as usual, with real caches, queues and threads, on a server in memory; every request and event passes
one at a time, in an order that depends on nothing but the plan. So equal runs are equal, and a plan's name repeats it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from clientgo.clock import SYSTEM_CLOCK
from clientgo.internal.collector import without_collection
from clientgo.perturb.compare import Masks
from clientgo.perturb.kinds.confirmation import Confirmation
from clientgo.perturb.kinds.faults import AtEach
from clientgo.perturb.kinds.hints import metadata_keys
from clientgo.perturb.kinds.outside import learn_outside
from clientgo.perturb.kinds.rehearsal import POLL_SECONDS, Rehearsal, not_applicable
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import judge
from clientgo.perturb.plans import MAX_PER_KIND, REFERENCE, TRANSITION, VARIATIONS, Plan, derive, perturbation_of
from clientgo.perturb.programs.admission import Admission
from clientgo.perturb.programs.cluster import check_resources, cluster_at_start, world_time
from clientgo.perturb.programs.inprocess import OperatorProgram, PerturbedProgram
from clientgo.perturb.programs.processes import CommandProgram, OperatorCommand
from clientgo.perturb.record import ScenarioRun, Violation
from clientgo.perturb.scenario import Invariant, Scenario, definitions_of
from clientgo.perturb.state import ClusterState, ObjectChange
from clientgo.perturb.steps import AS_WRITTEN, ScenarioStep, ScenarioUser, UserInputs
from clientgo.perturb.waiting import NOTHING, Awaited, Waiting
from clientgo.perturb.world import Perturbation, World
from clientgo_apiserver.inmemory import InMemoryServer

_BLINDING = frozenset(("stale", "unobserved", "late", "down"))
_DELAYING = _BLINDING | {"leader-paused", "leader-running", TRANSITION}

_NO_WRITES = (
    "the operator writes nothing in this scenario, so that no plan can show a bug: "
    "create what it reconciles, or name what it changes outside of the cluster (outside)"
)


@dataclass(frozen=True)
class PlanResult:
    """Verdict on one plan: what was wrong, and the run."""

    plan: Plan
    findings: tuple[Violation, ...]
    run: ScenarioRun = field(repr=False)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """True if nothing was wrong."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """One line: the plan, and what was wrong first."""
        passed = f"not applicable: {self.run.not_applicable}" if self.run.not_applicable else "ok"
        return f"{self.plan}: {self.findings[0] if self.findings else passed}"

    @property
    def is_applicable(self) -> bool:
        """False if the plan shows nothing about the operator, because its steps are not accepted."""
        return bool(self.findings) or not self.run.not_applicable


@dataclass(frozen=True)
class PerturbResults:
    """PerturbResults of a scenario: that of the reference first."""

    scenario: Scenario
    results: tuple[PlanResult, ...]
    masks: Masks
    seconds: float
    left_out: int = 0
    """Plans that were not run, because the time was over."""
    steps: tuple[int, ...] = ()
    """Numbers of the steps that were chosen; empty for all."""

    def __iter__(self) -> Iterator[PlanResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def failed(self) -> list[PlanResult]:
        """PerturbResults with findings."""
        return [result for result in self.results if not result.passed]

    @property
    def not_applicable(self) -> list[PlanResult]:
        """Results that show nothing about the operator."""
        return [result for result in self.results if not result.is_applicable]

    def check(self) -> None:
        """Raise AssertionError with the findings, if there are any."""
        if self.failed:
            lines = [result.verdict for result in self.failed]
            raise AssertionError(f"{len(lines)} of {len(self)} plans failed:\n" + "\n".join(lines))


class Engine:
    """Runs the plans of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._crds = definitions_of(scenario.setup, scenario.crds, scenario.steps)
        self.masks = self._masks()
        self._keys = metadata_keys(scenario.setup)
        self._reference: ScenarioRun | None = None
        self._memos: dict[bool, dict[str, ScenarioRun]] = {True: {}, False: {}}
        self._waiting = Waiting(scenario.settle) if isinstance(scenario.setup, OperatorCommand) else None
        self._starts: dict[tuple[int, float], InMemoryServer] = {}  # the last one, by variant and time

    def __repr__(self) -> str:
        return f"<Engine {self.scenario.name}>"

    @property
    def reference(self) -> ScenarioRun:
        """The learning run; the first use runs the scenario twice, and masks what differs."""
        if self._reference is None:
            self._reference = run = self.run()
            if not run.writes and self.scenario.outside is None:
                run.not_applicable = _NO_WRITES
                if run.errors and not run.failure:
                    run.failure = f"the operator writes nothing, and logs an error: {run.errors[0]}"
            if not run.noise and not run.failure:
                self._learn(run)
        return self._reference

    def _learn(self, first: ScenarioRun) -> None:
        """Mask what differs in a second run."""
        if self._waiting is not None:
            self._waiting.learn(first)
            with self._waiting.hurried():
                second = self.run(variant=1)
            hurried = self._masks()
            hurried.learn_all(first.states, second.states)
            learn_outside(first, second, hurried)
            if not second.noise and hurried.are_times:  # what else differs may be equal after a longer wait
                self.masks = hurried
                return
        second = self.run(variant=1)
        self.masks.learn_all(first.states, second.states)
        learn_outside(first, second, self.masks)

    def _masks(self) -> Masks:
        return Masks(self.scenario.ignore, self.scenario.any_order)

    def close(self) -> None:
        """End what was started for several runs."""
        if self._waiting is not None:
            self._waiting.close()

    def plans(self, kinds: Iterable[str] = (), limit: int = MAX_PER_KIND) -> list[Plan]:
        """Return the reference and the plans; only the reference, if that is wrong already, or shows nothing."""
        reference = self.result(REFERENCE)
        is_usable = reference.passed and reference.is_applicable
        return [REFERENCE, *(derive(self.reference, kinds, limit) if is_usable else [])]

    def result(self, plan: Plan) -> PlanResult:
        """Run a plan, and judge it."""
        if self._waiting is None or self.reference is None or plan == REFERENCE:
            return self._result(plan)
        with self._waiting.hurried():
            hurried = self._result(plan)
        if hurried.passed or self._waiting.is_confirmed(hurried.findings):
            return hurried
        self._learn_retry(self._waiting)
        result = self._result(plan)
        self._waiting.confirm(result.findings)
        return replace(result, seconds=hurried.seconds + result.seconds)

    def _result(self, plan: Plan) -> PlanResult:
        reference, began = self.reference, SYSTEM_CLOCK.now()
        scenario = self.scenario
        violations: list[Violation] = []
        variation = VARIATIONS.get(plan.kind)
        if variation is not None:
            rehearsal = Rehearsal(
                reference, scenario.steps, self.masks, self._rehearse, frozenset(scenario.lasting),
                POLL_SECONDS if self._waiting is None else self._waiting.time_to_heal, self._memos[self._is_hurried],
            )  # fmt: skip
            run, violations = variation.played(plan.arguments, rehearsal)
            reference = run  # with others than those of the scenario
        else:
            run = reference if plan == REFERENCE else self.run(perturbation_of(plan), awaited=self._awaited(plan))
        is_prompt = plan.kind not in _DELAYING and self._waiting is None
        is_blind = plan.kind in _BLINDING
        if is_blind and run.failure:  # a step needs what the operator has not done, because it cannot see
            not_applicable(run)
        judged = Judged(run, reference, self.masks, scenario.allow, is_blind, is_prompt, frozenset(scenario.lasting))
        off = {*scenario.off, *(variation.off if variation is not None else ())}
        violations = [*(each for each in violations if each.oracle not in scenario.off), *judge(judged, off)]
        if plan.kind not in VARIATIONS:
            confirmation = Confirmation(
                scenario.steps, scenario.settle, self._rehearse,
                lambda steps: self.run(perturbation_of(plan), steps=steps), self._memos[self._is_hurried],
                has_waited=self._waiting is not None,
            )  # fmt: skip
            violations = [each for each in violations if confirmation.holds(each, judged)]
        return PlanResult(plan, tuple(violations), run, SYSTEM_CLOCK.now() - began)

    @property
    def _is_hurried(self) -> bool:
        return self._waiting is not None and self._waiting.is_hurried

    def _awaited(self, plan: Plan) -> Awaited:
        """Return what a plan that is repeated waits for: an operator that cannot see all relies on looking again."""
        if self._waiting is None or self._waiting.is_hurried:
            return NOTHING
        return Awaited(
            self.reference.states, self._waiting.max_patience if plan.kind in _BLINDING else self._waiting.patience
        )

    def _learn_retry(self, waiting: Waiting) -> None:
        """Learn from a run in which each write fails once, after what time they are repeated."""
        if waiting.knows_retry:
            return
        awaited = Awaited(self.reference.states, waiting.max_patience)
        with waiting.hurried():
            self.run(AtEach("error-500"), awaited=awaited)
        waiting.learn_retry(awaited.seconds)

    def _rehearse(
        self,
        steps: Sequence[ScenarioStep],
        inputs: UserInputs = AS_WRITTEN,
        perturbation: Perturbation | None = None,
        /,
    ) -> ScenarioRun:
        return self.run(perturbation, steps=steps, inputs=inputs)

    def run(
        self,
        perturbation: Perturbation | None = None,
        *,
        variant: int = 0,
        steps: Sequence[ScenarioStep] | None = None,
        inputs: UserInputs = AS_WRITTEN,
        awaited: Awaited = NOTHING,
    ) -> ScenarioRun:
        """Run the scenario, or other steps and inputs, with a perturbation."""
        scenario = self.scenario
        steps = scenario.steps if steps is None else steps
        run = ScenarioRun([step.name for step in steps], definitions=self._crds, examples=scenario.examples)
        run.keys = self._keys
        if scenario.outside is not None:
            scenario.outside.reset()
        world = self._open(run, perturbation, variant)
        with world.program.log.installed(), without_collection():  # its pauses would come at any time
            try:
                self._drive(world, run, steps, inputs, awaited)
            finally:
                self._end(world, run, variant)
        if world.not_served and not world.writes and not run.failure:
            missing = ", ".join(world.not_served)
            run.failure = f"the operator writes nothing, and the server does not serve {missing}: add the CRD to crds"
        return run

    def _open(self, run: ScenarioRun, perturbation: Perturbation | None, variant: int) -> World:
        """Return a world for a run: a new one, or that of an operator which runs already."""

        def check(world: World, change: ObjectChange) -> None:
            self._check(run, world, change)

        is_usual = not variant and not (perturbation and perturbation.slowness)
        world = self._waiting.take() if self._waiting is not None and is_usual else None
        if world is not None:
            world.renew(perturbation, check)
            return world
        settle = self.scenario.settle if self._waiting is None else self._waiting.settle
        program = _program(self.scenario)
        return World(
            program, start=self._start(program, variant), perturbation=perturbation, settle=settle, variant=variant,
            on_change=check,
        )  # fmt: skip

    def _end(self, world: World, run: ScenarioRun, variant: int) -> None:
        """Take the record of a run, and end its world unless another run can use it."""
        run.writes, run.frames, run.changes, run.trace = world.writes, world.frames, world.changes, world.trace
        run.watched, run.read = world.watched, world.read
        run.noise, run.base_revision = world.noise, world.base_revision
        if self._waiting is None:
            world.end()
        else:
            is_usable = not (run.noise or run.exit or run.failure or variant or world.perturbation.slowness)
            self._waiting.give_back(world, self.masks, is_usable=is_usable)
        run.bugs, run.errors = world.program.log.bugs, world.program.log.errors

    def _start(self, program: PerturbedProgram, variant: int) -> InMemoryServer:
        time = world_time(program, variant)
        key = variant, time.time()
        if key not in self._starts:
            server = cluster_at_start(time, self._crds, variant)
            if not self._starts:  # each run of a process begins at a time of its own, with the same resources
                check_resources(server, self.scenario.resources())
            self._starts = {key: server}
        return self._starts[key]

    def _drive(
        self, world: World, run: ScenarioRun, steps: Sequence[ScenarioStep], inputs: UserInputs, awaited: Awaited
    ) -> None:
        user, perturbation = ScenarioUser(world, inputs), world.perturbation
        if self.scenario.webhooks is not None:
            world.admission = Admission(world.server, self.scenario.webhooks)
        if not world.operators:
            world.start()
            world.drive()
            world.base = world.state
        run.exit = _exit_of(world)
        for number, step in enumerate(steps):
            if world.noise or run.exit or run.failure:
                return
            world.step = number
            if self._waiting is not None and number == len(steps) - 1:
                world.settle = self._waiting.last_settle
            was_blind = perturbation.blind
            perturbation.before_step(world, number)
            if was_blind and not perturbation.blind:
                world.drive()  # the step may need what the operator does once it sees
            world.note("step", f"step {number + 1}: {step.name}")
            if not self._act(world, user, run, step):
                return
            perturbation.after_change(world, number)
            world.drive()
            if number == len(steps) - 1 and not world.noise and perturbation.blind:
                perturbation.release(world)
                world.drive()
            if perturbation.blind:
                run.blind.add(number)
            else:
                awaited.wait(world, number, self.masks)
            self._rest(world, run)
            run.exit = _exit_of(world)
            run.failure = run.failure or _unsupported_by(world)

    def _act(self, world: World, user: ScenarioUser, run: ScenarioRun, step: ScenarioStep) -> bool:
        try:
            try:
                step.act(user)
            except AssertionError:
                if not world.perturbation.blind:
                    raise
                world.perturbation.release(world)  # the operator holds the step up, such as by a finalizer
                world.drive()
                step.act(user)
        except Exception as error:  # noqa: BLE001  # of the user's function
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            run.failure = f"step {world.step + 1} ({step.name}) failed: {kind}{error}"
        return not run.failure

    def _rest(self, world: World, run: ScenarioRun) -> None:
        run.states.append(world.state)
        run.revisions.append(world.server.revision)
        when = f"at rest after step {world.step + 1}"
        if (outside := self.scenario.outside) is not None:
            _call_fake(lambda: run.outside.append(outside.state()), run, f"the state outside cannot be read {when}")
        if world.noise or world.perturbation.blind:
            return  # the operator is not at rest, or cannot see what the invariants are about
        for invariant in self.scenario.at_rest:
            _ask(invariant, world.state, run, when)

    def _check(self, run: ScenarioRun, world: World, change: ObjectChange) -> None:
        if (observe := getattr(self.scenario.outside, "observe", None)) is not None:
            _call_fake(lambda: observe(world.state), run, f"the system outside failed at revision {change.revision}")
        for invariant in self.scenario.invariants:
            _ask(invariant, world.state, run, f"at revision {change.revision}, when {change.ref} was {change.kind}")


def _exit_of(world: World) -> str:
    return next((operator.ended for operator in world.operators if operator.ended), "")


def _call_fake(call: Callable[[], object], run: ScenarioRun, text: str) -> None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  # of the user's fake
        run.failure = f"{text}: {type(error).__name__}: {error}"


def _unsupported_by(world: World) -> str:
    return next((f"not supported: {each.gate.unsupported}" for each in world.operators if each.gate.unsupported), "")


def _program(scenario: Scenario) -> PerturbedProgram:
    if isinstance(scenario.setup, OperatorCommand):
        return CommandProgram(scenario.setup)
    return OperatorProgram(scenario.setup, scenario.options)


def _ask(invariant: Invariant, state: ClusterState, run: ScenarioRun, when: str) -> None:
    name, outcome = getattr(invariant, "__name__", "invariant"), None
    try:
        outcome = invariant(state)
    except AssertionError as error:
        outcome = str(error) or "an assertion failed"
    except Exception as error:  # noqa: BLE001  # of the user's function
        outcome = f"it raised {type(error).__name__}: {error}"
    if outcome is None or outcome is True:
        return
    text = f"{name} does not hold {when}{f': {outcome}' if isinstance(outcome, str) else ''}"
    if not any(finding.text.startswith(f"{name} ") for finding in run.violations):
        run.violations.append(Violation("invariant", text))
