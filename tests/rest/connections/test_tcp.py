"""Connections to hosts with several addresses: order, timeouts, errors."""

import errno
import math
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import pairwise

import pytest

from clientgo.rest.connections.tcp import ATTEMPT_DELAY, PREFERENCE_SECONDS, Connector, Network, SocketAddress
from clientgo.testing.clock import FakeClock
from tests.rest.loopback import loopback

NEVER = math.inf


class FakeNetwork(Network):
    """Ends the attempt at an address after so many seconds, with that error number; at once for a negative time."""

    def __init__(self, clock: FakeClock, answers: Mapping[str, tuple[float, int]]) -> None:
        self.started: list[tuple[str, float]] = []
        self.sockets: list[socket.socket] = []
        self._clock = clock
        self._answers = answers
        self._due: dict[socket.socket, tuple[float, int]] = {}

    def start(self, to: SocketAddress) -> socket.socket:
        self.started.append((to.address, round(self._clock.now(), 6)))
        seconds, code = self._answers.get(to.address, (NEVER, 0))
        if seconds < 0:
            raise OSError(code, os.strerror(code))
        sock = socket.socket()
        self.sockets.append(sock)
        self._due[sock] = self._clock.now() + seconds, code
        return sock

    def wait(self, sockets: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
        first = min(self._due[sock][0] for sock in sockets)
        self._clock.step(min(max(0.0, first - self._clock.now()), seconds))
        return [sock for sock in sockets if self._due[sock][0] <= self._clock.now() + 1e-9]

    def error(self, sock: socket.socket) -> int:
        return self._due[sock][1]


def v4(address: str) -> SocketAddress:
    return SocketAddress(socket.AF_INET, socket.SOCK_STREAM, 0, address)


def v6(address: str) -> SocketAddress:
    return SocketAddress(socket.AF_INET6, socket.SOCK_STREAM, 0, address)


class Host:
    """A host whose addresses answer as written down."""

    def __init__(self, **answers: tuple[float, int]) -> None:
        self.clock = FakeClock()
        self.network = FakeNetwork(self.clock, answers)
        self.connector = Connector(clock=self.clock, network=self.network)

    def connect(self, *addresses: SocketAddress, timeout: float = 5.0) -> float:
        """Connect and close again; return the timeout that was left for the socket."""
        with closing(self.connector.connect(addresses, timeout)) as sock:
            remaining = sock.gettimeout()
            assert remaining is not None
            return remaining


def test_unresponsive_address_costs_only_the_attempt_delay() -> None:
    host = Host(b=(0.1, 0))
    remaining = host.connect(v4("a"), v4("b"))
    assert host.network.started == [("a", 0.0), ("b", ATTEMPT_DELAY)]
    assert remaining == pytest.approx(5.0 - ATTEMPT_DELAY - 0.1)


def test_other_family_is_tried_second() -> None:
    host = Host(d=(0.1, 0))
    host.connect(v6("a"), v6("b"), v6("c"), v4("d"))
    assert [address for address, _ in host.network.started] == ["a", "d"]


def test_slow_address_is_used_if_it_connects_first() -> None:
    host = Host(a=(0.4, 0), b=(1.0, 0))
    assert host.connect(v6("a"), v4("b")) == pytest.approx(4.6)


def test_other_attempts_are_closed() -> None:
    host = Host(c=(0.0, 0))
    sock = host.connector.connect([v4("a"), v4("b"), v4("c")], 5.0)
    assert [built.fileno() >= 0 for built in host.network.sockets] == [False, False, True]
    sock.close()


def test_next_address_is_tried_at_once_when_one_fails() -> None:
    host = Host(a=(0.01, errno.ECONNREFUSED), b=(0.0, 0))
    host.connect(v4("a"), v4("b"))
    assert host.network.started == [("a", 0.0), ("b", 0.01)]


@pytest.mark.parametrize("code", [errno.EAFNOSUPPORT, errno.ENETUNREACH])
def test_family_that_this_machine_does_not_support_is_skipped_and_not_reported(code: int) -> None:
    host = Host(six=(-1.0, code), four=(0.0, 0))
    host.connect(v6("six"), v4("four"))
    assert host.network.started == [("six", 0.0), ("four", 0.0)]
    refused = Host(six=(-1.0, code), four=(0.0, errno.ECONNREFUSED))
    with pytest.raises(ConnectionRefusedError):
        refused.connect(v6("six"), v4("four"))
    with pytest.raises(OSError, match=os.strerror(code)):
        refused.connect(v6("six"))


@pytest.mark.parametrize("count", [1, 2, 50])
def test_every_address_is_tried_before_the_timeout_ends(count: int) -> None:
    host = Host()
    with pytest.raises(TimeoutError):
        host.connect(*(v4(f"a{number}") for number in range(count)))
    assert len(host.network.started) == count
    times = [at for _, at in host.network.started]
    assert all(later - earlier <= ATTEMPT_DELAY + 1e-6 for earlier, later in pairwise(times))
    assert times[-1] < 5.0
    assert host.clock.now() == pytest.approx(5.0)


def test_address_that_worked_is_tried_first_for_ten_minutes() -> None:
    host = Host(b=(0.0, 0))
    host.connect(v6("a"), v4("b"))
    host.network.started.clear()
    host.connect(v6("a"), v4("b"))
    assert [address for address, _ in host.network.started] == ["b"]
    host.clock.step(PREFERENCE_SECONDS)
    host.network.started.clear()
    host.connect(v6("a"), v4("b"))
    assert [address for address, _ in host.network.started] == ["a", "b"]


def test_order_of_the_resolver_is_kept_while_its_first_address_works() -> None:
    host = Host(a=(0.0, 0), b=(0.0, 0))
    host.connect(v4("a"), v4("b"))
    host.connect(v4("b"), v4("a"))
    assert [address for address, _ in host.network.started] == ["a", "b"]


@contextmanager
def refusing() -> Iterator[tuple[str, int]]:
    """An address where nothing listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()


@contextmanager
def black_hole() -> Iterator[tuple[str, int]]:
    """An address that swallows connection requests: its backlog is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        yield listener.getsockname()
        for filler in fillers:
            filler.close()


@pytest.mark.integration
@pytest.mark.parametrize("first", [refusing, black_hole])
def test_second_address_is_reached_over_real_sockets(
    first: Callable[[], AbstractContextManager[tuple[str, int]]],
) -> None:
    with first() as useless, loopback() as server:
        existing = ("127.0.0.1", server.port)
        addresses = [SocketAddress(socket.AF_INET, socket.SOCK_STREAM, 0, at) for at in (useless, existing)]
        with closing(Connector().connect(addresses, 10.0)) as sock:
            assert sock.getpeername() == existing
