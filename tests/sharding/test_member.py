"""One member among others, without faults: distribution of keys, and duration of moves."""

import pytest

from tests.sharding.simulation import KEYS, LEASE, RENEW, RETRY, Replica, World

SOON = 3 * RETRY
"""Seconds within which a calm world has shared everything."""


def shared(world: World) -> dict[str, str]:
    """Return the owner of each key; there is exactly one."""
    owners = {key: world.owners(key) for key in KEYS}
    assert {key: len(who) for key, who in owners.items()} == dict.fromkeys(KEYS, 1)
    return {key: who[0].name for key, who in owners.items()}


def settled(replicas: int, count: int = 3) -> World:
    world = World(replicas=replicas, count=count)
    world.rounds(SOON)
    return world


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_every_key_has_one_owner_and_every_member_has_keys(replicas: int) -> None:
    world = settled(replicas)
    assert len(set(shared(world).values())) == replicas
    assert all(len(replica.member.members) == replicas for replica in world.replicas)


def test_extra_replica_stands_by_and_takes_over_a_released_slot() -> None:
    world = settled(4)
    before = shared(world)
    [standby] = [replica for replica in world.replicas if replica.member.slot < 0]
    assert not any(standby.begin(key) for key in KEYS)
    leaving = next(replica for replica in world.replicas if replica is not standby)
    leaving.member.leave()
    leaving.member.release()
    world.replicas.remove(leaving)
    world.rounds(SOON)
    after = shared(world)
    # The slot is hashed, not its holder: no other key has moved.
    assert after == {key: standby.name if name == leaving.name else name for key, name in before.items()}


def take_over_time(world: World, keys: list[str]) -> float:
    began = world.clock.now()
    while not all(world.owners(key) for key in keys):
        world.rounds(0.1)
        assert world.clock.now() - began < 10 * LEASE
    return world.clock.now() - began


def test_keys_of_a_killed_member_alone_move_when_its_lease_has_expired_and_not_before() -> None:
    world = settled(3)
    before = shared(world)
    killed = world.replicas.pop()
    lost = [key for key, name in before.items() if name == killed.name]
    took = take_over_time(world, lost)
    # It had renewed at most one period before, and that was seen at most one period after.
    assert LEASE - RETRY <= took <= LEASE + RETRY + 0.2
    world.rounds(SOON)
    assert {key: name for key, name in shared(world).items() if key not in lost} == {
        key: name for key, name in before.items() if key not in lost
    }


def test_new_member_gets_its_keys_within_two_periods_and_only_those_move() -> None:
    world = settled(2)
    before = shared(world)
    new = world.start()
    world.rounds(2 * RETRY)
    after = shared(world)
    moved = {key for key in KEYS if before[key] != after[key]}
    assert moved
    assert all(after[key] == new.name for key in moved)


def test_new_owner_waits_for_a_key_in_progress() -> None:
    world = settled(2)
    busy = world.replicas[0]
    stored = {key: busy.begin(key) for key in KEYS}
    new = world.start()
    world.rounds(4 * LEASE)
    # What it holds it keeps, and of what it had the new one gets nothing; from the other it does.
    assert busy.busy_with() == {key for key, mine in stored.items() if mine}
    begun = {key for key in KEYS if new.begin(key)}
    assert begun
    assert not begun & busy.busy_with()
    for key in KEYS:
        busy.end(key)
        new.end(key)
    world.rounds(SOON)
    assert new.name in shared(world).values()


def frozen(world: World) -> tuple[Replica, str]:
    """Return a member that was suspended with a key in progress until its lease expired."""
    before = shared(world)
    replica = world.replicas.pop(0)
    key = next(key for key in KEYS if before[key] == replica.name)
    assert replica.begin(key)
    world.rounds(LEASE + SOON)
    return replica, key


def test_member_suspended_past_its_lease_may_do_nothing() -> None:
    world = settled(3)
    replica, key = frozen(world)
    assert len(world.owners(key)) == 1
    assert not replica.member.valid(key)
    assert not any(replica.begin(other) for other in KEYS)
    world.replicas.append(replica)
    replica.member.tick()
    # Its lease is good again, and yet what it began before is not its own any more.
    assert replica.member.slot >= 0
    assert not replica.member.valid(key)
    replica.end(key)
    world.rounds(SOON)
    assert replica.name in shared(world).values()


def test_member_whose_slot_was_taken_meanwhile_stands_by() -> None:
    world = settled(3, count=2)
    holders = [replica for replica in world.replicas if replica.member.slot >= 0]
    world.replicas.remove(holders[0])
    world.rounds(LEASE + SOON)
    world.replicas.append(holders[0])
    world.rounds(SOON)
    assert holders[0].member.slot < 0
    assert holders[0].name not in shared(world).values()


