"""What the simulated controllers ask of the server: reads, writes, and word of every change, without HTTP.

The server's in-process client fits this protocol; so does a fake in a test. Everything runs on the server's event loop:
a callback comes after the write it tells of and must not write from inside, but ask for `call_soon`. Objects that are
handed out belong to the store and are never changed.
"""

from collections.abc import Callable
from typing import Any, Protocol

from clientgo.apiserver.registry.registry import Registry
from clientgo.clock import Clock

Key = tuple[str, str]
"""(group, plural): what objects of a resource are stored under."""
Object = dict[str, Any]
Callback = Callable[[str, Key, Object | None, Object | None], None]
"""(`ADDED`, `MODIFIED` or `DELETED`, key, object before, object after)."""


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forget the call."""


class Cluster(Protocol):
    """The server, as seen by what runs inside it. Refused writes raise `status.ApiFailure`."""

    @property
    def registry(self) -> Registry:
        """What is served."""

    @property
    def clock(self) -> Clock:
        """The time by which the server stamps objects."""

    def get(self, key: Key, namespace: str, name: str) -> Object | None:
        """Give one object, or None."""

    def list(self, key: Key, namespace: str = "") -> list[Object]:
        """Give the objects of a namespace, or of all."""

    def create(self, key: Key, namespace: str, obj: Object) -> Object:
        """Store a new object and give it as stored."""

    def patch(
        self, key: Key, namespace: str, name: str, patch: Object, *, subresource: str = "", kind: str = "merge"
    ) -> Object:
        """Change an object by a merge patch and give the result."""

    def delete(self, key: Key, namespace: str, name: str, *, uid: str = "", propagation: str = "Background") -> Object:
        """Delete an object, if it has this uid."""

    def subscribe(self, callback: Callback, /) -> Callable[[], None]:
        """Hear of every change from now on; call the result to stop."""

    def call_soon(self, function: Callable[..., object], /, *arguments: Any) -> object:
        """Call a function once the present request has been answered."""

    def call_promptly(self, function: Callable[..., object], /, *arguments: Any) -> None:
        """Call a function before the present request is answered, so that the answer shows what it did."""

    def call_later(self, seconds: float, function: Callable[..., object], /, *arguments: Any) -> Timer:
        """Call a function after this many seconds."""
