"""Perturbations of one run: faults at writes, crashes, changes of the leader, and old or hidden states."""

from clientgo.perturb.programs.gate import Frame, Outgoing, RequestTarget, WatchBody
from clientgo.perturb.state import ObjectRef
from clientgo.perturb.world import Perturbation, World

STALE_SECONDS = 5.0
"""Seconds after which caches that show an old state catch up, if the operator has not written before."""


TICK_SECONDS = 1.0
"""Time that passes at each change: the unit of the times of conditions."""


class AtWrite(Perturbation):
    """A fault at the write of a number."""

    def __init__(self, fault: str, number: str) -> None:
        self._fault, self._number = fault, int(number)

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Return the fault at its number."""
        return self._fault if number == self._number else ""


class InterruptedCreation(AtWrite):
    """The operator crashes before a write, and starts again after the change of a later step."""

    restarts = False

    def __init__(self, number: str, step: int) -> None:
        super().__init__("crash-before", number)
        self._step = step

    def after_change(self, world: World, number: int) -> None:
        """Start the operator."""
        if number == self._step:
            world.start()


class Ticking(Perturbation):
    """A second passes at each change of the operator: it stands still otherwise, and a time written twice is equal."""

    def written(self, world: World) -> None:
        """Step the time."""
        world.time.step(TICK_SECONDS)


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


class Outage(Perturbation):
    """All writes of a step fail until the operator has seen everything: no later event leads to a second attempt.

    With a resource only its writes fail, as those that a quota or a webhook rejects; that of a status does not.
    """

    def __init__(self, step: str, resource: str = "") -> None:
        self._step, self._resource = int(step) - 1, resource
        self._active = self._has_failed = False

    def before_step(self, world: World, number: int) -> None:
        """Begin at the step."""
        if number == self._step:
            self._active = True
            world.note("perturb", "writes fail")

    def write(self, world: World, number: int, outgoing: Outgoing) -> str:
        """Fail."""
        fails = self._active and self._resource in ("", outgoing.subject.resource)
        self._has_failed |= fails
        return "error-500" if fails else ""

    def idle(self, world: World) -> bool:
        """End once the operator waits for a time, and has tried."""
        if self._active and self._has_failed:
            self._active = False
            world.note("perturb", "writes succeed again")
            return True
        return False


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

    def next_due(self) -> float | None:
        """Return the time at which the caches catch up."""
        return self._release_at if self._active else None

    def release(self, world: World) -> None:
        """Catch up."""
        self._release(world, "the operator cannot get further")

    def _activate(self, world: World) -> None:
        self._active, self._release_at = True, world.time.now() + min(STALE_SECONDS, world.settle / 2)

    def _release(self, world: World, reason: str) -> None:
        self._active = False
        world.note("perturb", f"caches catch up: {reason}")


class Unobserved(Perturbation):
    """One event of an object is not seen: the object's next event replaces it, as when a watch is opened again.

    The list before that has all objects: once other events of the kind were seen, a further step shows the object.
    """

    def __init__(self, resource: str, name: str, index: str) -> None:
        namespace, _, plain = name.rpartition("/")
        self._ref = ObjectRef(resource, namespace, plain)
        self._index = int(index)
        self._counts: dict[WatchBody, int] = {}
        self._held: dict[WatchBody, Frame] = {}
        self._is_listed = False

    @property
    def blind(self) -> bool:  # type: ignore[override]
        """True until the object's next event."""
        return bool(self._held)

    def before_step(self, world: World, number: int) -> None:
        """Deliver what is held, if the operator has seen other events since."""
        if self._is_listed:
            self.release(world)

    def arrived(self, world: World, frame: Frame) -> Frame | None:
        """Hold the event of the plan back; merge the next one with it."""
        if frame.ref != self._ref or frame.type not in _MERGED:
            self._is_listed |= frame.body in self._held and frame.type in _MERGED
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
        held, self._held, self._is_listed = self._held, {}, False
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
        """Begin at the step; deliver in the next one, for plans that wait."""
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
