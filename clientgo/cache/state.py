"""How an informer stands at one moment, for debugging pages, health checks and people."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec


class InformerState(msgspec.Struct, frozen=True):
    """What an informer holds and how its lists and watches go; times are those of its clock's `now()`.

    `lists` and `watches` were asked for, those that failed included. `undecodable` objects exist now and are not held.
    `last_event` is when the server last said anything (a list, an event, a bookmark), `watching_since` when the open
    watch was asked for (None while there is none), `last_error` why the last try failed; empty once one works again.
    `last_active` is when it made a request or got an answer last, failed ones included; None before it starts. Of
    several namespaces the worst is told: the longest silence, the shortest watch, any error. `waiting` counts the
    notifications the slowest handler has before it.
    """

    name: str
    kind: str
    synced: bool
    objects: int
    resource_version: str
    lists: int
    watches: int
    undecodable: int
    last_event: float | None
    watching_since: float | None
    last_error: str
    waiting: int = 0
    last_active: float | None = None


class Progress(Protocol):
    """How one reflector gets on."""

    @property
    def lists(self) -> int:
        """Lists asked for."""

    @property
    def watches(self) -> int:
        """Watches asked for."""

    @property
    def last_event(self) -> float | None:
        """When the server said something last."""

    @property
    def last_active(self) -> float | None:
        """When it made a request or got an answer last."""

    @property
    def watching_since(self) -> float | None:
        """When the open watch began, if one is open."""

    @property
    def last_error(self) -> str:
        """Why the last try failed; empty if it did not."""


class Summary(NamedTuple):
    """The same for several reflectors, the worst of them where they can't be added up."""

    lists: int
    watches: int
    last_event: float | None
    watching_since: float | None
    last_error: str
    last_active: float | None = None


def summary_of(reflectors: Sequence[Progress]) -> Summary:
    """How these reflectors get on together."""
    return Summary(
        sum(one.lists for one in reflectors),
        sum(one.watches for one in reflectors),
        _worst(min, [one.last_event for one in reflectors]),
        _worst(max, [one.watching_since for one in reflectors]),
        "; ".join(dict.fromkeys(one.last_error for one in reflectors if one.last_error)),
        _worst(min, [one.last_active for one in reflectors]),
    )


def _worst(choose: Callable[[list[float]], float], times: list[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return choose(known) if known and len(known) == len(times) else None
