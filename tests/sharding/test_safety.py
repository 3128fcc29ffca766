"""Safety under every order of requests, faults, suspensions and crashes: a key never has two owners.

Liveness: without further faults, exactly one member owns each key within a time limit.
"""

from itertools import cycle

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.errors import ApiError
from tests.models.budget import examples
from tests.sharding.simulation import KEYS, LEASE, RETRY, Replica, World

FAULTS = st.lists(st.sampled_from(["", "", "lost", "unanswered", "late", "slow", "meanwhile", "meanwhile"]), max_size=4)
WHO = st.integers(0, 3)
KEY = st.sampled_from(KEYS)
ROUNDS = st.integers(1, 4)
SOME_KEYS = st.sampled_from([KEYS, KEYS[:4], KEYS[4:6], KEYS[:1]])
CALM = LEASE + 10 * RETRY
"""Seconds after the last disturbance by which every key has its owner; undisturbed, it takes less (see below)."""


class Sharding(RuleBasedStateMachine):
    """Four replicas for three slots; any may be suspended, killed and replaced."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(replicas=4, count=3)
        self.frozen: set[str] = set()

    def awake(self, number: int) -> Replica | None:
        replica = self.world.replicas[number]
        return None if replica.name in self.frozen else replica

    @rule(number=WHO, faults=FAULTS, other=WHO, keys=SOME_KEYS, seconds=st.sampled_from([0.0, 0.0, 2.0, 6.0]))
    def tick(self, number: int, faults: list[str], other: int, keys: list[str], seconds: float) -> None:
        replica, another = self.awake(number), self.awake(other)

        def meanwhile() -> None:
            if another is not None and another is not replica:
                another.member.tick()
                another.begin_all(keys)
            if replica is not None:
                replica.begin_all(keys)
            self.world.check()
            self.world.clock.step(seconds)

        if replica is not None:
            replica.line.faults, replica.line.meanwhile = [*faults], meanwhile
            replica.member.tick()
            replica.line.faults, replica.line.meanwhile = [], lambda: None

    @rule(keys=SOME_KEYS)
    def everybody_begins(self, keys: list[str]) -> None:
        for replica in self.world.replicas:
            if replica.name not in self.frozen:
                replica.begin_all(keys)

    @rule(turns=st.lists(st.sampled_from(["begin", "end", "end and begin"]), min_size=2, max_size=8), rounds=ROUNDS)
    def rounds_with_work_at_every_request(self, turns: list[str], rounds: int) -> None:
        awake = [replica for replica in self.world.replicas if replica.name not in self.frozen]
        turn = cycle(turns)

        def meanwhile() -> None:
            what = next(turn)
            for replica in awake:
                if "end" in what:
                    for key in KEYS:
                        replica.end(key)
                if "begin" in what:
                    replica.begin_all(KEYS)
            self.world.check()

        for _ in range(rounds):
            for replica in awake:
                replica.line.faults, replica.line.meanwhile = ["meanwhile"] * 4, meanwhile
                replica.member.tick()
                replica.line.faults, replica.line.meanwhile = [], lambda: None
            self.world.clock.step(RETRY)

    @rule(number=WHO, keys=st.lists(KEY))
    def end(self, number: int, keys: list[str]) -> None:
        if (replica := self.awake(number)) is not None:
            for key in keys:
                replica.end(key)

    @rule(number=WHO)
    def end_all(self, number: int) -> None:
        self.end(number, KEYS)

    @rule(seconds=st.sampled_from([0.5, 2, 5, 9.9, 10, 15, 16]))
    def let_time_pass(self, seconds: float) -> None:
        self.world.clock.step(seconds)

    @rule(rounds=ROUNDS)
    def some_calm_rounds(self, rounds: int) -> None:
        for _ in range(rounds):
            for replica in self.world.replicas:
                if replica.name not in self.frozen:
                    replica.member.tick()
            self.world.check()
            self.world.clock.step(RETRY)

    @rule(number=WHO)
    def freeze(self, number: int) -> None:
        self.frozen.add(self.world.replicas[number].name)

    @rule()
    def thaw(self) -> None:
        self.frozen.clear()

    @rule(number=WHO, count=st.sampled_from([2, 3, 3, 4]))
    def kill_and_replace(self, number: int, count: int) -> None:
        # A new version of the program may want another number of slots.
        self.world.replicas[number] = self.world.start(count=count)
        self.world.replicas.pop()

    @rule(number=WHO)
    def leave_and_come_back(self, number: int) -> None:
        if (replica := self.awake(number)) is not None:
            replica.member.leave()
            self.end_all(number)
            replica.member.release()
            self.kill_and_replace(number, 3)

    @precondition(lambda self: self.world.server.under_way)
    @rule(data=st.data())
    def a_late_write_arrives(self, data: st.DataObject) -> None:
        late = self.world.server.under_way
        write = late.pop(data.draw(st.integers(0, len(late) - 1)))
        try:
            write()
        except ApiError:
            return

    @invariant()
    def nobody_shares_a_key(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        self.frozen.clear()
        for number in range(4):
            self.end_all(number)
        self.world.rounds(CALM)
        for key in KEYS:
            assert len(self.world.owners(key)) == 1, (key, self.world.replicas)


Sharding.TestCase.settings = settings(max_examples=examples(80), stateful_step_count=30, deadline=None)
TestSharding = Sharding.TestCase
