"""Sequences of random writes: the answers of a real API server (1.36.2), and what it stored, are those of this one.

`python -m hack.differential --record` makes the recording.
"""

from collections.abc import Iterator
from itertools import islice

import pytest

from tests.differential.bundled import bundled
from tests.differential.kinds import KINDS
from tests.differential.playing import is_same, play
from tests.differential.recording import RECORDED, Recorded, read
from tests.differential.sequences import APPLY, MERGE, Write

PARTS = 15


@pytest.fixture(scope="module")
def recorded() -> list[Recorded]:
    return list(read(RECORDED))


def part(recorded: list[Recorded], number: int) -> Iterator[Recorded]:
    return islice(recorded, number, None, PARTS)


def test_recording_has_every_kind_and_1500_sequences(recorded: list[Recorded]) -> None:
    assert {sequence.kind for sequence in recorded} == KINDS.keys()
    assert len(recorded) >= 1500


@pytest.mark.parametrize("number", range(PARTS))
def test_random_writes_have_the_outcomes_of_a_real_server(recorded: list[Recorded], number: int) -> None:
    send = bundled()
    for sequence in part(recorded, number):
        mine = list(play(send, KINDS[sequence.kind], f"s{sequence.seed}", sequence.writes))
        for write, theirs, ours in zip(sequence.writes, sequence.outcomes, mine, strict=True):
            assert is_same(theirs, ours), f"sequence {sequence.seed}: {write}\nreal: {theirs}\nours: {ours}"


def test_object_with_duplicates_has_no_managers_once_it_is_written_in_another_version() -> None:
    send, kind = bundled(), KINDS["Thing"]
    create: Write = {"verb": "create", "manager": "m1", "body": {"metadata": {"finalizers": ["a.io/f", "a.io/f"]}}}
    label: Write = {"verb": MERGE, "manager": "m2", "body": {"metadata": {"labels": {"l1": "x"}}}}
    status: Write = {"verb": APPLY, "manager": "m3", "subresource": "status", "body": {"status": {"phase": "a"}}}
    outcomes = [
        *play(send, kind, "a", [create, label, {**status, "version": "v1beta1"}, {**label, "version": "v1beta1"}])
    ]
    assert [outcome.code for outcome in outcomes] == [201, 200, 500, 200]
    assert [len(outcome.stored["metadata"].get("managedFields", ())) for outcome in outcomes] == [1, 2, 2, 0]
