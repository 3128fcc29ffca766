"""Event loop of a server: one thread serves all connections, and worker threads handle complete requests.

A client that is slow or silent costs no thread. A handler that does not answer in time costs one, but no place: its
request gets the response of `HandlerCall.late`.
"""

import contextvars
import heapq
import itertools
import math
import resource
import select
import selectors
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from clientgo.clock import Clock
from clientgo.log import get_logger
from clientgo.serving.connection import READ, Closed, Limits, ServingConnection, Wait
from clientgo.serving.connectionlimiter import WAITING, ConnectionLimiter, ConnectionState
from clientgo.serving.workerpool import WorkerPool
from clientgo.stop.lifecycle import Group
from clientgo.stop.stopping import TaskScope, end_also_with

log = get_logger(__name__)

MAX_STUCK = 16
"""Calls of one handler that may outlive their limit; while there are as many, further requests are not handled."""

_ACCEPTED_AT_ONCE = 16
"""Clients accepted in a row."""

_PAUSE = 0.5
"""Seconds without accepting after a failure, such as no file descriptors, which takes time to change."""

_CLOSED_CHECK = 0.1
_GONE = select.POLLHUP | select.POLLERR
_HALF_CLOSED = getattr(select, "POLLRDHUP", 0)


class HandlerCall(NamedTuple):
    """Call of a handler, in a worker thread once it has a place; after `seconds` its result is that of `late`."""

    name: str
    call: Callable[[], Any]
    seconds: float
    late: Callable[[], Any]


Conversation = Generator[Wait | HandlerCall, Any, None]
"""Course of a connection: reads and writes it, and never raises."""


class Session:
    """Connection with its conversation."""

    def __init__(self, connection: ServingConnection, loop: "ConnectionLoop") -> None:
        self.connection = connection
        self.conversation: Conversation = iter(())  # type: ignore[assignment]  # set at once
        self.due = math.inf
        self.direction = 0
        self.work: HandlerCall | None = None
        self.job: _Job | None = None
        self.has_left = False
        self._loop = loop

    @property
    def may_continue(self) -> bool:
        """True if the connection may be kept for another request."""
        return not self._loop.stopped and not self._loop.limiter.full

    def move(self, state: ConnectionState) -> None:
        """Set the state of the connection."""
        self._loop.limiter.move(self, state, self._loop.clock.now())


class _Job:
    """A call in progress. Its scope ends the requests and the coroutine of a call without a waiting client."""

    def __init__(self, session: Session, work: HandlerCall, due: float) -> None:
        self.session = session
        self.work = work
        self.due = due
        self.scope = TaskScope()
        self.abandoned = False

    def run(self) -> Any:
        """Make the call."""
        end_also_with(self.scope)
        return self.work.call()


