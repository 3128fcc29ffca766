"""A fake clientset: the real clients over objects in memory, every call recorded.

    clientset = FakeClientset(foo, other_foo)
    clientset.prepend_reactor("update", "foos/status", refuse)
    ...
    assert clientset.actions == [Action.of("update", foo, subresource="status")]

`FakeClientset` is generated: `FakeClientsetMixin` in front of the real `Clientset`, so both have the same methods.
"""

from typing import ClassVar

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.meta.scheme import Scheme
from clientgo.testing.actions import Action
from clientgo.testing.reaction import Reaction, WatchReaction
from clientgo.testing.requester import FakeRequester
from clientgo.testing.tracker import Tracker
from clientgo.typed.clientset import BaseClientset

__all__ = ["FakeClientsetMixin", "FakeRequester"]


class FakeClientsetMixin(BaseClientset):
    """Makes a clientset of fakes that starts with `objects`; a subclass names its `scheme`."""

    scheme: ClassVar[Scheme] = Scheme()

    def __init__(
        self, *objects: object, clock: Clock = SYSTEM_CLOCK, versioned: bool = False, lifecycle: bool = False
    ) -> None:
        self.fake = FakeRequester(*objects, scheme=self.scheme, clock=clock, versioned=versioned, lifecycle=lifecycle)
        super().__init__(self.fake)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self.actions)} actions>"

    @property
    def actions(self) -> list[Action]:
        """Every call so far, in order."""
        return self.fake.actions

    @property
    def writes(self) -> list[Action]:
        """Every call so far that changes something: what is left when informers' lists and watches are taken out."""
        return [action for action in self.fake.actions if action.is_write]

    @property
    def tracker(self) -> Tracker:
        """The objects; what is added here is seen by clients and watches, and is no action."""
        return self.fake.tracker

    def clear_actions(self) -> None:
        """Forget the calls so far."""
        self.fake.clear_actions()

    def prepend_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Ask `react` before everything else; "*" is any verb or resource."""
        self.fake.prepend_reactor(verb, resource, react)

    def add_reactor(self, verb: str, resource: str, react: Reaction) -> None:
        """Ask `react` after the reactors there are, before the tracker."""
        self.fake.add_reactor(verb, resource, react)

    def prepend_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Let `react` open watches, before the other watch reactors."""
        self.fake.prepend_watch_reactor(resource, react)

    def add_watch_reactor(self, resource: str, react: WatchReaction) -> None:
        """Let `react` open watches, after the other watch reactors."""
        self.fake.add_watch_reactor(resource, react)