def test_member_that_can_not_renew_begins_nothing_after_the_deadline() -> None:
    world = settled(1)
    [replica] = world.replicas
    assert replica.begin(KEYS[0])
    replica.line.faults = ["lost"] * 1000
    world.rounds(RENEW - RETRY - 0.1)
    assert replica.begin(KEYS[1])
    world.rounds(RETRY + 0.2)
    assert not replica.begin(KEYS[2])
    assert replica.busy_with() == set()
    replica.line.faults = []
    for key in KEYS:
        replica.end(key)
    world.rounds(SOON)
    assert replica.begin(KEYS[2])


def test_member_whose_lease_is_deleted_stops_and_joins_again() -> None:
    world = settled(2)
    world.server.slots.clear()
    for replica in world.replicas:
        replica.member.tick()
        assert not any(replica.begin(key) for key in KEYS)
    world.rounds(LEASE + SOON)
    assert len(set(shared(world).values())) == 2


def test_change_of_the_number_of_slots_is_safe_while_both_are_there() -> None:
    world = settled(3, count=3)
    more = world.start(count=4)
    world.rounds(SOON)
    assert more.name in shared(world).values()
    fewer = world.start(count=2)
    world.rounds(SOON)
    assert fewer.member.slot < 0
    for replica in [replica for replica in world.replicas if replica.member.slot != 3][:3]:
        world.replicas.remove(replica)
    world.rounds(LEASE + SOON)
    assert set(shared(world).values()) == {more.name, fewer.name}


def test_work_taken_twice_is_over_when_both_have_ended() -> None:
    world = settled(1)
    member = world.replicas[0].member
    assert member.begin("x")
    assert member.begin("x")
    member.end("x")
    assert member.valid("x")
    member.end("x")
    assert (member.valid("x"), member.idle()) == (False, True)
    with pytest.raises(KeyError):
        member.end("x")


def test_view_that_may_have_been_written_counts_until_a_write_is_confirmed() -> None:
    world = World(replicas=2, count=2)
    old, new = world.replicas
    old.member.tick()
    old.begin_all(KEYS)
    new.member.tick()
    # The old one lets go when the new one, frozen meanwhile, is nearly forgotten; the answer to its write is lost.
    for _ in range(5):
        world.clock.step(RETRY)
        old.member.tick()
    for key in KEYS:
        old.end(key)
    world.clock.step(RETRY)
    old.line.faults = ["unanswered", "", "lost", ""]
    old.member.tick()
    # It drops the new one and owns everything again, without telling others.
    world.clock.step(LEASE - 5 * RETRY + 0.1)
    old.line.faults = ["lost", "", "lost", ""]
    old.member.tick()
    new.member.tick()
    new.begin_all(KEYS)
    old.begin_all(KEYS)
    assert new.busy_with()
    assert old.busy_with()
    world.check()


def test_keys_gained_by_a_view_that_was_not_written_are_not_begun() -> None:
    world = settled(2)
    first, other = world.replicas
    world.replicas.remove(other)
    world.rounds(LEASE - RETRY)
    # It drops the other one, without telling others.
    first.line.faults = ["lost", "", "lost", ""]
    world.clock.step(RETRY)
    first.member.tick()
    world.replicas.append(other)
    other.member.tick()
    other.begin_all(KEYS)
    first.begin_all(KEYS)
    assert other.busy_with()
    assert first.busy_with()
    world.check()


def test_key_is_not_begun_while_the_view_that_gives_it_away_is_written() -> None:
    world = settled(2)
    old, gone = world.replicas
    world.replicas.remove(gone)
    world.rounds(LEASE - RETRY - 0.5)
    # The new one believes for long that the one that is gone is there, and wants none of its keys.
    new = world.start()
    new.member.tick()
    while gone.name in old.member.members:
        world.clock.step(0.1)
    # Renewed with everything for its own, looked, and now, before the view with the new one arrives, a worker comes.
    old.line.faults, old.line.meanwhile = ["", "", "meanwhile"], lambda: old.begin_all(KEYS)
    old.member.tick()
    world.rounds(LEASE + SOON)
    new.begin_all(KEYS)
    assert new.busy_with()
    assert old.busy_with()
    world.check()


def test_member_that_lost_its_slot_joins_again_when_its_old_work_has_ended() -> None:
    world = settled(1)
    [replica] = world.replicas
    assert replica.begin(KEYS[0])
    world.server.slots.clear()
    world.rounds(2 * LEASE)
    assert replica.member.slot < 0
    replica.end(KEYS[0])
    world.rounds(SOON)
    assert replica.member.slot >= 0
