"""Validation of an elector's configuration, with client-go's messages."""

import re
from typing import Any

import pytest

from clientgo.leaderelection import LeaderElector
from clientgo.testing.kubernetes import FakeClientset
from tests.leaderelection.election import lease_lock


def elector(*, identity: str = "baz", **options: Any) -> LeaderElector:
    callbacks = {"on_started_leading": lambda _: None, "on_stopped_leading": lambda: None}
    lock = lease_lock(FakeClientset(), identity)
    return LeaderElector(options.pop("lock", lock), **{**callbacks, **options})


@pytest.mark.behaviour("LE-17")
def test_valid_configuration_is_taken() -> None:
    assert elector(lease_duration=15, renew_deadline=2, retry_period=1).name == "foo/bar"
    assert elector(name="mine").name == "mine"
    assert elector(lease_duration=2**31 - 1)._timing.lease_duration == 2147483647


@pytest.mark.feature("B-LE-02")
def test_the_defaults_are_client_gos() -> None:
    timing = elector()._timing
    assert (timing.lease_duration, timing.renew_deadline, timing.retry_period) == (15.0, 10.0, 2.0)


@pytest.mark.behaviour("LE-17")
@pytest.mark.feature("B-LE-01")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"identity": ""}, "Lock identity is empty"),
        ({"lease_duration": 10, "renew_deadline": 10}, "leaseDuration must be greater than renewDeadline"),
        ({"lease_duration": float("nan")}, "leaseDuration must be greater than renewDeadline"),
        ({"renew_deadline": 6, "retry_period": 5}, "renewDeadline must be greater than retryPeriod*JitterFactor"),
        ({"retry_period": float("nan")}, "renewDeadline must be greater than retryPeriod*JitterFactor"),
        ({"lease_duration": 0, "renew_deadline": -1, "retry_period": -2}, "leaseDuration must be greater than zero"),
        ({"lease_duration": 1, "renew_deadline": 0, "retry_period": -2}, "renewDeadline must be greater than zero"),
        ({"retry_period": 0}, "retryPeriod must be greater than zero"),
        ({"lease_duration": float("inf")}, "leaseDuration must be at most 2147483647 seconds"),
        ({"on_started_leading": None}, "OnStartedLeading callback must not be nil"),
        ({"on_stopped_leading": None}, "OnStoppedLeading callback must not be nil"),
        ({"lock": None}, "Lock must not be nil."),
    ],
)
def test_invalid_configuration_is_rejected(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        elector(**options)
