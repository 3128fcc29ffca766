"""Plans: perturbations of one run, by kind. Each is reproducible by its name, `kind:argument:argument`.

`PLANS` is the table of the kinds: how plans are derived from the learning run, and what a plan does.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from clientgo.perturb.programs.gate import Frame, Outgoing, RequestTarget, WatchBody
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.transitions import derive_transitions
from clientgo.perturb.world import Perturbation, World

TRANSITION = "transition"

MAX_PER_KIND = 120
"""Plans of one kind; of more, evenly spread ones are taken."""

STALE_CHANGES = 2
"""Number of the last changes of a kind that old caches do not show."""

STALE_SECONDS = 5.0
"""Seconds after which caches that show an old state catch up, if the operator has not written before."""


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


class AtWrite(Perturbation):
    """A fault at the write of a number."""

    def __init__(self, fault: str, number: str) -> None:
        self._fault, self._number = fault, int(number)

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Return the fault at its number."""
        return self._fault if number == self._number else ""


class AtEach(Perturbation):
    """A fault at the first write of each object and method: a single one may be healed by the next event."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._hit: set[tuple[str, RequestTarget]] = set()

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Return the fault for a write that is new."""
        key = (outgoing.method, outgoing.subject)
        if key in self._hit:
            return ""
        self._hit.add(key)
        return self._fault


class Down(Perturbation):
    """The operator is down while a step changes the cluster, and starts afterwards."""

    def __init__(self, step: str) -> None:
        self._step = int(step) - 1

    def before_step(self, world: World, number: int) -> None:
        """End the operator before its step."""
        if number == self._step:
            world.crash("before the step", restart=False)

    def after_change(self, world: World, number: int) -> None:
        """Start the operator again."""
        if number == self._step:
            world.start()


class LeaderChange(Perturbation):
    """The lead moves at a write: the old leader is paused and sends it much later, or goes on until all is quiet."""

    def __init__(self, kind: str, number: str) -> None:
        self._kind, self._number = kind, int(number)
        self._moved = False

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Move the lead at its write."""
        if number != self._number or self._moved:
            return ""
        self._moved = True
        return self._kind

    def idle(self, world: World) -> bool:
        """End the old leader."""
        return world.end_old_leader()


class Stale(Perturbation):
    """The operator restarts, and the lists of one kind, or of all, show an older revision until it has written."""

    def __init__(self, at: str, resource: str, revision: str) -> None:
        self._at, self._resource = at, resource
        self._revision = int(revision)
        self._active = False
        self._release_at = 0.0

    @property
    def blind(self) -> bool:  # type: ignore[override]
        """True until the caches catch up."""
        return self._active

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Crash after the write of the plan."""
        if self._at == f"w{number}":
            self._activate(world)
            return "crash-after"
        return ""

    def written(self, world: World) -> None:
        """Catch up at the first change after the restart."""
        if self._active and self._at != f"w{len(world.writes)}":
            self._release(world, "it has changed something")

    def before_step(self, world: World, number: int) -> None:
        """Restart the operator at rest, if the plan is for a step."""
        if self._at == f"s{number + 1}":
            self._activate(world)
            world.crash("at rest")

    def list_revision(self, world: World, subject: RequestTarget) -> int | None:
        """Return the old revision while it is active."""
        if self._active and self._resource in ("all", subject.resource):
            return min(world.base_revision + self._revision, world.server.revision)
        return None

    def holds(self, world: World, frame: Frame) -> bool:
        """Hold what the old caches do not show yet."""
        return self._active and self._resource in ("all", frame.resource)

    def idle(self, world: World) -> bool:
        """Catch up after a while."""
        if self._active and world.time.now() >= self._release_at:
            self._release(world, "a delay has passed")
            return True
        return False

    def release(self, world: World) -> None:
        """Catch up."""
        self._release(world, "the operator cannot get further")

    def _activate(self, world: World) -> None:
        self._active, self._release_at = True, world.time.now() + min(STALE_SECONDS, world.settle / 2)

    def _release(self, world: World, reason: str) -> None:
        self._active = False
        world.note("perturb", f"caches catch up: {reason}")


