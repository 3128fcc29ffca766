"""Fake clientset and requester: the real clients over objects in memory, with every call recorded.

    clientset = FakeClientset(foo, other_foo)
    clientset.prepend_reactor("update", "foos/status", lambda action: (True, other_foo))
    ...
    assert clientset.actions == [Action.of("update", foo, subresource="status")]

Only the `Requester` below the clients is replaced: requests and responses are encoded and decoded as over HTTP.
Reactors are called in order until one handles the request, then the tracker answers. Unlike in client-go, `add_reactor`
adds before the tracker too. `FakeClientset` is generated: `FakeClientsetMixin` in front of the real `Clientset`.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from clientgo import streams
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import Invalid, NotFound
from clientgo.meta.codec import ObjectList, encode, encode_value
from clientgo.meta.objects import ListMeta
from clientgo.meta.scheme import Scheme, api_of
from clientgo.rest.limits import InFlightRequest, Stoppable
from clientgo.rest.request import ByteStream, EventStream, OpenStream, Request
from clientgo.rest.transport import Duplex, Headers
from clientgo.stopping import current_scopes
from clientgo.testing.actions import Action, action_of
from clientgo.testing.answers import SUCCESS, answer, list_of, not_supported
from clientgo.testing.changes import select
from clientgo.testing.commands import AnsweredCommand
from clientgo.testing.discovery import discovered
from clientgo.testing.tracker import Tracker
from clientgo.testing.transport import FakeStream
from clientgo.typed.clientset import BaseClientset
from clientgo.typed.scale import Scale

R = TypeVar("R")
S = TypeVar("S")

Reaction = Callable[[Action], tuple[bool, object]]
"""Handler of a call: `(True, result)` answers it, `(False, None)` passes it on, an exception is raised to the caller.

The result is an object, a dict, bytes, or for a list a sequence of those; None is success without a result.
`(False, changed_action)` passes on the changed action, since actions and objects are immutable.
"""

WatchReaction = Callable[[Action], tuple[bool, EventStream | None]]
"""Handler of a watch request: `(True, stream)` answers it, `(False, None)` passes it on."""


@dataclass(frozen=True, slots=True)
class Reactor(Generic[R]):
    """A reaction with the verb and resource it handles, as in `Action.matches`; "*" is any."""

    verb: str
    resource: str
    react: Callable[[Action], tuple[bool, R]]


class ReactionChain(Generic[R]):
    """Reactors in order; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reactors: tuple[Reactor[R], ...] = ()

    def __repr__(self) -> str:
        return f"<ReactionChain {len(self._reactors)} reactors>"

    def prepend(self, reactor: Reactor[R]) -> None:
        """Insert a reactor before the others."""
        with self._lock:
            self._reactors = (reactor, *self._reactors)

    def add(self, reactor: Reactor[R]) -> None:
        """Append a reactor after the others."""
        with self._lock:
            self._reactors = (*self._reactors, reactor)

    def react(self, action: Action) -> tuple[bool, R | None, Action]:
        """Return whether a reactor handled the action, its result, and the action as the reactors changed it."""
        for reactor in self._reactors:
            if not action.matches(reactor.verb, reactor.resource):
                continue
            handled, result = reactor.react(action)
            if handled:
                return True, result, action
            if isinstance(result, Action):
                action = result
        return False, None, action


@dataclass(eq=False, slots=True)
class FakeCalls:
    """Stored objects, recorded calls and reactors, which a requester shares with the clients over it."""

    tracker: Tracker
    # Only appended to, copied and cleared, each by one atomic operation.
    actions: list[Action] = field(default_factory=list)
    reactors: ReactionChain[object] = field(default_factory=ReactionChain)
    watch_reactors: ReactionChain[EventStream | None] = field(default_factory=ReactionChain)


class _Copied(list[Action]):
    """Copy of recorded calls."""

    def clear(self) -> None:
        """Raise TypeError: the recorded calls would stay."""
        raise TypeError("this is a copy of the recorded calls: write clear_actions() of the fake")


