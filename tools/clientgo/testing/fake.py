"""Fake clientset and requester: the real clients over a server in memory, with every call recorded.

    clientset = FakeClientset(foo, other_foo)
    clientset.prepend_reactor("update", "foos/status", lambda action: (True, other_foo))
    ...
    assert clientset.actions == [Action.of("update", foo, subresource="status")]

Only the `Requester` below the clients is replaced: requests and responses are encoded and decoded as over HTTP.
Reactors are called in order until one handles the request, then the server answers. Unlike in client-go, `add_reactor`
adds before the server too. `FakeClientset` is generated: `FakeClientsetMixin` in front of the real `Clientset`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, TypeVar

import msgspec

from clientgo import streams
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.codec import ObjectList, encode, encode_value
from clientgo.meta.objects import ListMeta
from clientgo.meta.scheme import Scheme, api_of
from clientgo.meta.typemeta import type_meta
from clientgo.rest.limits import InFlightRequest, OpenStream, Stoppable
from clientgo.rest.request import ByteStream, EventStream, Request
from clientgo.rest.transport import Duplex, Headers
from clientgo.stop.stopping import current_scopes
from clientgo.testing.actions import Action, action_of, changed_request
from clientgo.testing.commands import AnsweredCommand
from clientgo.testing.server import FakeServer, not_supported
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


Reactor = tuple[str, str, Callable[[Action], tuple[bool, R]]]
"""Verb, resource (as in `Action.matches`; "*" is any) and the reaction to their actions."""


@dataclass(eq=False, slots=True)
class FakeCalls:
    """Stored objects, recorded calls and reactors, which a requester shares with the clients over it."""

    tracker: FakeServer
    # Of the lists, items are only added; they are copied and cleared. Each is one atomic operation.
    actions: list[Action] = field(default_factory=list)
    reactors: list[Reactor[object]] = field(default_factory=list)
    watch_reactors: list[Reactor[EventStream | None]] = field(default_factory=list)


def _react(reactors: Iterable[Reactor[R]], action: Action) -> tuple[bool, R | None, Action]:
    """Return whether a reactor handled the action, its result, and the action as the reactors changed it."""
    for verb, resource, react in tuple(reactors):
        if not action.matches(verb, resource):
            continue
        handled, result = react(action)
        if handled:
            return True, result, action
        if isinstance(result, Action):
            action = result
    return False, None, action


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
        """Every call so far that writes, even if it changes nothing, such as a repeated apply."""
        return _Copied(action for action in self.actions if action.is_write)

    @property
    def tracker(self) -> FakeServer:
        """The server behind the reactors: clients see what is changed through it, and it is not recorded."""
        return self.calls.tracker

    def clear_actions(self) -> None:
        """Clear the recorded calls."""
        self.calls.actions.clear()

    def prepend_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Insert a reactor before the others; "*" is any verb or resource."""
        self.calls.reactors.insert(0, (verb, resource, react))

    def add_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Append a reactor after the others, before the server."""
        self.calls.reactors.append((verb, resource, react))

    def prepend_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Insert a watch reactor before the others."""
        self.calls.watch_reactors.insert(0, ("watch", resource, react))

    def add_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Append a watch reactor after the others."""
        self.calls.watch_reactors.append(("watch", resource, react))

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
    """A thread-safe `Requester` that answers from a server in memory and records each call as an `Action`.

    Recorded objects are decoded to the classes of `scheme` and of `objects`, with which the server starts (see
    `FakeServer`).
    """

    supports_watch_list = False
    """Informers list and watch, so that reactors of lists concern them; the server supports streaming lists."""

    def __init__(self, *objects: object, scheme: Scheme | None = None, clock: Clock = SYSTEM_CLOCK) -> None:
        self.scheme = _known_classes(scheme if scheme is not None else Scheme(), objects)
        self.calls = FakeCalls(FakeServer(self.scheme, clock))
        self.tracker.add(*objects)

    def do(self, request: Request) -> bytes:
        """Record the call and answer it.

        Raises:
            ApiError: the server rejects it, or a reactor raises an error.
        """
        recorded = self._record(request)
        handled, result, action = _react(self.calls.reactors, recorded)
        if handled:
            return _reply(action, result)
        return self.tracker.do(request if action is recorded else changed_request(request, recorded, action))

    def raw(self, method: str, path: str) -> bytes:
        """Answer a request for any path, such as one of discovery; it is not recorded."""
        return self.tracker.raw(method, path)

    def watch(self, request: Request) -> EventStream:
        """Record the call and open the watch, which a stop ends as it ends one of a server."""
        return self._stoppable(self._watch, request)

    def _watch(self, request: Request) -> EventStream:
        recorded = self._record(request)
        handled, stream, action = _react(self.calls.watch_reactors, recorded)
        if not handled:
            return self.tracker.watch(request if action is recorded else changed_request(request, recorded, action))
        if stream is None:
            raise TypeError(f"a watch reactor handled {action} and returned no stream")
        return stream

    def stream(self, request: Request) -> ByteStream:
        """Record the call and return the stream of a reactor, which returns bytes or a `FakeStream`.

        Raises:
            MethodNotAllowed: no reactor handles it.
        """
        return self._stoppable(self._stream, request)

    def _stream(self, request: Request) -> ByteStream:
        handled, result, action = _react(self.calls.reactors, self._record(request))
        if isinstance(result, bytes):
            return FakeStream(result, end=True)
        if isinstance(result, FakeStream):
            return result
        if handled:
            raise TypeError(f"a reactor handled {action} and returned neither bytes nor a FakeStream: {result!r}")
        raise not_supported(action.resource, action.subresource)

    def upgrade(self, request: Request, headers: Headers) -> Duplex:
        """Record the call and answer a command with the `CommandResult` of a reactor.

        Raises:
            MethodNotAllowed: no reactor handles it.
        """
        handled, result, action = _react(self.calls.reactors, self._record(request))
        if isinstance(result, streams.CommandResult):
            return AnsweredCommand(result, headers)
        if handled:
            raise TypeError(f"a reactor handled {action} and returned no CommandResult: {result!r}")
        raise not_supported(action.resource, action.subresource)

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


_SUCCESS = {"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}


def _list_of(action: Action, items: Sequence[Any], metadata: object) -> dict[str, Any]:
    # The items of a subresource may be of another kind.
    first = type_meta(encode_value(items[0])) if items else None
    return {
        "apiVersion": action.resource.api_version,
        "kind": f"{(first.kind if first is not None else '') or action.kind}List",
        "metadata": metadata,
        "items": items,
    }


def _reply(action: Action, result: object) -> bytes:
    if isinstance(result, bytes):
        return result
    if result is None:
        return _success(action)
    if action.verb == "list" and isinstance(result, ObjectList | list | tuple):
        page = result if isinstance(result, ObjectList) else ObjectList(ListMeta(), list(result))
        items = [msgspec.Raw(_encoded(action, item)) for item in page.items]
        return encode_value(_list_of(action, items, page.metadata))
    return _encoded(action, result)


def _success(action: Action) -> bytes:
    if action.verb in ("delete", "deletecollection"):
        return encode_value(_SUCCESS)
    if action.verb == "list":
        return encode_value(_list_of(action, [], {}))
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

    def __init__(self, *objects: object, clock: Clock = SYSTEM_CLOCK) -> None:
        self.fake = FakeRequester(*objects, scheme=self.scheme, clock=clock)
        self.calls = self.fake.calls
        super().__init__(self.fake)
