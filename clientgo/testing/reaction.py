"""Reactors: what a test puts before the tracker to answer, refuse or change calls.

    def refuse(action: Action) -> tuple[bool, object]:
        raise Conflict("not now")

    clientset.prepend_reactor("update", "foos", refuse)

Reactors are asked in order until one has handled the call; after the last one the tracker answers. Unlike Go's, the
tracker is never in the way: `add_reactor` comes before it too.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from clientgo.rest.request import EventStream
from clientgo.testing.actions import Action

R = TypeVar("R")

Reaction = Callable[[Action], tuple[bool, object]]
"""Answers a call: `(True, result)` ends it, `(False, None)` passes it on, an exception is raised to the caller.

The result is an object, a dict, bytes, or for a list a sequence of those; None says that the call simply went well.
`(False, changed_action)` passes on the changed action instead, since actions and objects themselves can't be changed.
"""

WatchReaction = Callable[[Action], tuple[bool, EventStream | None]]
"""Answers the opening of a watch: `(True, stream)` ends it, `(False, None)` passes it on."""


@dataclass(frozen=True, slots=True)
class Reactor(Generic[R]):
    """A reaction and what it is for: `verb` and `resource` as in `Action.matches`, "*" for any."""

    verb: str
    resource: str
    react: Callable[[Action], tuple[bool, R]]


class ReactionChain(Generic[R]):
    """Reactors in order; safe to change while calls are answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reactors: tuple[Reactor[R], ...] = ()

    def __repr__(self) -> str:
        return f"<ReactionChain {len(self._reactors)} reactors>"

    def prepend(self, reactor: Reactor[R]) -> None:
        """Ask this one first."""
        with self._lock:
            self._reactors = (reactor, *self._reactors)

    def add(self, reactor: Reactor[R]) -> None:
        """Ask this one after the others."""
        with self._lock:
            self._reactors = (*self._reactors, reactor)

    def react(self, action: Action) -> tuple[bool, R | None, Action]:
        """Whether a reactor handled the action, with what result, and the action as the reactors left it."""
        for reactor in self._reactors:
            if not action.matches(reactor.verb, reactor.resource):
                continue
            handled, result = reactor.react(action)
            if handled:
                return True, result, action
            if isinstance(result, Action):
                action = result
        return False, None, action
