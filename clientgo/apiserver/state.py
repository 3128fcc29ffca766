"""What all handlers share: the store, the registry, the clock, and a way to do something later on the same loop."""

import heapq
import secrets
import uuid
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Literal, NamedTuple, Protocol

from clientgo.apiserver.auth.users import User
from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.registry.builtin import builtin_registry
from clientgo.apiserver.registry.registry import Registry
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.suspension import Carrier
from clientgo.clock import SYSTEM_CLOCK, Clock

_AGAIN_SECONDS = 0.5


class Handle(Protocol):
    """Something due later that can be called off."""

    def cancel(self) -> None:
        """Don't do it; nothing happens when it is done already."""


class Scheduler(Protocol):
    """Runs callables on the server's loop. An asyncio event loop is one."""

    def call_soon(self, callback: Callable[..., object], *args: object) -> Handle:
        """Run it after what runs now."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Handle:
        """Run it in `delay` seconds."""


class _Due:
    __slots__ = ("args", "callback", "cancelled")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...]) -> None:
        self.callback = callback
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualScheduler:
    """Runs what is due when told to: for use of the server in process, without a loop."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._soon: deque[_Due] = deque()
        self._later: list[tuple[float, int, _Due]] = []
        self._order = count()

    def call_soon(self, callback: Callable[..., object], *args: object) -> Handle:
        """Run it at the next `run`."""
        due = _Due(callback, args)
        self._soon.append(due)
        return due

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Handle:
        """Run it at the first `run` that is `delay` seconds later by the clock."""
        due = _Due(callback, args)
        heapq.heappush(self._later, (self._clock.now() + delay, next(self._order), due))
        return due

    def run(self) -> None:
        """Run everything that is due, and what that makes due at once."""
        while True:
            while self._later and self._later[0][0] <= self._clock.now():
                self._soon.append(heapq.heappop(self._later)[2])
            if not self._soon:
                return
            due = self._soon.popleft()
            if not due.cancelled:
                due.callback(*due.args)


@dataclass(slots=True)
class Options:
    """How the server behaves where a real one has flags.

    `tokens` maps bearer tokens to users; `anonymous` lets requests without credentials in, as system:anonymous;
    `token_key` signs service accounts' tokens: another server with the same key takes them, too.
    `authorization` says whether roles decide what users may do, or nothing does. `bookmark_interval` and
    `max_watch` are seconds. `history` is how many events are kept, `max_body` and `watch_buffer`
    are bytes. A client that takes nothing of its answer, or sends nothing of its request, for `stall_seconds` is cut
    off. `ready_seconds` is how long simulated replicas take to become available; with 0 they are
    before the write that asks for them is answered, and the answer shows it, as no real cluster's does.
    `replica_sets` lets Deployments have ReplicaSets, and with them a history.
    `owner_references_permissions` lets only those set owners who may, as OwnerReferencesPermissionEnforcement does.
    `audit` is handed an event for each write (see `audit`), and with `audit_reads` for each request.
    `webhook_services` gives services (`namespace/name`) that webhooks are configured by the URL they are reached at.
    """

    tokens: dict[str, User] = field(default_factory=dict, repr=False)
    token_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    anonymous: bool = True
    authorization: Literal["AlwaysAllow", "RBAC"] = "AlwaysAllow"
    webhook_services: dict[str, str] = field(default_factory=dict)
    history: int = 10_000
    max_body: int = 3 * 1024 * 1024  # kube-apiserver's limit for request bodies
    bookmark_interval: float = 60.0
    max_watch: float = 1800.0
    watch_buffer: int = 16 * 1024 * 1024
    stall_seconds: float = 60.0
    ready_seconds: float = 0.1
    replica_sets: bool = False
    owner_references_permissions: bool = False
    audit: Callable[[dict[str, Any]], object] | None = None
    audit_reads: bool = False


class Call(NamedTuple):
    """What a request is counted under, as apiserver_request_total labels it."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    code: int


@dataclass(slots=True)
class State:
    """Everything one server knows."""

    scheduler: Scheduler
    clock: Clock = SYSTEM_CLOCK
    options: Options = field(default_factory=Options)
    registry: Registry = field(default_factory=builtin_registry)
    store: Store = field(default_factory=Store)
    calls: Counter[Call] = field(default_factory=Counter)
    ready: bool = True
    carrier: Carrier = field(default_factory=Carrier)
    # What reacts to the write under way before it is answered, in order.
    prompt: deque[Callable[[], object]] = field(default_factory=deque)
    # What is called in the next turn of the loop, all of it at once: a call of the loop's own for each costs more.
    next_turn: list[Callable[[], object]] = field(default_factory=list, repr=False)
    # What will be called again, because the store refused what it wrote.
    again: set[tuple[Callable[..., object], tuple[Any, ...]]] = field(default_factory=set, repr=False)

    def settle(self) -> bool:
        """Let everything react that wants to before the write under way is answered; return whether anything did."""
        reacted = bool(self.prompt)
        while self.prompt:
            self.prompt.popleft()()
        return reacted

    def soon(self, callback: Callable[..., object], *args: object) -> None:
        """Have it called once what runs now is done (see `insist`).

        While the store takes writes back it is called later: a reaction to its own write would be at it for ever.
        """
        if self.store.refused:
            self._again_later(callback, args)
        else:
            self.scheduler.call_soon(self.insist, callback, *args)

    def in_next_turn(self, callback: Callable[[], object]) -> None:
        """Have it called, once, when what is ready now is done; it must not raise."""
        self.next_turn.append(callback)
        if len(self.next_turn) == 1:
            self.scheduler.call_soon(self._turn)

    def _turn(self) -> None:
        due, self.next_turn = self.next_turn, []
        for callback in due:
            callback()

    def insist(self, callback: Callable[..., object], *args: Any) -> None:
        """Call it, and again later whenever the store refuses what it writes: a cluster's controllers don't give up.

        It has to begin anew each time from what is stored; calls that are equal are one.
        """
        self.again.discard((callback, args))
        try:
            callback(*args)
        except ApiFailure as failure:
            if failure.code < 500:
                raise
            self._again_later(callback, args)
            return
        if not self.store.committed:
            self.store.when_committed(lambda failure: self._again_later(callback, args) if failure else None)

    def _again_later(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        if (callback, args) not in self.again:
            self.again.add((callback, args))
            self.scheduler.call_later(_AGAIN_SECONDS, self.insist, callback, *args)

    def new_uid(self) -> str:
        """A uid no object has had."""
        return str(uuid.uuid4())
