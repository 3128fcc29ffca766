"""Plans: perturbations of one run, by kind. Each is reproducible by its name, `kind:argument:argument`.

`PLANS` is the table of the kinds: how plans are derived from the learning run, and what a plan does.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, zip_longest
from typing import NamedTuple

from clientgo.perturb.kinds.changes import derive_metadata, derive_refused, judge_metadata, judge_refused
from clientgo.perturb.kinds.crossings import derive_crossings, judge_crossing
from clientgo.perturb.kinds.dependencies import derive_dependencies, derive_foreign, judge_dependency, judge_foreign
from clientgo.perturb.kinds.endings import derive_endings, derive_interruptions, judge_ending, judge_interruption
from clientgo.perturb.kinds.faults import AtEach, AtWrite, Down, Late, LeaderChange, Outage, Stale, Unobserved
from clientgo.perturb.kinds.malformed import derive_malformed, judge_malformed
from clientgo.perturb.kinds.rehearsal import Rehearsal, Verdict, short_name
from clientgo.perturb.kinds.rest import derive_restarts, derive_slow_pods, judge_restart, judge_slow_pods
from clientgo.perturb.kinds.userobjects import at_fullest
from clientgo.perturb.kinds.writers import (
    derive_edits,
    derive_ticks,
    derive_webhooks,
    judge_edit,
    judge_ticks,
    judge_webhook,
)
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.transitions import derive_transitions, judge_transition
from clientgo.perturb.world import Perturbation

TRANSITION = "transition"

MAX_PER_KIND = 120
"""Plans of one kind; of more, evenly spread ones are taken."""

STALE_CHANGES = 2
"""Number of the last changes of a kind that old caches do not show."""


class Plan(NamedTuple):
    """One perturbation, by its kind and arguments."""

    kind: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ":".join((self.kind, *self.arguments))

    @classmethod
    def parse(cls, name: str) -> "Plan":
        """Return the plan of that name; ValueError if there is no such kind."""
        kind, *arguments = name.split(":")
        if kind != REFERENCE.kind and kind not in PLANS:
            raise ValueError(f"invalid plan {name!r}: unknown kind {kind!r}: expected one of {', '.join(PLANS)}")
        return cls(kind, tuple(arguments))


REFERENCE = Plan("reference")
"""The run without a perturbation, which the others are compared with."""


@dataclass(frozen=True)
class PlanKind:
    """Kind of plans: what it does, the arguments of its plans, and the perturbation of one."""

    explanation: str
    derive: Callable[[ScenarioRun], Iterator[tuple[str, ...]]]
    make: Callable[..., Perturbation]


@dataclass(frozen=True)
class Variation:
    """Kind of plans that run other steps: what they do, the arguments of its plans, and the judgement of one."""

    explanation: str
    derive: Callable[[ScenarioRun], Iterator[tuple[str, ...]]]
    play: Callable[[tuple[str, ...], Rehearsal], Verdict]
    off: frozenset[str] = frozenset()
    """Oracles that are not asked."""
    is_at_fullest: bool = False
    """True if the plans go on from where most objects exist, and not from the end."""

    def derived(self, run: ScenarioRun) -> Iterator[tuple[str, ...]]:
        """Yield the arguments of the plans."""
        return self.derive(at_fullest(run) if self.is_at_fullest else run)

    def played(self, arguments: tuple[str, ...], rehearsal: Rehearsal) -> Verdict:
        """Run a plan, and judge it."""
        if self.is_at_fullest:
            rehearsal = rehearsal.until(at_fullest(rehearsal.reference))
        return self.play(arguments, rehearsal)


_OTHER_INPUT = frozenset(("bug", "invariant", "rejected"))
"""Oracles that are not asked where the input need not be one that the operator is made for."""


def _at_writes(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    for write in run.writes:
        yield (str(write.number),)


def _once(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    if run.writes:
        yield ()


def _at_steps(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    changed = {change.step for change in run.changes if change.actor == "user"}  # others let only time pass
    for number in range(1, len(run.states)):
        if number in changed:
            yield (str(number + 1),)


def _with_writes(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    written: dict[int, set[str]] = {}
    for write in run.writes:
        written.setdefault(write.step, set()).add(write.subject.resource)
    for step, resources in written.items():
        if step >= 0:
            yield (str(step + 1),)
            for resource in sorted(resources if len(resources) > 1 else ()):
                yield str(step + 1), resource


def _stale(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    points = [(f"w{write.number}", write.revision) for write in run.writes]
    points += [(f"s{number + 2}", revision) for number, revision in enumerate(run.revisions[:-1])]
    for at, revision in points:
        past = [change for change in run.changes if change.revision <= revision]
        for resource in ("all", *sorted(run.watched)):
            changes = [change for change in past if resource in ("all", change.ref.resource)]
            for change in changes[-STALE_CHANGES:]:
                yield at, resource, str(change.revision - 1 - run.base_revision)


def _unobserved(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    # By object: events of several objects may come in either order, if two handlers lead to one queue.
    types: dict[ObjectRef, list[str]] = {}
    for _, frame in run.frames:
        types.setdefault(frame.ref, []).append(frame.type)
    for ref, seen in sorted(types.items()):
        for number, pair in enumerate(pairwise(seen), 1):
            if pair != ("ADDED", "DELETED"):  # of an object that was never seen nothing has to be done
                yield ref.resource, short_name(ref), str(number)


def _late(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    for step, resource in sorted({(step, frame.resource) for step, frame in run.frames if step >= 0}):
        yield resource, str(step + 1), "quiet"
        if step + 1 < len(run.states):
            yield resource, str(step + 1), "step"


def _fault(explanation: str, fault: str) -> PlanKind:
    return PlanKind(explanation, _at_writes, partial(AtWrite, fault))


def _each(explanation: str, fault: str) -> PlanKind:
    return PlanKind(explanation, _once, partial(AtEach, fault))


PLANS: dict[str, PlanKind | Variation] = {
    "crash-before": _fault("the operator crashes before a write is sent", "crash-before"),
    "crash-stored": _fault("the operator crashes after a write is stored, before the response", "crash-stored"),
    "crash-after": _fault("the operator crashes after the response to a write", "crash-after"),
    "error-409": _fault("a write gets a conflict", "error-409"),
    "error-429": _fault("a write is throttled", "error-429"),
    "error-500": _fault("a write fails in the server", "error-500"),
    "timeout-before": _fault("a write does not reach the server", "timeout-before"),
    "timeout-after": _fault("a write is stored, and its response lost", "timeout-after"),
    "each-409": PlanKind(
        "the first write of each kind to each object gets a conflict", _once, partial(AtEach, "error-409")
    ),
    "each-500": PlanKind("the first write of each kind to each object fails", _once, partial(AtEach, "error-500")),
    "each-crash": PlanKind(
        "the operator crashes after each first write of a kind to an object", _once, partial(AtEach, "crash-stored")
    ),
    "outage": PlanKind(
        "all writes, or those of one kind, fail until the operator has seen all events of a step", _with_writes, Outage
    ),
    "leader-paused": PlanKind(
        "another replica takes over at a write, which the old leader sends much later",
        _at_writes,
        partial(LeaderChange, "leader-paused"),
    ),
    "leader-running": PlanKind(
        "another replica takes over at a write, and the old leader goes on until all is quiet",
        _at_writes,
        partial(LeaderChange, "leader-running"),
    ),
    "down": PlanKind("the operator is down while a step changes the cluster", _at_steps, Down),
    "stale": PlanKind("after a crash or restart, caches show an older revision until it has written", _stale, Stale),
    "unobserved": PlanKind("an event of an object is not seen, only the next one", _unobserved, Unobserved),
    "late": PlanKind("events of one kind arrive late", _late, Late),
    TRANSITION: Variation(
        "a custom resource is changed to other valid values, and back", derive_transitions, judge_transition
    ),
    "crossed": Variation(
        "a custom resource is changed, and a write that follows fails",
        derive_crossings, judge_crossing, _OTHER_INPUT | {"quiet", "status"},
    ),
    "metadata": Variation(
        "a label or an annotation of an object is changed", derive_metadata, judge_metadata, _OTHER_INPUT,
        is_at_fullest=True,
    ),
    "malformed": Variation(
        "an annotation of an object is malformed", derive_malformed, judge_malformed, _OTHER_INPUT | {"quiet"}
    ),
    "refused": Variation(
        "a custom resource is changed to a value that the server rejects in a child, and back",
        derive_refused, judge_refused, _OTHER_INPUT | {"quiet", "status"},
    ),
    "dependency": Variation(
        "an object that a custom resource depends on is created late, changed, or deleted and created again",
        derive_dependencies, judge_dependency, _OTHER_INPUT | {"quiet"}, is_at_fullest=True,
    ),
    "foreign": Variation(
        "an object of another controller has the name of a child",
        derive_foreign, judge_foreign, _OTHER_INPUT | {"quiet", "status", "left-behind"},
    ),
    "edit": Variation(
        "another writer changes or deletes a child", derive_edits, judge_edit, _OTHER_INPUT, is_at_fullest=True
    ),
    "restart": Variation(
        "the operator restarts at rest", derive_restarts, judge_restart, frozenset(("invariant",)),
    ),
    "slow-pods": Variation("pods become ready late", derive_slow_pods, judge_slow_pods),
    "ticking": Variation(
        "a second passes at each change of the operator", derive_ticks, judge_ticks, frozenset(("invariant",))
    ),
    "webhook": Variation("an admission webhook adds to each child", derive_webhooks, judge_webhook, _OTHER_INPUT),
    "delete-all": Variation(
        "everything that the user created is deleted at the end",
        derive_endings, judge_ending, frozenset(("invariant",)), is_at_fullest=True,
    ),
    "interrupted": Variation(
        "the operator crashes before a write, and everything is deleted before it starts again",
        derive_interruptions, judge_interruption, frozenset(("invariant",)),
    ),
}  # fmt: skip
"""Kinds of plans by name."""

_FIRST = ("crash-before", TRANSITION, "crash-stored", "delete-all", "error-409", "stale", "down", "unobserved")
"""Kinds that find most, in this order."""

VARIATIONS = {name: kind for name, kind in PLANS.items() if isinstance(kind, Variation)}
"""Kinds whose plans run other steps than the scenario's."""


