"""Stops of whole programs, whatever the server does."""

import pytest

from tests.stop.stops import CASES, LIMIT, stops_of

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("name", CASES)
def test_program_stops_and_leaves_no_thread(name: str) -> None:
    times, remaining = stops_of(CASES[name], 2)
    assert len(times) == 2
    assert remaining == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CASES)
def test_every_stop_takes_less_than_a_second(name: str) -> None:
    times, _ = stops_of(CASES[name], -(-1000 // len(CASES)))
    assert max(times) < LIMIT, sorted(times)[-5:]
