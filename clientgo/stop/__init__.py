"""Start and stop of a program's threads: thread groups, stop events, event loops and signals.

    stop = stop_on_signals()
    with Group(stop=stop) as group:
        group.start(work, stop, name="worker-0")

Every wait and every request of a group's threads ends with the group's stop event.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.stop.lifecycle import Group, StillRunning, exit_code, finished, is_stopped_request
    from clientgo.stop.signals import on_signals, stop_on_signals
    from clientgo.stop.stopping import StopEvent, StopScope, ends_with, on_stop, scope_of
else:
    __getattr__ = on_demand(
        __name__,
        {
            "lifecycle": "Group StillRunning exit_code finished is_stopped_request",
            "signals": "on_signals stop_on_signals",
            "stopping": "StopEvent StopScope ends_with on_stop scope_of",
        },
    )

__all__ = [
    "Group", "StillRunning", "exit_code", "finished", "is_stopped_request",
    "on_signals", "stop_on_signals",
    "StopEvent", "StopScope", "ends_with", "on_stop", "scope_of",
]  # fmt: skip
