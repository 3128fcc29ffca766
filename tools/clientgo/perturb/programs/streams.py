"""Connections of an operator that have switched protocols: commands in pods and forwarded ports.

Like requests and frames, their bytes pass when the engine lets them, while all threads of the operator wait.
"""

import threading
from collections.abc import Mapping

from clientgo.errors import ConnectionFailed
from clientgo.perturb.programs.clock import OperatorClock
from clientgo.rest.transport import IdleTimeout
from clientgo_apiserver.serving.memorysockets import MemorySocket


class GateDuplex:
    """Connection of the operator to a WebSocket of the server. Implements `clientgo.rest.transport.Duplex`."""

    status = 101

    def __init__(self, served: MemorySocket, clock: OperatorClock) -> None:
        self.headers: Mapping[str, str] = served.headers
        self._served = served
        self._clock = clock
        self._changed = threading.Condition()
        self._received, self._sent = bytearray(), bytearray()
        self._is_complete = False  # the server sends nothing more
        self._error: BaseException | None = None

    def __repr__(self) -> str:
        return f"<GateDuplex {self._served!r}>"

    def receive(self, timeout: float | None) -> bytes:
        """Return bytes as they arrive, empty at the end; raise `IdleTimeout` after `timeout` seconds without data."""
        deadline = None if timeout is None else self._clock.now() + timeout
        with self._changed:
            while not (self._received or self._is_complete or self._error):
                if deadline is not None and self._clock.now() >= deadline:
                    raise IdleTimeout(f"no data within {timeout:g} s")
                self._clock.wait(self._changed, deadline)
            if self._error is not None:
                raise self._error
            data, self._received = bytes(self._received), bytearray()
            return data

    def send(self, data: bytes) -> None:
        """Send all bytes once the engine lets them pass."""
        with self._changed:
            if self._error is not None:
                raise self._error
            self._sent += data

    post = send

    def close(self) -> None:
        """Close the connection; a blocked thread returns at once."""
        self.end(ConnectionFailed("the connection was closed by this program", broken=False))

    def end(self, error: BaseException) -> None:
        """Raise the error in the operator, unless the connection has ended already."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def exchange(self) -> bool:
        """Pass on what both sides have sent; return whether the operator has got something."""
        with self._changed:
            if self._is_complete or self._error is not None:
                return False
            sent, self._sent = bytes(self._sent), bytearray()
            if sent:
                self._served.send(sent)
            data = self._served.take()
            self._received += data
            self._is_complete = self._served.closed
            self._changed.notify_all()
            return bool(data) or self._is_complete

    def release(self) -> bool:
        """Close the server's side if the connection has ended; return whether it has."""
        with self._changed:
            if self._error is None and not self._is_complete:
                return False
            self._served.close()
            return True
