"""Places of connections, shared fairly between client addresses.

A connection without a complete request waits; it needs no thread, and has none of the places of those whose requests
are handled or answered. If too many wait, one is evicted for each new client: of the address with the most, first those
that have sent nothing, then those that have sent a part, then idle ones, the oldest first. A complete request is never
evicted. It gets a place in its turn, the next one for the address with the fewest.
"""

import enum
from collections import Counter, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)


class ConnectionState(enum.Enum):
    """Phase of a connection."""

    SILENT = "has sent nothing"
    READING = "handshake, or sends a request"
    IDLE = "waits for a further request"
    READY = "has a request that waits for a place"
    WORKING = "has a request that is being handled"
    WRITING = "waits for its client to take the response"


WAITING = (ConnectionState.SILENT, ConnectionState.READING, ConnectionState.IDLE)
"""States without a complete request, in the order of eviction."""


class ConnectionLimiter(Generic[C]):
    """At most `size` connections with a place, and `room` others; for one thread."""

    def __init__(self, size: int, room: int, *, crowded: float) -> None:
        self._crowded = crowded
        self._size = size
        self._room = room
        self._held: dict[C, tuple[str, ConnectionState]] = {}
        # By address, then by state, in the order of coming: the time since when it is in the state.
        self._waiting: dict[str, dict[ConnectionState, dict[C, float]]] = {}
        self._ready: dict[str, deque[C]] = {}
        self._places: Counter[str] = Counter()
        self._writing: dict[C, float] = {}
        self._used = 0

    def __repr__(self) -> str:
        states = Counter(state.name.lower() for _, state in list(self._held.values()))
        return f"<ConnectionLimiter {', '.join(f'{n} {name}' for name, n in states.items()) or 'empty'}>"

    def __len__(self) -> int:
        return len(self._held)

    @property
    def full(self) -> bool:
        """True if another client needs the eviction of one that waits."""
        return len(self._held) - self._used >= self._room

    @property
    def short_of_places(self) -> bool:
        """True if a complete request waits for a place."""
        return bool(self._ready) and self._used >= self._size

    def state(self, connection: C) -> ConnectionState:
        """Return the state of a connection."""
        return self._held[connection][1]

    def add(self, connection: C, address: str, now: float) -> None:
        """Count an accepted connection."""
        self._enter(connection, address, ConnectionState.SILENT, now)

    def move(self, connection: C, state: ConnectionState, now: float) -> None:
        """Set the state of a connection."""
        address, previous = self._held[connection]
        if state is not previous:
            self.remove(connection)
            self._enter(connection, address, state, now)

    def remove(self, connection: C) -> None:
        """Forget a connection that has ended."""
        address, state = self._held.pop(connection)
        if state in WAITING:
            states = self._waiting[address]
            del states[state][connection]
            if not any(states.values()):
                del self._waiting[address]
        elif state is ConnectionState.READY:
            self._ready[address].remove(connection)
            if not self._ready[address]:
                del self._ready[address]
        else:
            self._used -= 1
            self._places[address] -= 1
            if not self._places[address]:
                del self._places[address]
            self._writing.pop(connection, None)

    def in_state(self, *states: ConnectionState) -> list[C]:
        """Return the connections in these states."""
        return [connection for connection, (_, state) in self._held.items() if state in states]

    def next_ready(self) -> C | None:
        """Return the connection whose request gets the next place; None without a free place or a request."""
        if not self._ready or self._used >= self._size:
            return None
        address = min(self._ready, key=self._places.__getitem__)
        return self._ready[address][0]

    def to_evict(self) -> tuple[C, float] | None:
        """Return the connection to evict for a new client, and from when it may be; None if none may be evicted.

        It may be once it has waited for `crowded` seconds: a client that has just connected is about to send.
        """
        if not self._waiting:
            return None
        states = max(self._waiting.values(), key=lambda states: sum(map(len, states.values())))
        state = next(state for state in WAITING if states.get(state))
        connection, since = next(iter(states[state].items()))
        return connection, since + self._crowded

    def longest_writing(self) -> tuple[C, float] | None:
        """Return the connection whose client has not taken its response for longest, and since when; None for none."""
        return next(iter(self._writing.items()), None)

    def _enter(self, connection: C, address: str, state: ConnectionState, now: float) -> None:
        self._held[connection] = address, state
        if state in WAITING:
            self._waiting.setdefault(address, {}).setdefault(state, {})[connection] = now
        elif state is ConnectionState.READY:
            self._ready.setdefault(address, deque()).append(connection)
        else:
            self._places[address] += 1
            self._used += 1
            if state is ConnectionState.WRITING:
                self._writing[connection] = now
