"""Token bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.internal.tokenbucket import TokenBucket


def test_burst_is_available_at_once_and_then_the_rate() -> None:
    bucket = TokenBucket(10.0, 3, now=0.0)
    assert [round(bucket.reserve(0.0), 6) for _ in range(6)] == [0, 0, 0, 0.1, 0.2, 0.3]


@given(st.floats(0.1, 100), st.integers(1, 20), st.lists(st.floats(0, 2), min_size=1, max_size=40))
def test_tokens_of_any_period_are_limited_by_burst_and_rate(qps: float, burst: int, gaps: list[float]) -> None:
    bucket, now, sent = TokenBucket(qps, burst, now=0.0), 0.0, []
    for gap in gaps:
        now += gap
        sent.append(now + bucket.reserve(now))
    for i, first in enumerate(sent):
        for count, last in enumerate(sent[i:], start=1):
            assert count <= burst + qps * (last - first) + 1e-6
    assert sent == sorted(sent)


def test_returned_token_can_be_used() -> None:
    bucket = TokenBucket(1.0, 1, now=0.0)
    assert bucket.reserve(0.0) == 0
    assert bucket.reserve(0.0) == 1
    bucket.give_back()
    assert bucket.reserve(1.0) == 0


def test_clock_that_goes_backwards_removes_no_token() -> None:
    bucket = TokenBucket(1.0, 2, now=100.0)
    assert bucket.reserve(50.0) == 0
    assert bucket.reserve(50.0) == 0
    assert bucket.reserve(101.0) == 0


@pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (1.0, 0)])
def test_invalid_rate_limit_is_rejected(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="invalid rate limit"):
        TokenBucket(qps, burst, 0.0)