class Unobserved(Perturbation):
    """One event of an object is not seen: the object's next event replaces it, as when a watch is opened again."""

    def __init__(self, resource: str, name: str, index: str) -> None:
        namespace, _, plain = name.rpartition("/")
        self._ref = ObjectRef(resource, namespace, plain)
        self._index = int(index)
        self._counts: dict[WatchBody, int] = {}
        self._held: dict[WatchBody, Frame] = {}

    @property
    def blind(self) -> bool:  # type: ignore[override]
        """True until the object's next event."""
        return bool(self._held)

    def arrived(self, world: World, frame: Frame) -> Frame | None:
        """Hold the event of the plan back; merge the next one with it."""
        if frame.ref != self._ref or frame.type not in _MERGED:
            return frame
        before = self._held.pop(frame.body, None)
        if before is not None:
            kind = _MERGED[before.type].get(frame.type, "")
            world.note("perturb", f"{self._ref} {before.type} and {frame.type} are seen as {kind or 'nothing'}")
            return frame.as_type(kind) if kind else None
        self._counts[frame.body] = count = self._counts.get(frame.body, 0) + 1
        if count == self._index:
            self._held[frame.body] = frame
            world.note("perturb", f"{self._ref} {frame.type} is not seen")
            return None
        return frame

    def release(self, world: World) -> None:
        """Deliver what is held."""
        held, self._held = self._held, {}
        for frame in held.values():
            world.note("perturb", f"{self._ref} {frame.type} is seen late")
            world.deliver_later(frame)


_MERGED = {
    "ADDED": {"MODIFIED": "ADDED"},
    "MODIFIED": {"MODIFIED": "MODIFIED", "DELETED": "DELETED"},
    "DELETED": {"ADDED": "MODIFIED"},
}
"""Types as which two events of one object are seen, when only the last state is."""


class Late(Perturbation):
    """The events of a kind in a step arrive late: when nothing else happens, or in the next step."""

    def __init__(self, resource: str, step: str, until: str) -> None:
        self._resource, self._step, self._until = resource, int(step) - 1, until
        self._active = False

    @property
    def blind(self) -> bool:  # type: ignore[override]
        """True while events are held."""
        return self._active

    def before_step(self, world: World, number: int) -> None:
        """Begin at the step; deliver in the next one, if the plan says so."""
        if number == self._step:
            self._active = True
            world.note("perturb", f"events of {self._resource} are late")

    def holds(self, world: World, frame: Frame) -> bool:
        """Hold the events of the kind."""
        return self._active and frame.resource == self._resource

    def idle(self, world: World) -> bool:
        """Deliver once nothing else happens."""
        is_due = self._active and (self._until == "quiet" or world.step > self._step)
        if is_due:
            self.release(world)
        return is_due

    def release(self, world: World) -> None:
        """Deliver what is held."""
        self._active = False
        world.note("perturb", f"events of {self._resource} arrive")


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
    for ref, count in sorted(Counter(frame.ref for _, frame in run.frames).items()):
        for number in range(1, count):
            yield ref.resource, f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name, str(number)


def _late(run: ScenarioRun) -> Iterator[tuple[str, ...]]:
    for step, resource in sorted({(step, frame.resource) for step, frame in run.frames if step >= 0}):
        yield resource, str(step + 1), "quiet"
        if step + 1 < len(run.states):
            yield resource, str(step + 1), "step"


def _fault(explanation: str, fault: str) -> PlanKind:
    return PlanKind(explanation, _at_writes, partial(AtWrite, fault))


def _each(explanation: str, fault: str) -> PlanKind:
    return PlanKind(explanation, _once, partial(AtEach, fault))


PLANS: dict[str, PlanKind] = {
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
    TRANSITION: PlanKind(
        "a custom resource is changed to other valid values, and back", derive_transitions, lambda *_: Perturbation()
    ),
}
"""Kinds of plans by name."""


def derive(run: ScenarioRun, kinds: Iterable[str] = (), limit: int = MAX_PER_KIND) -> list[Plan]:
    """Return the plans for a scenario by its learning run: of these kinds (default: all), at most `limit` of each."""
    names = list(kinds) or list(PLANS)
    return [Plan(kind, arguments) for kind in names for arguments in _spread(PLANS[kind].derive(run), limit)]


def perturbation_of(plan: Plan) -> Perturbation:
    """Return what a plan does to a run."""
    return PLANS[plan.kind].make(*plan.arguments) if plan.kind in PLANS else Perturbation()


def _spread(items: Iterable[tuple[str, ...]], limit: int) -> list[tuple[str, ...]]:
    """Return at most `limit` different items, evenly spread."""
    every = list(dict.fromkeys(items))
    if len(every) <= limit:
        return every
    return [every[index * len(every) // limit] for index in range(limit)]
