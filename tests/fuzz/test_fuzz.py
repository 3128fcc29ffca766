"""Short fuzzing of every target: each input is accepted or rejected with a one-line message."""

import pytest

from tests.fuzz.engine import Fuzzer, Target, kept
from tests.fuzz.targets import TARGETS

SECONDS = 0.15
"""For each target of weight 1; `make fuzz` takes longer."""


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(20 * SECONDS, id="long", marks=pytest.mark.slow)])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_breaks_it(target: Target, seconds: float) -> None:
    fuzzer = Fuzzer(target, seed=1)
    fuzzer.replay()
    fuzzer.spend(seconds * target.weight)
    assert not fuzzer.tally.crashes, fuzzer.tally.crashes[0]
    # A target that always answers the same is not reached, and would find nothing.
    assert len(fuzzer.tally.answers) > 1
    assert fuzzer.tally.inputs >= len(target.seeds) + len(list(kept(target.name)))
