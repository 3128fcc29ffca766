"""Starts of event sources, each in a thread of its own, so that one that blocks delays nothing else."""

from collections.abc import Callable

from clientgo.cache.state import Synced
from clientgo.clock import Clock
from clientgo.lifecycle import Detached
from clientgo.log import get_logger

log = get_logger(__name__)

START_SECONDS = 0.5
"""Seconds that a controller waits for the start of a source before it starts the next one."""


class SourceStart:
    """Start of one source; it has synced once the start has returned, and the source itself has synced."""

    def __init__(self, name: str, start: Callable[[], Synced | None], *, clock: Clock) -> None:
        self.name = name
        self._call = Detached(start, name=f"source-{name}", clock=clock)

    def __repr__(self) -> str:
        return f"<SourceStart {self.name}{self.hint}>"

    def run(self) -> None:
        """Start the source, in the thread that a group starts for it."""
        self._call.run()

    def cancel(self) -> None:
        """End the requests of the start."""
        self._call.cancel()

    def wait(self, controller: str) -> None:
        """Wait a moment for the start, and raise its exception."""
        if self._call.wait(START_SECONDS, lambda: False):
            self._call.result()
        else:
            facts = {"controller": controller, "source": self.name, "seconds": START_SECONDS}
            log.warning("source has not returned from its start; the others go on", extra=facts)

    @property
    def has_synced(self) -> bool:
        """True once the source has synced, or its start has failed."""
        if not self._call.ended:
            return False
        try:
            synced = self._call.result()
        except BaseException:  # noqa: BLE001  # `wait` or `raise_failure` raises it
            return True
        return synced is None or synced.has_synced

    @property
    def hint(self) -> str:
        """Addition to the name in an error: whether the start has returned."""
        return "" if self._call.ended else " (its start has not returned)"

    def raise_failure(self) -> None:
        """Raise the exception of a start that has failed."""
        if self._call.ended:
            self._call.result()
