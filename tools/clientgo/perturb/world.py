"""World of one run: a server in memory, the user, and the operator, driven by one thread.

`drive` lets everything happen that can happen, one thing at a time and always in the same order: it delivers a watch
frame, or answers a request of the operator, or steps the time to the next deadline; each time, all threads of the
operator wait. It returns once the operator has not written for the settle time.
"""

import random
import re
from collections.abc import Callable
from typing import Any

import msgspec

from clientgo.perturb.elections import Elections, only_renew
from clientgo.perturb.programs.admission import Admission
from clientgo.perturb.programs.clock import Crashed
from clientgo.perturb.programs.cluster import request, world_time
from clientgo.perturb.programs.gate import (
    FAULTS,
    WRITES,
    Frame,
    Outgoing,
    RequestTarget,
    WatchBody,
    failure_body,
    http_reply,
    timed_out,
)
from clientgo.perturb.programs.inprocess import PerturbedProgram, RunningOperator, exchange, send
from clientgo.perturb.programs.streams import GateDuplex
from clientgo.perturb.record import OperatorWrite, TimelineEntry, not_quiet
from clientgo.perturb.state import EVENTS, SOON, ClusterState, Object, ObjectChange, ObjectRef
from clientgo.rest.transport import HTTPReply
from clientgo_apiserver.inmemory import InMemoryServer, ServedReply

MAX_BLIND_WRITES = 12
"""Writes in one step after which an operator sees the current state again.

A correct operator whose cache shows a deleted owner creates a child, which is collected at once, and creates it again.
"""

MAX_POLLS = 5
"""Settle times in which an operator may read or compute without a write until it is quiet: some poll for ever."""

STARTS = "operator starts"
"""Line of the timeline."""

MAX_WRITES, MAX_ACTIONS, HOUR = 150, 5_000, 3600.0
"""Writes of the operator in one step, and all actions in one hour of it, after which it will not become quiet."""


_TIMEOUT = re.compile(r"[?&]timeoutSeconds=(\d+)")


class Perturbation:
    """Effect of a plan on one run; this one has none."""

    blind = False
    """True while the operator cannot see the current state."""

    slowness = 0.0
    """Part of the settle time after which a pod is ready."""

    restarts = True
    """False if the operator stays down after a crash at a write."""

    def write(self, world: "World", number: int, outgoing: Outgoing) -> str:
        """Return what happens to a write: "" to answer it, or one of `FAULTS`, a crash or a change of the leader."""
        return ""

    def admit(self, world: "World", outgoing: Outgoing) -> bytes:
        """Return the body of a write as the server stores it, such as after an admission webhook."""
        return outgoing.body

    def written(self, world: "World") -> None:
        """React to a write that has changed something."""

    def holds(self, world: "World", frame: Frame) -> bool:
        """Return whether a frame is not delivered yet."""
        return False

    def arrived(self, world: "World", frame: Frame) -> Frame | None:
        """Return the frame to deliver instead of one that the server has sent, or None to drop it."""
        return frame

    def list_revision(self, world: "World", subject: RequestTarget) -> int | None:
        """Return the revision that a cached list shows, or None for the newest one."""
        return None

    def idle(self, world: "World") -> bool:
        """Do something because nothing else happens; return whether it did."""
        return False

    def next_due(self) -> float | None:
        """Return the time at which `idle` has something to do if nothing else happens, or None."""
        return None

    def before_step(self, world: "World", number: int) -> None:
        """Prepare for a step."""

    def after_change(self, world: "World", number: int) -> None:
        """React to the change of a step, before the operator sees it."""

    def release(self, world: "World") -> None:
        """Let the operator see the current state."""


