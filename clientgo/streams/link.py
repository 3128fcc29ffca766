"""One forwarded connection: a local socket and the WebSocket to a port of a pod."""

import select
import socket
import threading
from contextlib import suppress
from typing import Self

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ConnectionFailed, LeaseNotHeld
from clientgo.log import get_logger
from clientgo.rest.connections.tcp import shut_down
from clientgo.stop.lifecycle import Group
from clientgo.streams.channels import ChannelSocket

log = get_logger(__name__)

QUIET_SECONDS = 1.0
"""Seconds without data from the pod, after which a connection ends whose local program has ended its direction."""

_DATA, _ERROR = range(2)
_PORT_SIZE = 2
_READ = 64 * 1024
_TICK_MILLISECONDS = 200
_RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"
_ORDERLY = (1000, 1005)


class Link:
    """A local connection, reset at the end of its `with` block unless the program in the pod has ended it."""

    def __init__(self, sock: socket.socket, name: str, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._sock = sock
        self._name = name
        self._clock = clock
        self._lock = threading.Lock()
        self._channels: ChannelSocket | None = None  # guarded by _lock
        self._closed = False  # guarded by _lock
        self._ended = threading.Event()  # the pod's direction
        self._local_ended = threading.Event()
        self._received = 0

    def __repr__(self) -> str:
        return f"<Link {self._name}>"

    def __enter__(self) -> Self:
        # The local program must not take a failure for an end.
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return self

    def __exit__(self, *_: object) -> None:
        self._sock.close()

    def run(self, channels: ChannelSocket) -> None:
        """Copy both directions until the connection ends; raise `ConnectionFailed` if it fails."""
        with self._lock:
            self._channels = channels
            if self._closed:
                channels.close()
        with Group() as group:
            group.start(self._send, channels, name=f"{self._name}-up")
            try:
                self._receive(channels)
                self._finish()
            except (ConnectionFailed, OSError) as error:
                if isinstance(error, ConnectionFailed) and not self._local_ended.is_set():
                    raise
            finally:
                self._ended.set()
                channels.close()
                shut_down(self._sock, socket.SHUT_RD)

    def close(self) -> None:
        """Make `run` return, from any thread."""
        with self._lock:
            self._closed = True
            if self._channels is not None:
                self._channels.close()
        shut_down(self._sock, socket.SHUT_RD)

    def _send(self, channels: ChannelSocket) -> None:
        """Copy from the local program; afterwards wait until the pod is silent, and close."""
        try:
            while data := self._sock.recv(_READ):
                channels.send(_DATA, data)
            self._local_ended.set()
            self._wait_for_silence()
        except ConnectionFailed:
            if not self._ended.is_set():
                return  # the receiving thread raises it
            self._discard()
        except LeaseNotHeld as error:
            log.warning("forwarded connection ended", extra={"connection": self._name, "err": error})
        except OSError as error:
            log.debug("the local program has reset its connection", extra={"connection": self._name, "err": error})
        self._local_ended.set()
        channels.close()

    def _wait_for_silence(self) -> None:
        received = -1
        while received != self._received and not self._ended.is_set():
            received = self._received
            self._clock.wait_for(self._ended, QUIET_SECONDS)

    def _receive(self, channels: ChannelSocket) -> None:
        """Copy from the pod until the end."""
        unannounced = {_DATA, _ERROR}
        while (message := channels.receive()) is not None:
            channel, data = message
            if channel in unannounced:
                unannounced.discard(channel)
                data = data[_PORT_SIZE:]  # the first message of each channel begins with the port
            if channel == _ERROR and data:
                raise ConnectionFailed(f"{self._name}: {data.decode(errors='replace').strip()}")
            if channel == _DATA and data:
                self._received += 1
                self._deliver(data)
        if channels.socket.close_code not in _ORDERLY:
            raise ConnectionFailed(
                f"{self._name}: the server closed the connection with code {channels.socket.close_code} "
                f"{channels.socket.close_reason}".rstrip()
            )

    def _deliver(self, data: bytes) -> None:
        """Send data to the local program, which may not read: `close` ends the wait, unnoticed by the program."""
        unsent, poll = memoryview(data), select.poll()
        poll.register(self._sock, select.POLLOUT)
        while unsent and not self._closed:
            try:
                unsent = unsent[self._sock.send(unsent, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                poll.poll(_TICK_MILLISECONDS)

    def _finish(self) -> None:
        """Tell the local program the end; wait for its own, as unread data would make it a reset."""
        self._ended.set()
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))
        shut_down(self._sock, socket.SHUT_WR)
        self._clock.wait_for(self._local_ended, QUIET_SECONDS)

    def _discard(self) -> None:
        with suppress(OSError):
            while self._sock.recv(_READ):
                continue