class FakeControls:
    """Recorded calls, stored objects and reactors of a requester, or of a client over it."""

    calls: FakeCalls

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self.actions)} actions>"

    @property
    def actions(self) -> list[Action]:
        """Every call so far, in order."""
        return _Copied(self.calls.actions)

    @property
    def writes(self) -> list[Action]:
        """Every call so far that changes something: without gets, lists and watches."""
        return _Copied(action for action in self.actions if action.is_write)

    @property
    def tracker(self) -> Tracker:
        """The stored objects; clients and watches see what is added here, and it is not recorded as an action."""
        return self.calls.tracker

    def clear_actions(self) -> None:
        """Clear the recorded calls."""
        self.calls.actions.clear()

    def prepend_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Insert a reactor before the others; "*" is any verb or resource."""
        self.calls.reactors.prepend(Reactor(verb, resource, react))

    def add_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Append a reactor after the others, before the tracker."""
        self.calls.reactors.add(Reactor(verb, resource, react))

    def prepend_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Insert a watch reactor before the others."""
        self.calls.watch_reactors.prepend(Reactor("watch", resource, react))

    def add_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Append a watch reactor after the others."""
        self.calls.watch_reactors.add(Reactor("watch", resource, react))

    def fail(self, verb: str, what: type | str, error: Exception, *, times: int | None = None) -> None:
        """Raise `error` from the next `times` calls of a verb (default: all), before they change anything.

        `what` is a class, which includes its subresources, or a resource such as "deployments/status"; "*" is any. The
        verb "patch" includes server-side apply.
        """
        errors = repeat(error) if times is None else repeat(error, times)

        def react(action: Action) -> tuple[bool, None]:
            for queued in errors:
                raise queued
            return False, None

        resource = what if isinstance(what, str) else api_of(what).plural
        self.prepend_reactor(verb, resource, react)
        if verb in ("watch", "*"):
            self.prepend_watch_reactor(resource, react)


class FakeRequester(FakeControls):
    """A thread-safe `Requester` that answers from a `tracker` and records each call as an `Action`.

    Recorded objects are decoded to the classes of `scheme` and of `objects`. `versioned` makes the tracker set
    resourceVersions and reject stale updates. With `lifecycle` the status is written only through its subresource, and
    deleted objects remain until their finalizers are removed.
    """

    supports_watch_list = False
    """Streaming lists are rejected, as by an old server, so informers list and watch."""

    def __init__(
        self,
        *objects: object,
        scheme: Scheme | None = None,
        clock: Clock = SYSTEM_CLOCK,
        versioned: bool = False,
        lifecycle: bool = False,
    ) -> None:
        self.scheme = _known_classes(scheme if scheme is not None else Scheme(), objects)
        tracker = Tracker(*objects, scheme=self.scheme, clock=clock, versioned=versioned, lifecycle=lifecycle)
        self.calls = FakeCalls(tracker)

    def do(self, request: Request) -> bytes:
        """Record the call and answer it.

        Raises:
            ApiError: the tracker rejects it, or a reactor raises an error.
        """
        handled, result, action = self.calls.reactors.react(self._record(request))
        return _reply(action, result) if handled else encode_value(answer(self.tracker, action))

    def raw(self, method: str, path: str) -> bytes:
        """Answer a discovery request from the kinds of the scheme; it is not recorded.

        Raises:
            NotFound: any other path.
        """
        if method != "GET":
            raise NotFound(f"the fake does not support {method} {path}")
        return discovered(self.scheme, path)

    def watch(self, request: Request) -> EventStream:
        """Record the call and open the watch, which a stop ends as it ends one of a server."""
        return self._stoppable(self._watch, request)

    def _watch(self, request: Request) -> EventStream:
        handled, stream, action = self.calls.watch_reactors.react(self._record(request))
        if handled:
            if stream is None:
                raise TypeError(f"a watch reactor handled {action} and returned no stream")
            return stream
        if action.subresource:
            raise not_supported(action)
        if "sendInitialEvents" in action.options:
            raise Invalid("sendInitialEvents is forbidden for watch: the fake does not stream lists")
        return self.tracker.watch(
            action.resource,
            select(action.namespace, action.label_selector, action.field_selector),
            resource_version=action.options.get("resourceVersion", ""),
            timeout=float(action.options.get("timeoutSeconds", 0)),
            bookmarks="allowWatchBookmarks" in action.options,
        )

    def stream(self, request: Request) -> ByteStream:
        """Record the call and return the stream of a reactor, which returns bytes or a `FakeStream`.

        Raises:
            MethodNotAllowed: no reactor handles it.
        """
        return self._stoppable(self._stream, request)

    def _stream(self, request: Request) -> ByteStream:
        handled, result, action = self.calls.reactors.react(self._record(request))
        if isinstance(result, bytes):
            return FakeStream(result, end=True)
        if isinstance(result, FakeStream):
            return result
        if handled:
            raise TypeError(f"a reactor handled {action} and returned neither bytes nor a FakeStream: {result!r}")
        raise not_supported(action)

    def upgrade(self, request: Request, headers: Headers) -> Duplex:
        """Record the call and answer a command with the `CommandResult` of a reactor.

        Raises:
            MethodNotAllowed: no reactor handles it.
        """
        handled, result, action = self.calls.reactors.react(self._record(request))
        if isinstance(result, streams.CommandResult):
            return AnsweredCommand(result, headers)
        if handled:
            raise TypeError(f"a reactor handled {action} and returned no CommandResult: {result!r}")
        raise not_supported(action)

    def _stoppable(self, opened: Callable[[Request], OpenStream[S]], request: Request) -> Stoppable[S]:
        with InFlightRequest(None, self.tracker.clock, current_scopes()) as current:
            return Stoppable(opened(request), current)

    def _record(self, request: Request) -> Action:
        action = action_of(request, self.scheme)
        self.calls.actions.append(action)
        return action


