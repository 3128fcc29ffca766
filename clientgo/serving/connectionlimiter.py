"""Limit of concurrent connections that leaves new clients in the listen backlog and evicts only clients that stall.

A connection whose request is being handled is never evicted. Any other is evicted only if its client has kept the
server waiting for `crowded` seconds while others waited, idle ones first. So a burst of clients is served one after the
other, and idle connections cannot block others. A client with more requests to send reuses its idle connections in that
time: if they were closed earlier, it would lose a request.
"""

import enum
import math
import threading
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from clientgo.clock import Clock


class ConnectionState(enum.Enum):
    """Phase of a connection."""

    READING = "handshake, or reads a request"
    WORKING = "has a request that is being answered"
    WRITING = "waits for its client to take the answer"
    IDLE = "waits for a further request"


class Abortable(Protocol):
    """Connection that can be evicted."""

    def abort(self) -> None:
        """End all I/O of the connection; called from any thread, and returns at once."""


T = TypeVar("T", bound=Abortable)


@dataclass(slots=True)
class _Held(Generic[T]):
    connection: T
    state: ConnectionState
    since: float
    evicted: bool = False


class ConnectionLimiter(Generic[T]):
    """At most `size` connections at once. Thread-safe, for one accepting thread."""

    def __init__(self, size: int, *, crowded: float, clock: Clock) -> None:
        self._size = size
        self._crowded = crowded
        self._clock = clock
        self._changed = threading.Condition()
        self._held: dict[int, _Held[T]] = {}
        self._crowded_since: float | None = None  # set while every new client finds it full
        self._closed = False

    def __repr__(self) -> str:
        states = [held.state.name.lower() for held in list(self._held.values())]
        return f"<ConnectionLimiter {', '.join(states) or 'empty'}, of {self._size}>"

    @property
    def full(self) -> bool:
        """True if another client may be waiting for a connection to end."""
        return len(self._held) >= self._size

    def wait_for_room(self, seconds: float) -> bool:
        """Wait until another connection may be accepted, evicting one if possible; return whether it may."""
        deadline = self._clock.now() + seconds
        with self._changed:
            if not self.full:
                self._crowded_since = None
            while self.full and not self._closed:
                now = self._clock.now()
                due = self._evict(now)
                if now >= deadline:
                    return False
                self._clock.wait(self._changed, min(deadline, due))
            return not self._closed

    def add(self, connection: T) -> bool:
        """Count an accepted connection; return False if it must be closed because the limiter is closed."""
        with self._changed:
            if not self._closed:
                self._hold(connection, ConnectionState.READING)
            return not self._closed

    def move(self, connection: T, state: ConnectionState) -> bool:
        """Set the phase of a connection; return False if it must end after the current response."""
        with self._changed:
            self._hold(connection, state)
            return not self._closed

    def remove(self, connection: T) -> None:
        """Forget a connection that has ended."""
        with self._changed:
            self._held.pop(id(connection), None)
            self._changed.notify()

    def close(self) -> None:
        """Accept no more connections and end those without a request; requests in progress continue."""
        with self._changed:
            self._closed = True
            ending = [
                held.connection
                for held in self._held.values()
                if held.state in (ConnectionState.READING, ConnectionState.IDLE)
            ]
            self._changed.notify_all()
        for connection in ending:
            connection.abort()

    def _hold(self, connection: T, state: ConnectionState) -> None:
        self._held[id(connection)] = _Held(connection, state, self._clock.now())

    def _evict(self, now: float) -> float:
        """Abort the connection that has been evictable longest, unless one is ending; return when to look again."""
        if any(held.evicted for held in self._held.values()):
            return math.inf
        if self._crowded_since is None:
            self._crowded_since = now
        stalled = [held for held in self._held.values() if held.state is not ConnectionState.WORKING]
        if not stalled:
            return math.inf
        # Not before the limit was reached: a connection that was idle before may be reused just then.
        begun = self._crowded_since
        held = min(
            stalled, key=lambda held: (max(held.since, begun), held.state is not ConnectionState.IDLE, held.since)
        )
        if (due := max(held.since, begun) + self._crowded) > now:
            return due
        # Under the lock, so that no request starts meanwhile; this only shuts down a socket.
        held.connection.abort()
        held.evicted = True
        return math.inf
