"""Port forwarding: a local port whose connections go to a port of a pod, each through a WebSocket of its own.

The protocol cannot end one direction of a connection. If the program in the pod ends it, the server closes the
WebSocket, and the local program receives the end. Every other end resets the local connection: if the server or the pod
fails, which is logged; and if the local program has ended its direction, once the pod is silent.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Self

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError
from clientgo.log import get_logger
from clientgo.rest.connections.tcp import shut_down
from clientgo.rest.request import Request, Requester
from clientgo.stop.lifecycle import Group, is_stopped_request
from clientgo.stop.stopping import on_stop
from clientgo.streams.channels import V4, ChannelSocket, open_channels
from clientgo.streams.link import Link

log = get_logger(__name__)

_PAUSE = 1.0


class PortForward:
    """A local port, forwarded to a port of a pod in a `with` block.

    Entering the block checks the permission. A connection that cannot be forwarded, or is lost, is reset and logged;
    the others continue.
    """

    def __init__(
        self,
        open_tunnel: Callable[[], ChannelSocket],
        *,
        name: str,
        host: str = "127.0.0.1",
        local_port: int = 0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.name = name
        self.host = host
        self.port = local_port
        """The local port; once the block is entered, that of the system's choice if it was 0."""
        self._open_tunnel = open_tunnel
        self._clock = clock
        self._group = Group()
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._links: set[Link] = set()  # guarded by _lock
        self._closed = False  # guarded by _lock

    def __repr__(self) -> str:
        return f"<PortForward {self.address} to {self.name}>"

    @property
    def address(self) -> str:
        """The local address, such as `127.0.0.1:40123`."""
        return f"{self.host}:{self.port}"

    def __enter__(self) -> Self:
        listener = socket.create_server((self.host, self.port))
        with ExitStack() as stack:
            stack.enter_context(listener)
            self._open_tunnel().close()
            self.port = listener.getsockname()[1]
            stack.callback(self._group.join)
            stack.callback(self._interrupt, listener)
            stack.enter_context(on_stop(partial(self._interrupt, listener)))
            self._group.start(self._accept, listener, name=f"portforward-{self.name}")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _interrupt(self, listener: socket.socket) -> None:
        """Make all threads return."""
        with self._lock:
            self._closed = True
            links = list(self._links)
        self._group.stop()
        shut_down(listener)
        for link in links:
            link.close()

    def _accept(self, listener: socket.socket) -> None:
        number = 0
        while not self._closed:
            try:
                sock, _ = listener.accept()
            except OSError as error:
                if not self._closed:  # no file descriptor left, say
                    log.warning("cannot accept a connection", extra={"address": self.address, "err": error})
                    self._clock.sleep(self._group.stop_event, _PAUSE)
                continue
            number += 1
            name = f"portforward-{self.name}-{number}"
            self._group.start(self._forward, Link(sock, name, clock=self._clock), name=name)

    def _forward(self, link: Link) -> None:
        with link:
            with self._lock:
                self._links.add(link)
                is_late = self._closed
            try:
                if not is_late:
                    link.run(self._open_tunnel())
            except ClientGoError as error:
                if not (self._closed or is_stopped_request(error)):
                    log.warning("forwarded connection failed", extra={"address": self.address, "err": error})
            finally:
                with self._lock:
                    self._links.discard(link)


def forward_port(requester: Requester, request: Request, *, host: str, local_port: int) -> PortForward:
    """Return the forwarding of a local port; `request` is that of the subresource, with the pod's port."""
    port = request.query["ports"]
    open_tunnel = partial(open_channels, requester, request, (V4,))
    return PortForward(open_tunnel, name=f"{request.name}-{port}", host=host, local_port=local_port)
