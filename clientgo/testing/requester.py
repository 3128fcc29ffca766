"""Answers requests from memory and records them: the fake that stands below the real clients.

Only the seam below the clients is replaced. What they send is encoded, answered and decoded as over HTTP, so a test
that passes has exercised the same code. Reactors are asked first, then the tracker; its module says what it leaves out.
"""

import threading
from collections.abc import Sequence
from typing import Any

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import Invalid, NotFound
from clientgo.meta.codec import ObjectList, encode, encode_value
from clientgo.meta.objects import ListMeta
from clientgo.meta.scheme import Scheme, api_of
from clientgo.rest.request import ByteStream, EventStream, Request
from clientgo.testing.actions import Action, action_of
from clientgo.testing.answers import SUCCESS, answer, not_kept
from clientgo.testing.discovery import discovered
from clientgo.testing.reaction import Reaction, ReactionChain, Reactor, WatchReaction
from clientgo.testing.selection import select
from clientgo.testing.tracker import Tracker
from clientgo.testing.transport import FakeStream
from clientgo.typed.scale import Scale


class FakeRequester:
    """A `Requester` that answers from a `tracker` and records each call as an `Action`; safe for any number of threads.

    `scheme` names the classes that recorded objects are decoded to; those of `objects` are known besides. `versioned`
    makes the tracker stamp resourceVersions and refuse stale updates. `lifecycle` lets it write a status by its own
    subresource alone, and keep what is deleted until its finalizers are gone.
    """

    supports_watch_list = False
    """Streamed lists are not offered, so informers list and watch; a request for one is refused as by an old server."""

    def __init__(
        self,
        *objects: object,
        scheme: Scheme | None = None,
        clock: Clock = SYSTEM_CLOCK,
        versioned: bool = False,
        lifecycle: bool = False,
    ) -> None:
        self._scheme = _known_classes(scheme if scheme is not None else Scheme(), objects)
        self._lock = threading.Lock()
        self._actions: list[Action] = []
        self._reactors: ReactionChain[object] = ReactionChain()
        self._watch_reactors: ReactionChain[EventStream | None] = ReactionChain()
        self.tracker = Tracker(*objects, scheme=self._scheme, clock=clock, versioned=versioned, lifecycle=lifecycle)

    def __repr__(self) -> str:
        return f"<FakeRequester {len(self._actions)} actions>"

    @property
    def actions(self) -> list[Action]:
        """Every call so far, in order."""
        with self._lock:
            return list(self._actions)

    def clear_actions(self) -> None:
        """Forget the calls so far."""
        with self._lock:
            self._actions.clear()

    def prepend_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Ask `react` before everything else; "*" is any verb or resource."""
        self._reactors.prepend(Reactor(verb, resource, react))

    def add_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Ask `react` after the reactors there are, before the tracker."""
        self._reactors.add(Reactor(verb, resource, react))

    def prepend_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Let `react` open watches, before the other watch reactors."""
        self._watch_reactors.prepend(Reactor("watch", resource, react))

    def add_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Let `react` open watches, after the other watch reactors."""
        self._watch_reactors.add(Reactor("watch", resource, react))

    def do(self, request: Request) -> bytes:
        """Record the call and answer it; raises what a reactor raises, or the tracker's `ApiError`."""
        handled, result, action = self._reactors.react(self._record(request))
        return _reply(action, result) if handled else encode_value(answer(self.tracker, action))

    def raw(self, method: str, path: str) -> bytes:
        """What discovery asks for, from the kinds of the scheme; not recorded.

        Raises:
            NotFound: anything else.
        """
        if method != "GET":
            raise NotFound(f"a fake answers no {method} of {path}")
        return discovered(self._scheme, path)

    def watch(self, request: Request) -> EventStream:
        """Record the call and open the watch; raises what a reactor raises."""
        handled, stream, action = self._watch_reactors.react(self._record(request))
        if handled:
            if stream is None:
                raise TypeError(f"a watch reactor handled {action} and gave no stream")
            return stream
        if action.subresource:
            raise not_kept(action)
        if "sendInitialEvents" in action.options:
            raise Invalid("sendInitialEvents is forbidden for watch: a fake does not stream lists")
        return self.tracker.watch(
            action.resource,
            select(action.namespace, action.label_selector, action.field_selector),
            resource_version=action.options.get("resourceVersion", ""),
            timeout=float(action.options.get("timeoutSeconds", 0)),
            bookmarks="allowWatchBookmarks" in action.options,
        )

    def stream(self, request: Request) -> ByteStream:
        """Record the call and open the stream a reactor gives: bytes, or a `FakeStream`; raises what it raises.

        Raises:
            MethodNotAllowed: no reactor handles it.
        """
        handled, result, action = self._reactors.react(self._record(request))
        if isinstance(result, bytes):
            return FakeStream(result, end=True)
        if isinstance(result, FakeStream):
            return result
        if handled:
            raise TypeError(f"a reactor handled {action} and gave neither bytes nor a FakeStream: {result!r}")
        raise not_kept(action)

    def _record(self, request: Request) -> Action:
        action = action_of(request, self._scheme)
        with self._lock:
            self._actions.append(action)
        return action


def _known_classes(scheme: Scheme, objects: Sequence[object]) -> Scheme:
    # A copy: a test's objects must not change the scheme of the program.
    known = Scheme(*(cls for gvk in scheme.kinds() if (cls := scheme.class_of(gvk)) is not None))
    for cls in (Scale, *map(type, objects)):
        if "__api_type__" in vars(cls) and known.class_of(api_of(cls).gvk) is None:
            known.add(cls)
    return known


def _reply(action: Action, result: object) -> bytes:
    if isinstance(result, bytes):
        return result
    if result is None:
        return _went_well(action)
    if action.verb == "list" and isinstance(result, ObjectList | list | tuple):
        page = result if isinstance(result, ObjectList) else ObjectList(ListMeta(), list(result))
        items = [msgspec.Raw(_encoded(item)) for item in page.items]
        return encode_value({"metadata": page.metadata, "items": items})
    return _encoded(result)


def _went_well(action: Action) -> bytes:
    if action.verb in ("delete", "deletecollection"):
        return encode_value(SUCCESS)
    if action.verb == "list":
        return encode_value({"metadata": {}, "items": []})
    if action.object is None:
        raise TypeError(f"a reactor handled {action} and gave no result to answer with")
    return _encoded(action.object)


def _encoded(obj: Any) -> bytes:
    return encode_value(obj) if isinstance(obj, dict) else encode(obj)
