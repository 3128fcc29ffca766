"""State that all handlers share: store, registry, clock and scheduler; and the server's options."""

import secrets
from collections import Counter, deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo_apiserver.api.limits import LOOP_SECONDS, MAX_BODY_BYTES, MAX_EVENTS
from clientgo_apiserver.api.resources import Registry
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.api.users import User
from clientgo_apiserver.http.webhookclient import ANY_SERVICE as ANY_SERVICE
from clientgo_apiserver.http.webhookclient import WebhookClient
from clientgo_apiserver.http.webhookclient import WebhookEndpoint as WebhookEndpoint
from clientgo_apiserver.options import BundledOptions
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.releases.release import KubernetesRelease, current
from clientgo_apiserver.storage.containerfiles import ContainerFiles
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

_RETRY_SECONDS = 0.5
_TURNS = 10
_Call = tuple[Callable[..., object], tuple[Any, ...]]


class Handle(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the call; a call that has run is ignored."""


class Scheduler(Protocol):
    """Runs callbacks on the server's loop. An asyncio event loop is one."""

    def call_soon(self, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback after the current one."""

    def call_later(self, delay: float, callback: Callable[..., object], *args: object) -> Handle:
        """Run a callback after `delay` seconds."""


@dataclass(frozen=True, kw_only=True)
class ServerOptions(BundledOptions):
    """Options of the server, where a real one has flags: those of `BundledOptions`, and some for its own tests.

    `tls` and `authorization` (RBAC or none) follow from `secure`. `tokens` maps bearer tokens to users, and is changed
    while the server runs; `anonymous` accepts requests without credentials as system:anonymous; `token_key` signs
    service account tokens. `max_watch` is seconds, `history` is a number of events, `max_body` and `watch_buffer` are
    bytes. A client that neither reads its response nor sends its request for `stall_seconds` is disconnected. `root_ca`
    is the certificate (PEM) for the pods' ConfigMap kube-root-ca.crt. `audit` receives the events of `audit_log`
    instead of a file, on the server's thread, and must return at once. `webhook_services` maps services
    (`namespace/name`, or `*` for all others) to the endpoints of their webhooks. Everything that happens later happens
    by `clock`: object times, Leases, Jobs, CronJobs, simulated pods (see `ApiServer.advance`).
    A `bare` server is an API server alone, for fakes: nothing simulates other components or collects garbage. It starts
    without namespaces, and creates that of a new object, as the admission plugin NamespaceAutoProvision does.
    """

    clock: Clock = SYSTEM_CLOCK
    tls: bool = False
    tokens: dict[str, User] = field(default_factory=dict, repr=False)
    token_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    anonymous: bool = True
    authorization: Literal["AlwaysAllow", "RBAC"] = "AlwaysAllow"
    webhook_services: dict[str, WebhookEndpoint] = field(default_factory=dict)
    history: int = 10_000
    max_body: int = MAX_BODY_BYTES
    max_watch: float = 1800.0
    watch_buffer: int = 16 * 1024 * 1024
    stall_seconds: float = 60.0
    root_ca: str = ""
    bare: bool = False
    audit: Callable[[dict[str, Any]], object] | None = None


class Call(NamedTuple):
    """Labels under which a request is counted, as in apiserver_request_total."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    code: int


@dataclass(slots=True)
class State:
    """Shared state of one server."""

    scheduler: Scheduler
    clock: Clock = SYSTEM_CLOCK
    options: ServerOptions = field(default_factory=ServerOptions)
    release: KubernetesRelease = field(default_factory=current)
    registry: Registry = field(default_factory=builtin_registry)
    store: Store = field(default_factory=Store)
    calls: Counter[Call] = field(default_factory=Counter)
    # Writes of the events of controllers, once events are read; the oldest are dropped.
    recorded: deque[Callable[[], None]] = field(default_factory=lambda: deque(maxlen=MAX_EVENTS), repr=False)
    ready: bool = True
    simulated: bool = False  # nodes have kubelets, and pods run
    files: ContainerFiles = field(default_factory=ContainerFiles)  # of simulated containers
    webhooks: WebhookClient = field(default_factory=WebhookClient)
    # Runs a coroutine on the server's event loop. Without a loop, webhooks see no writes of controllers.
    start_task: Callable[[Coroutine[Any, Any, None]], object] | None = None
    # Callbacks that run soon, some of them in each turn of the loop: those of one rank in order, the lowest rank first.
    soon: tuple[deque[_Call], ...] = field(default_factory=lambda: (deque(), deque(), deque()), repr=False)
    turns: int = 0  # that were too short for all of them
    # Callbacks of the next turn of the loop, run together: a call of the loop for each costs more.
    next_turn: list[Callable[[], object]] = field(default_factory=list, repr=False)
    # Callbacks that are retried because the store rejected their writes.
    retrying: set[_Call] = field(default_factory=set, repr=False)
    started: float = field(init=False)  # seconds since the epoch

    def __post_init__(self) -> None:
        self.started = self.clock.time()

    def delay(self, key: Key, write: Callable[[], object]) -> None:
        """Write something before objects of this key are next read (see `Store.delay`); an audit log has it at once."""
        if self.options.audit is None:
            self.store.delay(key, write)
        else:
            write()

    def write_recorded(self) -> None:
        """Write the events that wait."""
        self.call_with_retry(self._write_recorded)

    def _write_recorded(self) -> None:
        written: list[Callable[[], None]] = []
        while self.recorded:
            self.recorded[0]()
            written.append(self.recorded.popleft())  # only now: a write that fails is tried again
        if not self.store.committed:
            self.store.when_committed(lambda failure: self.recorded.extend(written) if failure else None)

    def call_soon(self, callback: Callable[..., object], *args: object, rank: int = 0) -> None:
        """Schedule a callback after the current one, and after those of lower ranks (see `call_with_retry`).

        While the store rejects writes the callback is delayed: a reaction to its own write would never end.
        """
        if self.store.failing:
            self._retry_later(callback, args)
            return
        self.soon[rank].append((callback, args))
        if sum(map(len, self.soon)) == 1:
            self.scheduler.call_soon(self._run_soon)

    def _run_soon(self, queue: deque[_Call] | None = None) -> None:
        """Run scheduled callbacks for a while, the first of this queue; clients are answered before the others."""
        end = SYSTEM_CLOCK.now() + LOOP_SECONDS
        try:
            while (queue := queue or next(filter(None, self.soon), None)) and SYSTEM_CLOCK.now() < end:
                callback, args = queue[0]
                try:
                    self.call_with_retry(callback, *args)
                finally:
                    queue.popleft()  # only now: what it schedules runs in this turn or the next
                    queue = None
        finally:
            if any(self.soon):
                # Now and then the highest rank begins, so that it is not put off for ever.
                self.turns += 1
                first = next(filter(None, reversed(self.soon))) if self.turns % _TURNS == 0 else None
                self.scheduler.call_soon(self._run_soon, first)

    def call_next_turn(self, callback: Callable[[], object]) -> None:
        """Run a callback once everything that is ready now has run; it must not raise."""
        self.next_turn.append(callback)
        if len(self.next_turn) == 1:
            self.scheduler.call_soon(self._turn)

    def _turn(self) -> None:
        due, self.next_turn = self.next_turn, []
        for callback in due:
            callback()

    def call_with_retry(self, callback: Callable[..., object], *args: Any) -> None:
        """Call the callback, and again later whenever the store rejects its writes, as controllers of a cluster retry.

        The callback must start from the stored objects each time; equal calls are merged.
        """
        self.retrying.discard((callback, args))
        try:
            callback(*args)
        except ApiFailure as failure:
            if failure.code < 500:
                raise
            self._retry_later(callback, args)
            return
        if not self.store.committed:
            self.store.when_committed(lambda failure: self._retry_later(callback, args) if failure else None)

    def _retry_later(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        if (callback, args) not in self.retrying:
            self.retrying.add((callback, args))
            self.scheduler.call_later(_RETRY_SECONDS, self.call_with_retry, callback, *args)
