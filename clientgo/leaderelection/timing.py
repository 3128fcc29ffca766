"""Times of an election, and the conditions between them."""

from dataclasses import dataclass

from clientgo.leaderelection.lock import Lock

JITTER_FACTOR = 1.2
"""Candidates wait up to this many retry periods more than one (client-go's), so that they spread out."""

LONGEST_LEASE = 2**31 - 1
"""Maximum duration: the API stores 32 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Times of an election in seconds; `ValueError` if they are inconsistent.

    Other candidates wait `lease_duration` after the last renewal that they observed; the leader gives up after
    `renew_deadline` without a renewal; `retry_period` lies between tries. The order ensures that a leader has given up
    before another one starts.
    """

    lease_duration: float
    renew_deadline: float
    retry_period: float

    def __post_init__(self) -> None:
        # client-go's messages and order, so that a search for one finds its documentation. "not >" instead of "<="
        # rejects NaN as well.
        if not self.lease_duration > self.renew_deadline:
            raise ValueError("leaseDuration must be greater than renewDeadline")
        if not self.renew_deadline > JITTER_FACTOR * self.retry_period:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
        for name, seconds in (
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ):
            if seconds <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.lease_duration > LONGEST_LEASE:
            raise ValueError(f"leaseDuration must be at most {LONGEST_LEASE} seconds")


def check_parts(lock: Lock | None, on_started_leading: object, on_stopped_leading: object) -> None:
    """Raise `ValueError`, with client-go's message, for a missing part of an elector."""
    if on_started_leading is None:
        raise ValueError("OnStartedLeading callback must not be nil")
    if on_stopped_leading is None:
        raise ValueError("OnStoppedLeading callback must not be nil")
    if lock is None:
        raise ValueError("Lock must not be nil.")
    if not lock.identity:
        raise ValueError("Lock identity is empty")
