"""Rendezvous hashing: balanced, stable and equal in all processes."""

import math
import random
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.sharding.ownership import MOST_SLOTS, Draw, owner

VIEWS = st.frozensets(st.integers(0, 15), min_size=1)


def uids(number: int) -> list[str]:
    dice = random.Random(20261121)
    return [str(uuid.UUID(int=dice.getrandbits(128), version=4)) for _ in range(number)]


@pytest.mark.parametrize("slots", [2, 3, 5, 16])
def test_keys_are_spread_evenly(slots: int) -> None:
    counts = [0] * slots
    for uid in uids(12_000):
        counts[owner(uid, frozenset(range(slots)))] += 1
    expected = 12_000 / slots
    chi_square = sum((count - expected) ** 2 / expected for count in counts)
    # Mean slots - 1, variance twice that; beyond four deviations chance cannot explain the difference.
    assert chi_square < slots - 1 + 4 * math.sqrt(2 * (slots - 1))


@pytest.mark.parametrize("gone", range(4))
def test_what_a_slot_leaves_is_spread_evenly_too(gone: int) -> None:
    before, after = frozenset(range(4)), frozenset(range(4)) - {gone}
    remaining = [owner(uid, after) for uid in uids(12_000) if owner(uid, before) == gone]
    counts = [remaining.count(slot) for slot in after]
    assert sum((count - len(remaining) / 3) ** 2 / (len(remaining) / 3) for count in counts) < 2 + 4 * math.sqrt(4)


@given(key=st.text(), view=VIEWS, other=st.integers(0, 15))
def test_slot_that_comes_or_goes_moves_no_key_between_others(key: str, view: frozenset[int], other: int) -> None:
    without, within = view - {other}, view | {other}
    if without:
        assert owner(key, within) in (owner(key, without), other)


@given(key=st.text(), view=VIEWS, more=st.integers(0, 100))
def test_it_makes_no_difference_how_many_slots_are_drawn_for(key: str, view: frozenset[int], more: int) -> None:
    assert Draw(key, max(view) + 1 + more).winner(view) == owner(key, view)


def test_the_owners_are_those_of_every_release() -> None:
    # Replicas of two releases must agree, or no replica may work on some keys while the one replaces the other.
    view = frozenset(range(5))
    assert [owner(f"uid-{number}", view) for number in range(12)] == FIXED


FIXED = [1, 2, 4, 0, 0, 3, 3, 4, 0, 1, 0, 3]


def test_empty_view_has_no_owner_and_the_last_slot_can_win() -> None:
    with pytest.raises(ValueError, match="empty"):
        owner("x", frozenset())
    assert owner("x", frozenset({MOST_SLOTS - 1})) == MOST_SLOTS - 1