def _known_classes(scheme: Scheme, objects: Sequence[object]) -> Scheme:
    # A copy: the objects of a test must not change the scheme of the program.
    registered = Scheme(*(cls for gvk in scheme.kinds() if (cls := scheme.class_of(gvk)) is not None))
    for cls in (Scale, *map(type, objects)):
        if "__api_type__" in vars(cls) and registered.class_of(api_of(cls).gvk) is None:
            registered.add(cls)
    return registered


def _reply(action: Action, result: object) -> bytes:
    if isinstance(result, bytes):
        return result
    if result is None:
        return _success(action)
    if action.verb == "list" and isinstance(result, ObjectList | list | tuple):
        page = result if isinstance(result, ObjectList) else ObjectList(ListMeta(), list(result))
        items = [msgspec.Raw(_encoded(action, item)) for item in page.items]
        return encode_value(list_of(action, items, page.metadata))
    return _encoded(action, result)


def _success(action: Action) -> bytes:
    if action.verb in ("delete", "deletecollection"):
        return encode_value(SUCCESS)
    if action.verb == "list":
        return encode_value(list_of(action, [], {}))
    if action.object is None:
        raise TypeError(f"a reactor handled {action} and returned no result")
    return _encoded(action, action.object)


def _encoded(action: Action, obj: Any) -> bytes:
    if not isinstance(obj, dict):
        return encode(obj)
    members = (
        {"apiVersion": action.resource.api_version, "kind": action.kind} if action.subresource in ("", "status") else {}
    )
    return encode_value({**members, **obj})


class FakeClientsetMixin(FakeControls, BaseClientset):
    """Clientset over a `FakeRequester` that starts with `objects`; a subclass sets its `scheme`."""

    scheme: ClassVar[Scheme] = Scheme()

    def __init__(
        self, *objects: object, clock: Clock = SYSTEM_CLOCK, versioned: bool = False, lifecycle: bool = False
    ) -> None:
        self.fake = FakeRequester(*objects, scheme=self.scheme, clock=clock, versioned=versioned, lifecycle=lifecycle)
        self.calls = self.fake.calls
        super().__init__(self.fake)
