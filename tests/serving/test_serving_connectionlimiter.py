"""Connection limiter: the limit holds, only stalled clients are evicted, responses are never interrupted."""

import threading

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clientgo.lifecycle import Group
from clientgo.serving.connectionlimiter import ConnectionLimiter, ConnectionState
from clientgo.testing.clock import FakeClock

CROWDED = 5.0


class Client:
    """Connection that counts aborts and stays."""

    def __init__(self) -> None:
        self.aborted = 0
        self.told = threading.Event()

    def abort(self) -> None:
        self.aborted += 1
        self.told.set()


def limiter(size: int, clock: FakeClock, *, crowded: float = CROWDED) -> ConnectionLimiter[Client]:
    return ConnectionLimiter(size, crowded=crowded, clock=clock)


def clients(limited: ConnectionLimiter[Client], number: int) -> list[Client]:
    built = [Client() for _ in range(number)]
    assert all(limited.wait_for_room(0) and limited.add(client) for client in built)
    return built


def crowd(limited: ConnectionLimiter[Client], clock: FakeClock, seconds: float) -> None:
    """Let another client wait for this time, in which no connection ends."""
    assert not limited.wait_for_room(0)
    clock.step(seconds)
    assert not limited.wait_for_room(0)


def test_room_is_found_only_below_the_limit() -> None:
    limited = limiter(2, FakeClock())
    first, _ = clients(limited, 2)
    assert limited.full
    assert not limited.wait_for_room(0)
    limited.remove(first)
    assert limited.wait_for_room(0)
    assert repr(limited) == "<ConnectionLimiter reading, of 2>"


def test_a_client_that_has_not_sent_its_request_is_evicted_in_the_order_of_coming() -> None:
    clock = FakeClock()
    limited = limiter(2, clock)
    first, second = clients(limited, 2)
    clock.step(CROWDED * 10)
    crowd(limited, clock, CROWDED - 1)
    assert (first.aborted, second.aborted) == (0, 0), "it is counted from the beginning of the crowd"
    crowd(limited, clock, 1)
    assert (first.aborted, second.aborted) == (1, 0)


def test_an_idle_connection_is_evicted_before_a_client_that_has_not_been_answered() -> None:
    clock = FakeClock()
    limited = limiter(2, clock)
    first, second = clients(limited, 2)
    for state in (ConnectionState.WORKING, ConnectionState.WRITING, ConnectionState.IDLE):
        assert limited.move(second, state)
    clock.step(100)
    crowd(limited, clock, CROWDED / 2)
    assert (first.aborted, second.aborted) == (0, 0), "it may be reused just now"
    crowd(limited, clock, CROWDED / 2)
    assert (first.aborted, second.aborted) == (0, 1)


def test_an_idle_connection_is_not_evicted_if_it_is_reused_in_the_crowd() -> None:
    clock = FakeClock()
    limited = limiter(1, clock)
    [client] = clients(limited, 1)
    for _ in range(10):
        limited.move(client, ConnectionState.IDLE)
        crowd(limited, clock, CROWDED / 2)
    assert client.aborted == 0


def test_free_connection_ends_a_crowd() -> None:
    clock = FakeClock()
    limited = limiter(2, clock)
    first, second = clients(limited, 2)
    crowd(limited, clock, CROWDED - 1)
    limited.remove(first)
    assert limited.wait_for_room(0)
    clients(limited, 1)
    crowd(limited, clock, CROWDED - 1)
    assert second.aborted == 0


@pytest.mark.parametrize(
    ("state", "aborted"), [(ConnectionState.WORKING, 0), (ConnectionState.WRITING, 1), (ConnectionState.READING, 1)]
)
def test_only_a_client_that_stalls_is_evicted(state: ConnectionState, aborted: int) -> None:
    clock = FakeClock()
    limited = limiter(1, clock)
    [client] = clients(limited, 1)
    limited.move(client, state)
    crowd(limited, clock, CROWDED * 100)
    assert client.aborted == aborted


