"""When this replica may work, and on which Foos: what the controller asks, whoever answers."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

Work = Callable[[threading.Event], object]
"""What is done until the event is set."""


class Turn(Protocol):
    """Says when this replica may work, and on what."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` whenever it is this replica's turn, until `stop` is set; raises if it had to end before."""

    def may_write(self) -> bool:
        """Whether it is this replica's turn now; asked before each write."""

    def taking(self, uid: str) -> AbstractContextManager[bool]:
        """Whether the object of that uid is this replica's, and stays so for the length of the block."""

    def when_changed(self, changed: Callable[[], object]) -> None:
        """Call `changed` whenever objects become this replica's that were not before."""

    def check(self) -> None:
        """Return while all is well; raises what is wrong."""

    def describe(self) -> str:
        """Whose turn it is, in words for a person."""


class WholeTurn:
    """A turn at all objects at once."""

    _OURS = nullcontext(True)

    def taking(self, uid: str) -> AbstractContextManager[bool]:
        """Every object is this replica's while it works at all."""
        return self._OURS

    def when_changed(self, changed: Callable[[], object]) -> None:
        """Nothing changes: what a stand-by hears of waits in its queue."""


class Alone(WholeTurn):
    """There are no other replicas."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` until `stop` is set."""
        work(stop)

    def may_write(self) -> bool:
        """Always."""
        return True

    def check(self) -> None:
        """All is well."""

    def describe(self) -> str:
        """Always this one's."""
        return "there are no other replicas"
