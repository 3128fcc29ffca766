"""Coordinator of replicas: decides when a controller may work, and on which objects."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Work = Callable[[threading.Event], object]
"""Function that works until the event is set, and returns soon afterwards."""


class Coordinator:
    """Decides when this replica may work, and on which objects; this class, that a single replica always may."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Call `work` when this replica may work, until `stop` is set; raise if the work had to end earlier."""
        work(stop)

    def may_write(self) -> bool:
        """Return whether this replica may write now; checked before each write."""
        return True

    def owning(self, uid: str) -> AbstractContextManager[bool]:
        """Yield whether this replica owns the object of that uid, which it then keeps until the block ends."""
        return nullcontext(True)

    def on_change(self, callback: Callable[[], object]) -> None:
        """Call `callback` whenever this replica gains objects that it did not own before.

        A callback that raises is called again after a moment.
        """

    def check(self) -> None:
        """Return if this replica is healthy; raise an error otherwise."""

    def describe(self) -> str:
        """Return this replica's role as a text for people."""
        return "there are no other replicas"