class World:
    """One run of a scenario."""

    def __init__(
        self,
        program: PerturbedProgram,
        *,
        start: InMemoryServer,
        perturbation: Perturbation | None = None,
        settle: float = 60.0,
        variant: int = 0,
        on_change: Callable[["World", ObjectChange], None] | None = None,
    ) -> None:
        """Create a world that begins with the objects of `start`.

        A `variant` other than 0 has other times, versions and names, which are not results.
        """
        random.seed(variant)
        self.time = world_time(program, variant)
        self.perturbation = perturbation if perturbation is not None else Perturbation()
        self.server = InMemoryServer(self.time, start=start, ready_seconds=settle * self.perturbation.slowness)
        self.settle, self._on_change, self._elections = settle, on_change, Elections()
        self.pace, self.step, self._revivals = program.pace(), -1, 0
        self.trace: list[TimelineEntry] = []
        self.writes: list[OperatorWrite] = []
        self.frames: list[tuple[int, Frame]] = []
        self.changes: list[ObjectChange] = []
        self.noise, self._actor = "", "server"
        self.not_served: dict[str, None] = {}  # resources that the operator asked for in vain
        self.watched, self.read = set[str](), set[str]()
        self.program, self._restart = program, False
        self._generated, self._deletes_many = variant * 4_321, False
        self._began = self._limit = 0.0
        self._objects: dict[ObjectRef, Object] = {}
        self._pending: list[Frame] = []
        self._last_write = self._last_read = self._active_at = 0.0
        self._end: float | None = None  # of a step that lets time pass
        self._step_writes, self._sees_old = 0, False
        self.base = ClusterState({})
        """State in which the steps begin: that after the operator's start."""
        self.admission: Admission | None = None
        """Webhooks that the user's requests pass."""
        self.operators: list[RunningOperator] = []
        """Replicas of the operator that run; the last one has the lead."""
        self.server.subscribe(self._changed)
        self.base_revision = self.server.revision

    def __repr__(self) -> str:
        return f"<World step {self.step}, {len(self.writes)} writes, {self.server!r}>"

    @property
    def state(self) -> ClusterState:
        """The objects now."""
        return ClusterState(dict(self._objects))

    def request(self, method: str, target: str, body: Any = None, content_type: str = "application/json") -> Object:
        """Send a request of the user, and return the response; AssertionError if it is an error."""
        if self.admission is not None:
            self.admission.check(method, target, body, content_type)
        actor, self._actor, self._deletes_many = self._actor, "user", False
        try:
            return request(self.server, method, target, body, content_type)
        finally:
            self._actor = actor

    def note(self, lane: str, text: str, detail: str = "", subject: str = "") -> None:
        """Add a line to the timeline, about the object `subject` if it is about one."""
        self.trace.append(TimelineEntry(self.time.now() - self._began, self.step, lane, text, detail, subject))

    def renew(self, perturbation: Perturbation | None, on_change: Callable[["World", ObjectChange], None]) -> None:
        """Begin another run with the operator that runs, in a cluster that is as before the first step."""
        random.seed(0)
        self.perturbation, self._on_change = perturbation or Perturbation(), on_change
        self.trace, self.writes, self.frames, self.changes = [], [], [], []
        self.step, self.base_revision, self._began = -1, self.server.revision, self.time.now()
        self._revivals, self._sees_old = 0, False

    def start(self) -> None:
        """Start the operator; names that another replica uses are free for it."""
        for operator in self.operators:
            operator.close()
        self.operators.append(self.program.start(self.time))
        self.note("change", STARTS)

    def crash(self, reason: str, *, restart: bool = True) -> None:
        """Abandon all replicas of the operator; `restart` starts it again once this action is over."""
        if self.operators:
            for operator in self.operators[:]:
                self._abandon(operator)
            self.note("perturb", f"operator crashes {reason}")
            self._restart = restart

    def take_over(self, *, is_paused: bool) -> None:
        """Start a further replica, which gets the lead; the old one is paused, or goes on."""
        self.operators[-1].is_paused = is_paused
        self.note("perturb", f"another replica takes over; the old one {'is paused' if is_paused else 'goes on'}")
        self.start()

    def end_old_leader(self) -> bool:
        """Send the write that the old leader was about to send, and end it; return False if there is none."""
        if len(self.operators) < 2:
            return False
        operator = self.operators[0]
        late = self._elections.without(operator.gate.waiting(), self.step)
        if operator.is_paused and late:
            self.note("perturb", "the old leader goes on")
            self._write(operator, late[0])
            self.pace.wait_until_idle()
        self._abandon(operator)
        self.note("perturb", "the old leader ends")
        return True

    def _abandon(self, operator: RunningOperator) -> None:
        self.operators.remove(operator)
        self.program.log.muted = True
        operator.kill()
        for body in operator.watches:
            body.end(Crashed())
            body.served.close()
        for duplex in operator.sockets:
            duplex.end(Crashed())
            duplex.release()
        self._pending = [frame for frame in self._pending if frame.body not in operator.watches]
        if self.operators:
            self.pace.wait_until_idle()  # until those of the replica have ended, too
        else:
            self.pace.give_up(2.0)
        operator.close()
        self.program.log.muted = False

    def end(self) -> None:
        """End the run."""
        for operator in self.operators[:]:
            self._abandon(operator)

    def drive(self) -> None:
        """Run until the operator is quiet; `noise` is the reason if it does not become quiet."""
        self._last_write, self._step_writes = self.time.now(), 0
        actions, hour, self._limit = 0, 0.0, max(self._end or 0.0, self.time.now() + 10 * self.settle) + 60.0
        while actions < MAX_ACTIONS and self._step_writes <= MAX_WRITES and self.time.now() <= self._limit:
            if self._act():
                actions += 1
            elif not self._pass_time():
                return
            if self.time.now() >= hour + HOUR:  # of a long time that passes, each
                actions, hour = 0, self.time.now()
        self.noise = not_quiet(self.step + 1, self.writes[len(self.writes) - self._step_writes :])
        if not self.read:
            self.noise = "the operator sends no request: is it told the address, as by --kubeconfig={kubeconfig}?"
        self.note("fault", self.noise)

    def _revive(self) -> None:
        """Start an operator again that has ended after a perturbation, as a kubelet does."""
        for operator in self._active():
            if not operator.ended or self._revivals == self.program.revivals:
                continue
            if any(entry.lane == "perturb" for entry in self.trace):
                self._revivals += 1
                self.note("change", "operator ends by itself", operator.ended)
                self._abandon(operator)
                self._restart = not self._active()

    def _act(self) -> bool:
        """Do the next thing that needs no time; return False if there is none."""
        self._revive()
        if self._restart:
            self._restart = False
            self.start()
            self._limit = max(self._limit, self.time.now() + 10 * self.settle + 60.0)
        self.pace.wait_until_idle()
        self._collect()
        self._sees_old |= self.perturbation.blind
        if [operator for operator in self._active() if operator.clock.wake_due()]:  # of each, not only the first
            return True
        if self._step_writes > MAX_BLIND_WRITES and self.perturbation.blind:
            self.perturbation.release(self)
        if self._deliver() or exchange(self._active()) or self._answer() or self._restart:
            self._active_at = self.time.now()
            return True
        if self.time.now() >= self._active_at + self.pace.pause and self.perturbation.idle(self):
            return True
        self._sees_old = self.perturbation.blind  # it has reacted to everything that it sees
        return False

    def deliver_later(self, frame: Frame) -> None:
        """Deliver a frame that a perturbation has held back."""
        self._pending.append(frame)

    def _pass_time(self) -> bool:
        if any(operator.is_starting for operator in self._active()):
            self._last_write = self.time.now()
        if any(operator.is_busy for operator in self._active()):
            self._last_read = self.time.now()
        polled = min(self._last_read, self._last_write + (MAX_POLLS - 1) * self.settle)
        quiet_at = self._end if self._end is not None else max(self._last_write, polled) + self.settle
        dues = [self.server.next_due(), self.perturbation.next_due()]
        dues += [operator.clock.next_due() for operator in self._active()]
        until = min([quiet_at, *(due for due in dues if due is not None)])
        if self._end is not None and self.perturbation.blind and until > self.time.now() + SOON:
            self.perturbation.release(self)  # before so much time passes, the operator sees everything
            return True
        self.pace.advance(self.time, until)
        self.server.advance()
        return self.time.now() < quiet_at - 1e-6  # by which steps of time may be too short

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass, and everything happen meanwhile; the operator sees it all, and need not become quiet."""
        self._end = self.time.now() + seconds
        self.drive()
        self._end = None

    def _active(self) -> list[RunningOperator]:
        return [operator for operator in self.operators if not operator.is_paused]

    def _collect(self) -> None:
        for operator in self._active():
            for body in operator.watches[:]:
                self._pending += filter(None, (self.perturbation.arrived(self, frame) for frame in body.take()))
                if self.time.now() >= body.ends_at:
                    body.end()
                if not body.is_open:
                    body.served.close()
                    operator.watches.remove(body)
        self._pending.sort(key=lambda frame: (frame.revision, frame.resource, frame.order))

    def _deliver(self) -> bool:
        for frame in self._pending:
            if self.perturbation.holds(self, frame):
                continue
            self._pending.remove(frame)
            if frame.body.is_open:
                if frame.type != "BOOKMARK" and frame.ref not in self._elections:
                    self.frames.append((self.step, frame))
                    self.note("saw", f"{frame.type} {frame.ref}", subject=str(frame.ref))
                frame.body.deliver(frame)
            return True
        return False

    def _answer(self) -> bool:
        waiting = [(operator, outgoing) for operator in self._active() for outgoing in operator.gate.waiting()]
        if not waiting:
            return False
        operator, outgoing = waiting[0]
        elects = self._elections.concern(outgoing, self.step)
        if self.pace.pause and outgoing.method == "GET" and outgoing.subject.resource not in EVENTS and not elects:
            self._last_read = self.time.now()  # a process that reads will perhaps write
        if outgoing.is_watch:
            operator.gate.finish(outgoing, self._watch(operator, outgoing))
        elif outgoing.is_write and not elects:
            self._write(operator, outgoing)
        else:
            operator.gate.finish(outgoing, self._pass_on(outgoing, elects=elects))
        return True

    def _watch(self, operator: RunningOperator, outgoing: Outgoing) -> WatchBody | HTTPReply:
        self.watched.add(outgoing.subject.resource)
        served = self.server.watch(outgoing.target, outgoing.headers)
        if isinstance(served, ServedReply):
            return http_reply(served)
        body = WatchBody(outgoing.subject, served)
        if self.pace.pause and (seconds := _TIMEOUT.search(outgoing.target)):
            body.ends_at = self.time.now() + int(seconds[1])
        operator.watches.append(body)
        return body

    def _pass_on(self, outgoing: Outgoing, *, elects: bool) -> HTTPReply:
        target, subject = outgoing.target, outgoing.subject
        self.read.add(subject.resource)
        is_cached = not subject.name and "resourceVersion=0" in target
        revision = self.perturbation.list_revision(self, subject) if is_cached else None
        if revision is not None:
            target = target.replace("resourceVersion=0", f"resourceVersion={revision}&resourceVersionMatch=Exact")
            target = target.replace("&resourceVersionMatch=NotOlderThan", "")
            self.note("perturb", f"list of {subject.resource} shows revision {revision - self.base_revision}")
        reply = self.server.request(outgoing.method, target, outgoing.headers, outgoing.body)
        if reply.status == 404 and not subject.name:
            self.not_served[subject.resource] = None
        if not is_cached and not (elects and reply.status == 200):  # such as a renewal
            self.note(
                "wrote" if outgoing.method in WRITES else "read", f"{outgoing.method} {subject}", str(reply.status)
            )
        return http_reply(reply)

    def _write(self, operator: RunningOperator, outgoing: Outgoing) -> None:
        number = len(self.writes) + 1
        fault = self.perturbation.write(self, number, outgoing)
        if fault.startswith("leader-"):
            self.take_over(is_paused=fault == "leader-paused")
            return
        if fault == "crash-before":
            self._count(number, outgoing, ServedReply(0, {}, b""), injected=True)
            self.crash(f"before write {number} is sent", restart=self.perturbation.restarts)
            return
        if fault in FAULTS:
            reply = ServedReply(FAULTS[fault][0], {}, failure_body(*FAULTS[fault]))
            self._count(number, outgoing, reply, injected=True)
            operator.gate.finish(outgoing, http_reply(reply) if reply.status else timed_out(stored=False))
            return
        revision, earlier = self.server.revision, len(self.changes)
        self._actor, self._deletes_many = "operator", outgoing.method == "DELETE" and not outgoing.subject.name
        outgoing.body = self.perturbation.admit(self, outgoing)
        reply, result = send(self.server, operator, outgoing, self._generated + number)
        self._actor = "server"
        is_same = self.server.revision == revision and reply.status < 300
        renews = is_same or only_renew(self.changes[earlier:])
        self._step_writes += is_same
        self._count(number, outgoing, reply, injected=False, renews=renews)
        if self.server.revision != revision and not renews:
            self.perturbation.written(self)
        if fault == "crash-stored":
            self.crash(f"after write {number} is stored")
        elif fault == "timeout-after":
            self.note("perturb", f"response to write {number} is lost")
            operator.gate.finish(outgoing, timed_out(stored=True))
            if isinstance(result, GateDuplex):
                result.close()
        else:
            operator.gate.finish(outgoing, result)
            if fault == "crash-after":
                self.pace.wait_until_idle()
                self.crash(f"after the response to write {number}")

    def _count(
        self, number: int, outgoing: Outgoing, reply: ServedReply, *, injected: bool, renews: bool = False
    ) -> None:
        message = msgspec.json.decode(reply.body).get("message", "") if reply.status >= 400 else ""
        write = OperatorWrite(
            number, outgoing.method, outgoing.subject, reply.status, self.step, self.server.revision, outgoing.body,
            message, injected,
        )  # fmt: skip
        self.writes.append(write)
        if not renews:
            self._last_write = self.time.now()
            self._step_writes += 1
        text = f"{write}: {reply.status or 'no response'}{' (injected)' if injected else ''}"
        ref = str(ObjectRef(*outgoing.subject[:3])) if outgoing.subject.name else ""
        self.note("perturb" if injected else "wrote", text, message, ref)

    def _changed(self, served: Any) -> None:
        resource = f"{served.resource}.{served.group}" if served.group else served.resource
        obj = served.new or served.old
        ref = ObjectRef(resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if resource in EVENTS or ref in self._elections:
            return
        old, now, is_blind = served.old, self.time.now(), self._sees_old
        change = ObjectChange(served.revision, served.kind, ref, old, served.new, self._actor, self.step, now, is_blind)
        if not self._deletes_many:
            self._actor = "server"  # what a request causes further is the server's
        if served.new is None or served.kind == "DELETED":
            self._objects.pop(ref, None)
        else:
            self._objects[ref] = served.new
        self.changes.append(change)
        self.note("change", f"{served.kind} {ref} by the {change.actor}", f"revision {served.revision}", str(ref))
        if self._on_change is not None:
            self._on_change(self, change)
