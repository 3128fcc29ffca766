"""Connection limiter: fair places, and eviction of clients without a complete request."""

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from hypothesis.strategies import integers, sampled_from

from clientgo.serving.connectionlimiter import WAITING, ConnectionLimiter, ConnectionState

S = ConnectionState
CROWDED = 5.0


def limiter(size: int = 2, room: int = 3) -> ConnectionLimiter[str]:
    return ConnectionLimiter(size, room, crowded=CROWDED)


def test_room_is_for_connections_without_a_place() -> None:
    limited = limiter(size=1, room=1)
    limited.add("a", "address", 0.0)
    assert limited.full
    limited.move("a", S.WORKING, 0.0)
    limited.add("b", "address", 0.0)
    limited.move("b", S.READY, 0.0)
    assert limited.short_of_places
    assert repr(limited) == "<ConnectionLimiter 1 working, 1 ready>"


def test_silent_clients_are_evicted_before_those_that_have_sent_something_or_are_idle() -> None:
    limited = limiter()
    order = []
    for name, state in (("idle", S.IDLE), ("reading", S.READING), ("silent", S.SILENT), ("younger", S.SILENT)):
        limited.add(name, "address", 1.0)
        limited.move(name, state, 2.0)
    while (victim := limited.to_evict()) is not None:
        order.append(victim[0])
        limited.remove(victim[0])
    assert order == ["silent", "younger", "reading", "idle"]


def test_client_may_be_evicted_once_it_has_waited() -> None:
    limited = limiter()
    limited.add("a", "address", 1.0)
    assert limited.to_evict() == ("a", 1.0 + CROWDED)


def test_address_with_the_most_connections_loses_one() -> None:
    limited = limiter()
    limited.add("first", "kubelet", 0.0)
    for name in ("b", "c"):
        limited.add(name, "other", 1.0)
        limited.move(name, S.READING, 1.0)
    assert limited.to_evict() == ("b", 1.0 + CROWDED)


def test_complete_request_is_not_evicted() -> None:
    limited = limiter()
    for state in (S.READY, S.WORKING, S.WRITING):
        limited.add(state.name, "address", 0.0)
        limited.move(state.name, state, 0.0)
    assert limited.to_evict() is None
    assert limited.in_state(S.READY, S.WRITING) == ["READY", "WRITING"]


def test_next_place_is_for_the_address_with_the_fewest() -> None:
    limited = limiter(size=3)
    for name in ("a1", "a2", "a3", "b1"):
        limited.add(name, name[0], 0.0)
        limited.move(name, S.READY, 0.0)
    order = []
    while (name := limited.next_ready() or "") != "":
        order.append(name)
        limited.move(name, S.WORKING, 0.0)
    assert order == ["a1", "b1", "a2"]
    limited.remove("a1")
    assert limited.next_ready() == "a3"


def test_client_that_takes_its_response_for_longest_is_known() -> None:
    limited = limiter()
    for name, now in (("a", 1.0), ("b", 2.0)):
        limited.add(name, "address", 0.0)
        limited.move(name, S.WORKING, 0.0)
        limited.move(name, S.WRITING, now)
    assert limited.longest_writing() == ("a", 1.0)
    limited.move("a", S.IDLE, 3.0)
    assert limited.longest_writing() == ("b", 2.0)


class Moves(RuleBasedStateMachine):
    """Any order of connecting, moving and leaving."""

    def __init__(self) -> None:
        super().__init__()
        self.limited = limiter(size=2, room=3)
        self.states: dict[str, ConnectionState] = {}
        self.count = 0

    @rule(address=sampled_from(["a", "b"]))
    def come(self, address: str) -> None:
        self.count += 1
        name = f"{address}{self.count}"
        self.limited.add(name, address, float(self.count))
        self.states[name] = S.SILENT

    @rule(index=integers(0, 5), state=sampled_from([S.READING, S.IDLE, S.READY, S.WRITING]))
    def move(self, index: int, state: ConnectionState) -> None:
        for name in list(self.states)[index : index + 1]:
            if state is S.WRITING and self.states[name] is not S.WORKING:
                return
            self.limited.move(name, state, float(self.count))
            self.states[name] = state

    @rule()
    def work(self) -> None:
        if (name := self.limited.next_ready()) is not None:
            self.limited.move(name, S.WORKING, float(self.count))
            self.states[name] = S.WORKING

    @rule(index=integers(0, 5))
    def leave(self, index: int) -> None:
        for name in list(self.states)[index : index + 1]:
            self.limited.remove(name)
            del self.states[name]

    @invariant()
    def counts_are_those_of_the_states(self) -> None:
        with_place = [name for name, state in self.states.items() if state in (S.WORKING, S.WRITING)]
        assert len(with_place) <= 2
        assert len(self.limited) == len(self.states)
        assert self.limited.full == (len(self.states) - len(with_place) >= 3)
        victim = self.limited.to_evict()
        waiting = [name for name, state in self.states.items() if state in WAITING]
        assert (victim is None) == (not waiting)
        assert victim is None or victim[0] in waiting
        ready = [name for name, state in self.states.items() if state is S.READY]
        assert (self.limited.next_ready() is not None) == (bool(ready) and len(with_place) < 2)


TestMoves = Moves.TestCase
TestMoves.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