def test_one_connection_is_evicted_at_a_time() -> None:
    clock = FakeClock()
    limited = limiter(2, clock)
    first, second = clients(limited, 2)
    crowd(limited, clock, CROWDED)
    crowd(limited, clock, CROWDED)
    assert (first.aborted, second.aborted) == (1, 0)
    limited.move(first, ConnectionState.WORKING)  # its request had come meanwhile
    crowd(limited, clock, 0)
    assert (first.aborted, second.aborted) == (1, 1)


def test_room_is_found_as_soon_as_a_connection_ends() -> None:
    clock = FakeClock()
    limited = limiter(1, clock)
    [first] = clients(limited, 1)
    matches: list[bool] = []
    with Group().ending_within(20) as group:
        group.start(lambda: matches.append(limited.wait_for_room(10)), name="accept")
        clock.wait_for_waiters(1)
        limited.remove(first)
        group.join(10)
    assert matches == [True]


def test_a_waiting_acceptor_evicts_a_client_once_it_stalls() -> None:
    clock = FakeClock()
    limited = limiter(1, clock)
    [first] = clients(limited, 1)
    with Group().ending_within(20) as group:
        group.start(limited.wait_for_room, 10, name="accept")
        clock.wait_for_waiters(1)
        clock.step(CROWDED)
        assert first.told.wait(10)
        limited.remove(first)
        group.join(10)


def test_closing_finishes_responses_and_accepts_nothing() -> None:
    clock = FakeClock()
    limited = limiter(4, clock)
    reading, working, writing, idle = clients(limited, 4)
    limited.move(working, ConnectionState.WORKING)
    limited.move(writing, ConnectionState.WRITING)
    limited.move(idle, ConnectionState.IDLE)
    limited.close()
    assert [client.aborted for client in (reading, working, writing, idle)] == [1, 0, 0, 1]
    assert not limited.move(working, ConnectionState.WRITING)
    assert not limited.wait_for_room(0)
    assert not limited.add(Client())
    for client in (reading, reading, working, writing, idle):
        limited.remove(client)
    assert repr(limited) == "<ConnectionLimiter empty, of 4>"


class Crowd(RuleBasedStateMachine):
    """Any order of connecting, working and leaving: the limit holds, and responses are never interrupted."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.limited = limiter(3, self.clock)
        self.inside: dict[Client, ConnectionState] = {}

    @rule()
    def come(self) -> None:
        if len(self.inside) == 3:
            before = {client: client.aborted for client in self.inside}
            crowd(self.limited, self.clock, CROWDED)
            evicted = [client for client in self.inside if client.aborted > before[client]]
            assert len(evicted) <= 1
            assert all(self.inside[client] is not ConnectionState.WORKING for client in evicted)
        else:
            assert self.limited.wait_for_room(0)
            client = Client()
            assert self.limited.add(client)
            self.inside[client] = ConnectionState.READING

    @rule()
    def time_passes(self) -> None:
        self.clock.step(CROWDED)

    @rule()
    def first_works(self) -> None:
        self._first(ConnectionState.WORKING)

    @rule()
    def first_idles(self) -> None:
        self._first(ConnectionState.IDLE)

    @rule()
    def first_leaves(self) -> None:
        for client in list(self.inside)[:1]:
            del self.inside[client]
            self.limited.remove(client)

    def _first(self, state: ConnectionState) -> None:
        for client in list(self.inside)[:1]:
            self.inside[client] = state
            assert self.limited.move(client, state)

    @invariant()
    def shown_as_they_are(self) -> None:
        states = ", ".join(state.name.lower() for state in self.inside.values()) or "empty"
        assert repr(self.limited) == f"<ConnectionLimiter {states}, of 3>"


TestCrowd = Crowd.TestCase
# With three connections and five moves, a longer history shows nothing new.
TestCrowd.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
