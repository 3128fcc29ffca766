"""When this replica may work: always if it is alone, else while it leads (`clientgo.leaderelection.Leadership`)."""

import threading
from typing import Protocol

from clientgo.leaderelection.leadership import Work


class Turn(Protocol):
    """Says when this replica may work."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` while it is this replica's turn, until `stop` is set; raises if it had to end before."""

    def may_write(self) -> bool:
        """Whether it is this replica's turn now; asked before each write."""

    def check(self) -> None:
        """Return while all is well; raises what is wrong."""


class Alone:
    """There are no other replicas."""

    def run(self, work: Work, stop: threading.Event) -> None:
        """Do `work` until `stop` is set."""
        work(stop)

    def may_write(self) -> bool:
        """Always."""
        return True

    def check(self) -> None:
        """All is well."""
