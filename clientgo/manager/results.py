"""What a controller's author writes, `reconcile`, and what it may answer.

A request is a name and nothing else: `reconcile` looks at what is, and does not learn what happened. Returning None or
`Result()` means "nothing until something changes", an exception "again, later each time".
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from clientgo.errors import ClientGoError
from clientgo.meta.names import ObjectName


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a reconciliation that went well goes on.

    With `requeue_after` seconds above 0 the object is looked at again then, and its failures are forgotten. `priority`
    is what it waits with; by default the one it came with. Only a priority queue heeds it.
    """

    requeue_after: float = 0.0
    priority: int | None = None


class TerminalError(ClientGoError):
    """Trying again can't help: the object waits until something changes. Counted, and logged with its cause."""


class Reconciler(Protocol):
    """Makes what is what it should be, for one object at a time."""

    def reconcile(self, request: ObjectName) -> Result | None:
        """Look at the object of that name, which may be gone, and act; what it raises is tried again."""


Reconcile = Callable[[ObjectName], Result | None]
"""`Reconciler.reconcile`, or a function that does the same."""


def reconcile_of(reconciler: Reconciler | Reconcile) -> Reconcile:
    """The function behind either of the two ways to give one."""
    method = getattr(reconciler, "reconcile", None)
    if method is not None:
        found: Reconcile = method
        return found
    if not callable(reconciler):
        raise TypeError(f"{type(reconciler).__qualname__} is no reconciler: it has no method reconcile(request)")
    return reconciler


def checked(result: object) -> Result:
    """What `reconcile` returned, None being a `Result()`; TypeError if it is neither, or makes no sense."""
    if result is None:
        return _NOTHING
    if not isinstance(result, Result):
        raise TypeError(f"reconcile returned a {type(result).__qualname__}, and not a Result or None")
    if not isinstance(result.requeue_after, int | float):
        raise TypeError(f"requeue_after is {result.requeue_after!r}, and not a number of seconds")
    return result


_NOTHING = Result()