class ConnectionLoop:
    """Accepts connections and serves them until `stop`, and then those with a request until they have ended."""

    def __init__(self, listener: socket.socket, limits: Limits, group: Group, *, name: str, clock: Clock) -> None:
        self.clock = clock
        room = min(limits.waiting, _descriptors() // 2)
        self.limiter: ConnectionLimiter[Session] = ConnectionLimiter(limits.connections, room, crowded=limits.crowded)
        self.stopped = False
        self._hurried = False
        self._listener = listener
        self._limits = limits
        self._name = name
        self._converse: Callable[[Session], Conversation] = lambda _: iter(())  # type: ignore[assignment, return-value]
        self._pool = WorkerPool(group, name, clock)
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        self._finished: deque[tuple[_Job, Any, BaseException | None]] = deque()
        self._timers: list[tuple[float, int, Session]] = []
        self._numbers = itertools.count()
        self._stuck: Counter[str] = Counter()
        self._accepts_at = 0.0
        self._crowded = False
        for sock in (listener, self._bell, self._ring):
            sock.setblocking(False)

    def __repr__(self) -> str:
        return f"<ConnectionLoop {self._name} {self.limiter!r}>"

    def stop(self) -> None:
        """Accept no more connections, and close those without a request; from any thread."""
        self.stopped = True
        self._wake()

    def hurry(self) -> None:
        """End the responses in progress, and limit later ones; from any thread."""
        self._hurried = True
        self._wake()

    def run(self, converse: Callable[[Session], Conversation]) -> None:
        """Serve connections in this thread; return once the last has ended after `stop`."""
        self._converse = converse
        with self._listener, self._bell, self._ring, self._selector:
            self._selector.register(self._bell, READ)
            while not self.stopped or len(self.limiter):
                self._step()
        self._pool.close()

    def _step(self) -> None:
        accepting = self._prepare_accepting()
        ready = self._selector.select(self._timeout())
        for key, _ in ready:
            if isinstance(key.data, Session):
                self._on_ready(key.data)
        self._take_finished()
        self._expire()
        if self.stopped:
            self._stop_listening()
            self._end_all(*WAITING)
        if self._hurried:
            self._hurry_all()
        if accepting and not self.stopped and any(key.fileobj is self._listener for key, _ in ready):
            # Only one while others are busy: the limits of a client begin when it is accepted.
            busy = any(isinstance(key.data, Session) for key, _ in ready)
            self._accept_some(1 if busy else _ACCEPTED_AT_ONCE)
        self._dispatch()

    def _prepare_accepting(self) -> bool:
        """Listen for new clients if there is room for one, or will be once another is evicted."""
        if self.stopped:
            return False
        now = self.clock.now()
        accepting = self._accepts_at <= now
        if accepting and self.limiter.full:
            victim = self.limiter.to_evict()
            due = math.inf if victim is None else victim[1]
            accepting = due <= now
            self._accepts_at = 0.0 if accepting or due == math.inf else due
        registered = self._listener.fileno() in self._selector.get_map()
        if accepting and not registered:
            self._selector.register(self._listener, READ)
        elif registered and not accepting:
            self._selector.unregister(self._listener)
        return accepting

    def _stop_listening(self) -> None:
        """Close the listening socket: new clients would be connected, and wait until the last response has ended."""
        if self._listener.fileno() != -1:
            if self._listener in self._selector.get_map():
                self._selector.unregister(self._listener)
            self._listener.close()

    def _timeout(self) -> float | None:
        due = self._timers[0][0] if self._timers else math.inf
        if self._accepts_at:
            due = min(due, self._accepts_at)
        if self.limiter.short_of_places and (writing := self.limiter.longest_writing()) is not None:
            due = min(due, writing[1] + self._limits.stalled)
        return None if due == math.inf else max(0.0, due - self.clock.now())

    def _accept_some(self, most: int) -> None:
        for _ in range(most):
            crowded = self.limiter.full
            victim = self._victim(self.clock.now()) if crowded else None
            if crowded and victim is None:
                return
            try:
                accepted, peer = self._listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # the client has disconnected
                continue
            except OSError as error:
                oldest = self._victim(math.inf)
                if oldest is None:
                    log.warning("cannot accept connections", extra={"server": self._name, "err": error})
                    self._accepts_at = self.clock.now() + _PAUSE
                    return
                self._evict(oldest)
                continue
            if victim is not None:  # not before a client has come
                self._evict(victim)
            session = Session(ServingConnection(accepted, str(peer[0]), self._limits, self.clock), self)
            session.connection.hurried = self._hurried
            session.conversation = self._converse(session)
            self.limiter.add(session, session.connection.peer, self.clock.now())
            self._advance(session)

    def _victim(self, latest: float) -> Session | None:
        """Return the connection to evict for a new client; None if none may be evicted by then."""
        victim = self.limiter.to_evict()
        return None if victim is None or victim[1] > latest else victim[0]

    def _evict(self, victim: Session) -> None:
        if not self._crowded:
            self._crowded = True
            log.warning("too many connections; evicting the oldest without a request", extra={"server": self._name})
        self._advance(victim, error=Closed("evicted for another client"))

    def _advance(self, session: Session, value: Any = None, error: BaseException | None = None) -> None:
        """Continue the conversation with the result of what it waited for."""
        session.work = session.job = None
        try:
            step = session.conversation.send(value) if error is None else session.conversation.throw(error)
        except StopIteration:
            self._forget(session)
            return
        if isinstance(step, Wait):
            self._watch(session, step.direction, step.deadline)
        else:
            session.work = step
            session.move(ConnectionState.READY)
            self._watch(session, 0 if session.has_left else READ, math.inf)

    def _watch(self, session: Session, direction: int, due: float) -> None:
        if direction != session.direction:
            if not session.direction:
                self._selector.register(session.connection, direction, session)
            elif direction:
                self._selector.modify(session.connection, direction, session)
            else:
                self._selector.unregister(session.connection)
            session.direction = direction
        if due != session.due:
            session.due = due
            if due != math.inf:
                heapq.heappush(self._timers, (due, next(self._numbers), session))

    def _forget(self, session: Session) -> None:
        self._watch(session, 0, math.inf)
        self.limiter.remove(session)
        session.connection.close()

    def _on_ready(self, session: Session) -> None:
        if session.work is not None:
            self._check_client(session)
            return
        if self.limiter.state(session) is ConnectionState.SILENT:
            session.move(ConnectionState.READING)
        self._advance(session)

    def _check_client(self, session: Session) -> None:
        """End the call if its client has closed the connection, as Go's server cancels the request's context."""
        poll = select.poll()
        poll.register(session.connection, _HALF_CLOSED)
        events = poll.poll(0)
        if not events:  # a further request, or the last record of TLS: the end may follow
            self._watch(session, 0, min(session.due, self.clock.now() + _CLOSED_CHECK))
            return
        if events[0][1] & _GONE:
            self._give_up(session)
            self._advance(session, error=Closed("the client closed the connection"))
            return
        # It may have closed one direction only, and still gets the response.
        session.has_left = True
        self._watch(session, 0, session.due)
        if session.job is not None:
            session.job.scope.stop()

    def _give_up(self, session: Session) -> None:
        job = session.job
        if job is not None:
            job.abandoned = True
            self._stuck[job.work.name] += 1
            job.scope.stop()

    def _take_finished(self) -> None:
        with suppress(BlockingIOError):
            while self._bell.recv(4096):
                continue
        while self._finished:
            job, result, error = self._finished.popleft()
            if job.abandoned:
                self._stuck[job.work.name] -= 1
            else:
                self._advance(job.session, result, error)

    def _expire(self) -> None:
        now = self.clock.now()
        while self._timers and self._timers[0][0] <= now:
            due, _, session = heapq.heappop(self._timers)
            if session.due != due:
                continue
            session.due = math.inf
            self._expire_session(session, now)
        if self.limiter.short_of_places:
            writing = self.limiter.longest_writing()
            if writing is not None and writing[1] + self._limits.stalled <= now:
                self._advance(writing[0], error=Closed("evicted: the client does not take its response"))

    def _expire_session(self, session: Session, now: float) -> None:
        job = session.job
        if session.work is None:
            self._advance(session, error=Closed("the client took too long"))
        elif job is not None and job.due <= now:
            facts = {"server": self._name, "handler": job.work.name, "seconds": job.work.seconds}
            log.warning("handler did not answer in time", extra=facts)
            late = job.work.late()  # before the call ends: it may name what is running
            self._give_up(session)
            self._advance(session, late)
        else:
            self._watch(session, READ, math.inf if job is None else job.due)

    def _dispatch(self) -> None:
        while (session := self.limiter.next_ready()) is not None:
            session.move(ConnectionState.WORKING)
            work = session.work
            assert work is not None
            if self._stuck[work.name] >= MAX_STUCK:
                self._advance(session, work.late())
                continue
            job = session.job = _Job(session, work, self.clock.now() + work.seconds)
            self._watch(session, session.direction, job.due)
            if session.has_left:
                job.scope.stop()
            try:
                self._pool.submit(partial(self._run, job))
            except RuntimeError as error:  # out of threads
                log.warning("cannot start a thread for a request", extra={"server": self._name, "err": error})
                self._advance(session, error=Closed("no thread"))

    def _run(self, job: "_Job") -> None:
        result, failure = None, None
        try:
            result = contextvars.copy_context().run(job.run)
        except BaseException as error:  # noqa: BLE001  # raised in the conversation
            failure = error
        self._finished.append((job, result, failure))
        self._wake()

    def _wake(self) -> None:
        with suppress(OSError):  # it rings already, or the loop has ended
            self._ring.send(b"\0")

    def _end_all(self, *states: ConnectionState) -> None:
        for session in self.limiter.in_state(*states):
            self._advance(session, error=Closed("the server stops"))

    def _hurry_all(self) -> None:
        self._hurried = False
        self._end_all(ConnectionState.WRITING)
        for session in self.limiter.in_state(*ConnectionState):
            session.connection.hurried = True


def _descriptors() -> int:
    """Return the number of files that this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
