"""A bounded number of places for connections, in which a slow client can't keep a newcomer waiting.

When all are taken, the one that has been waiting for its client longest has to go. A client that means it has its
request answered within milliseconds, and so is never the one; whoever opens connections to say nothing only drives out
his own.
"""

import enum
import threading
from typing import Generic, Protocol, TypeVar

from clientgo.clock import Clock


class State(enum.Enum):
    """What a connection is at."""

    READING = "waits for a request"
    WORKING = "has a request that is being answered"
    WRITING = "waits for its client to take the answer"


class Abortable(Protocol):
    """What a place is given to."""

    def abort(self) -> None:
        """Let go of the client; called from any thread, and returns at once."""


T = TypeVar("T", bound=Abortable)


class Places(Generic[T]):
    """At most `size` holders at once; safe for any number of threads."""

    def __init__(self, size: int, clock: Clock) -> None:
        self._size = size
        self._clock = clock
        self._changed = threading.Condition()
        # In the order in which they came to their states.
        self._holders: dict[int, tuple[T, State]] = {}
        self._closed = False

    def __repr__(self) -> str:
        states = [state.name.lower() for _, state in self._holders.values()]
        return f"<Places {', '.join(states) or 'empty'}, of {self._size}>"

    def take(self, holder: T, seconds: float) -> bool:
        """Have a place, if need be one that a waiting holder is driven from; False if none is free after `seconds`."""
        deadline = self._clock.now() + seconds
        asked: T | None = None
        with self._changed:
            while len(self._holders) >= self._size and not self._closed:
                oldest = self._oldest()
                if oldest is not None and oldest is not asked:
                    # Under the lock, so that it can't begin to work meanwhile; this does no more than mark a socket.
                    oldest.abort()
                    asked = oldest
                if self._clock.now() >= deadline:
                    return False
                self._clock.wait(self._changed, deadline)
            if self._closed:
                return False
            self._holders[id(holder)] = holder, State.READING
        return True

    def moves(self, holder: T, state: State) -> bool:
        """The holder is at something else now. False if all are to end, and this one as soon as it has answered."""
        with self._changed:
            self._holders.pop(id(holder), None)
            self._holders[id(holder)] = holder, state
            self._changed.notify()
            return not self._closed

    def leave(self, holder: T) -> None:
        """The holder is done."""
        with self._changed:
            self._holders.pop(id(holder), None)
            self._changed.notify()

    def close(self) -> None:
        """Give no more places; who waits for a request has to go, who has one may answer it."""
        with self._changed:
            self._closed = True
            reading = [holder for holder, state in self._holders.values() if state is State.READING]
            self._changed.notify_all()
        for holder in reading:
            holder.abort()

    def _oldest(self) -> T | None:
        return next((holder for holder, state in self._holders.values() if state is not State.WORKING), None)
