"""Places for connections: never more than allowed, the oldest that waits has to go, work is left in peace."""

import threading

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clientgo.lifecycle import Group
from clientgo.serving.places import Places, State
from clientgo.testing.clock import FakeClock


class Client:
    """Counts how often it is told to go, and stays."""

    def __init__(self) -> None:
        self.aborted = 0
        self.told = threading.Event()

    def abort(self) -> None:
        self.aborted += 1
        self.told.set()


def clients(places: Places[Client], number: int) -> list[Client]:
    made = [Client() for _ in range(number)]
    assert all(places.take(client, 0) for client in made)
    return made


def test_the_one_that_waits_longest_has_to_go() -> None:
    places: Places[Client] = Places(2, FakeClock())
    first, second = clients(places, 2)
    assert not places.take(Client(), 0), "it has not gone yet"
    assert (first.aborted, second.aborted) == (1, 0)
    places.leave(first)
    assert places.take(Client(), 0)
    assert repr(places) == "<Places reading, reading, of 2>"


def test_one_that_has_been_answered_waits_anew() -> None:
    places: Places[Client] = Places(2, FakeClock())
    first, second = clients(places, 2)
    for state in (State.WORKING, State.WRITING, State.READING):
        assert places.moves(first, state)
    places.take(Client(), 0)
    assert (first.aborted, second.aborted) == (0, 1)


def test_work_is_left_in_peace_and_a_slow_reader_is_not() -> None:
    places: Places[Client] = Places(2, FakeClock())
    first, second = clients(places, 2)
    places.moves(first, State.WORKING)
    places.moves(second, State.WRITING)
    assert not places.take(Client(), 0)
    assert (first.aborted, second.aborted) == (0, 1)
    places.moves(second, State.WORKING)
    assert not places.take(Client(), 0)
    assert (first.aborted, second.aborted) == (0, 1)


def test_a_newcomer_gets_the_place_as_soon_as_it_is_free() -> None:
    clock = FakeClock()
    places: Places[Client] = Places(1, clock)
    [first] = clients(places, 1)
    places.moves(first, State.WORKING)
    taken: list[bool] = []
    with Group() as group:
        group.start(lambda: taken.append(places.take(Client(), 10)), name="newcomer")
        clock.wait_for_waiters(1)
        places.leave(first)
        group.join(10)
    assert taken == [True]


def test_a_newcomer_drives_out_who_comes_to_wait_and_tells_him_once() -> None:
    clock = FakeClock()
    places: Places[Client] = Places(2, clock)
    first, second = clients(places, 2)
    places.moves(first, State.WORKING)
    places.moves(second, State.WORKING)
    with Group() as group:
        group.start(places.take, Client(), 10, name="newcomer")
        clock.wait_for_waiters(1)
        places.moves(first, State.WRITING)
        assert first.told.wait(10)
        clock.wait_for_waiters(1)
        places.moves(second, State.READING)
        clock.wait_for_waiters(1)
        places.leave(first)
        group.join(10)
    assert (first.aborted, second.aborted) == (1, 0)


def test_a_newcomer_gives_up_after_its_time() -> None:
    clock = FakeClock()
    places: Places[Client] = Places(1, clock)
    [first] = clients(places, 1)
    places.moves(first, State.WORKING)
    taken: list[bool] = []
    with Group() as group:
        group.start(lambda: taken.append(places.take(Client(), 10)), name="newcomer")
        clock.wait_for_waiters(1)
        clock.step(10)
        group.join(10)
    assert taken == [False]


def test_closing_lets_who_works_end_and_nobody_in() -> None:
    places: Places[Client] = Places(3, FakeClock())
    reading, working, writing = clients(places, 3)
    places.moves(working, State.WORKING)
    places.moves(writing, State.WRITING)
    places.close()
    assert [client.aborted for client in (reading, working, writing)] == [1, 0, 0]
    assert not places.moves(working, State.WRITING)
    places.leave(working)
    assert not places.take(Client(), 0)
    places.leave(reading)
    places.leave(reading)
    places.leave(writing)
    assert repr(places) == "<Places empty, of 3>"


class Crowd(RuleBasedStateMachine):
    """Any order of coming, working and leaving: the bound holds, and work is never disturbed."""

    def __init__(self) -> None:
        super().__init__()
        self.places: Places[Client] = Places(3, FakeClock())
        self.inside: dict[Client, State] = {}

    @rule()
    def come(self) -> None:
        client = Client()
        evictable = [one for one, state in self.inside.items() if state is not State.WORKING]
        before = {one: one.aborted for one in self.inside}
        full = len(self.inside) == 3
        assert self.places.take(client, 0) is not full
        aborted = [one for one in self.inside if one.aborted > before[one]]
        assert aborted == (evictable[:1] if full else [])
        if not full:
            self.inside[client] = State.READING

    @rule()
    def first_works(self) -> None:
        self._first(State.WORKING)

    @rule()
    def first_writes(self) -> None:
        self._first(State.WRITING)

    @rule()
    def first_leaves(self) -> None:
        for client in list(self.inside)[:1]:
            del self.inside[client]
            self.places.leave(client)

    def _first(self, state: State) -> None:
        for client in list(self.inside)[:1]:
            del self.inside[client]
            self.inside[client] = state
            assert self.places.moves(client, state)

    @invariant()
    def shown_as_they_are(self) -> None:
        states = ", ".join(state.name.lower() for state in self.inside.values()) or "empty"
        assert repr(self.places) == f"<Places {states}, of 3>"


TestCrowd = Crowd.TestCase
# With three places and four moves, a longer history shows nothing new.
TestCrowd.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