def derive(run: ScenarioRun, kinds: Iterable[str] = (), limit: int = MAX_PER_KIND) -> list[Plan]:
    """Return the plans for a scenario by its learning run: of these kinds (default: all), at most `limit` of each.

    The kinds take turns, so that the first plans show different mistakes.
    """
    names = list(kinds) or [*_FIRST, *(name for name in PLANS if name not in _FIRST)]
    queues = [[Plan(kind, arguments) for arguments in _spread(_derived(PLANS[kind], run), limit)] for kind in names]
    return [plan for turn in zip_longest(*queues) for plan in turn if plan is not None]


def _derived(kind: PlanKind | Variation, run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    return kind.derived(run) if isinstance(kind, Variation) else kind.derive(run)


def perturbation_of(plan: Plan) -> Perturbation:
    """Return what a plan does to a run."""
    kind = PLANS.get(plan.kind)
    return kind.make(*plan.arguments) if isinstance(kind, PlanKind) else Perturbation()


def _spread(items: Iterable[tuple[str, ...]], limit: int) -> list[tuple[str, ...]]:
    """Return at most `limit` different items, evenly spread."""
    every = list(dict.fromkeys(items))
    if len(every) <= limit:
        return every
    return [every[index * len(every) // limit] for index in range(limit)]
