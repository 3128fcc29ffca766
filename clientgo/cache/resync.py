"""How often handlers are shown every object again: client-go's rules, from what an informer and its handlers ask for.

An informer has a check period. Each handler is resynced at its own, which can't be shorter: one asked for before the
start lowers the check period, one asked for later is raised to it. An informer with period 0 resyncs nobody.
"""

import logging

log = logging.getLogger(__name__)

MIN_RESYNC = 1.0
"""Handlers can't ask to be resynced more often than each second (client-go)."""


class ResyncPeriods:
    """The check period of one informer, in seconds; guarded by the informer's lock."""

    def __init__(self, check_period: float) -> None:
        self.check_period = max(check_period, 0.0)

    def __repr__(self) -> str:
        return f"<ResyncPeriods checked each {self.check_period:g} s>"

    def for_handler(self, wanted: float, *, started: bool) -> float:
        """The period of a handler that asks for `wanted` seconds."""
        if wanted <= 0:
            return 0.0
        if self.check_period == 0:
            log.warning("a handler is not resynced: its informer's resync is off", extra={"wanted": wanted})
            return 0.0
        period = max(wanted, MIN_RESYNC)
        if period < self.check_period and started:
            log.warning(
                "a handler is resynced less often than asked for: the informer runs already",
                extra={"wanted": wanted, "period": self.check_period},
            )
            return self.check_period
        self.check_period = min(self.check_period, period)
        return period

    def shows_unchanged(self, period: float, resynced: float | None, running: float, now: float) -> bool:
        """Whether a handler is due to be shown objects that a list found unchanged.

        `resynced` is when it was resynced last, `running` for how many seconds the informer has run. Until the first
        check everyone is; from then on those that were due at the last one.
        """
        if self.check_period == 0 or running < self.check_period:
            return True
        since = running if resynced is None else now - resynced
        return period > 0 and (since < self.check_period or since >= period)
