"""Base class of the controllers that watch the store and write through `Internal`."""

from collections.abc import Callable

from clientgo.apiserver.http.status import ApiFailure
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.stored import Key, Name
from clientgo.log import get_logger

_log = get_logger(__name__)


class InternalController:
    """Receives every change of the store from `start` to `stop`, on the server's event loop.

    `_changed` is called after each commit and must not write; it schedules the writes. Objects belong to the store and
    are never modified.
    """

    def __init__(self, internal: Internal) -> None:
        self._internal = internal
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'running' if self._running else 'stopped'}>"

    def start(self) -> None:
        """Bring the stored objects up to date, and react to every change from now on."""
        self._unsubscribe = self._internal.subscribe(self._changed)
        self._resync()

    def stop(self) -> None:
        """Stop reacting and writing."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    @property
    def _running(self) -> bool:
        return self._unsubscribe is not None

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        raise NotImplementedError

    def _resync(self) -> None:
        raise NotImplementedError

    def _now(self) -> str:
        return timestamp(self._internal.clock)

    def _attempt(self, action: str, place: Name, write: Callable[[], object]) -> None:
        """Run a write; log a rejection, because the change that caused it comes back as an event.

        Raises:
            ApiFailure: the server failed (5xx), so the caller is run again.
        """
        try:
            write()
        except ApiFailure as failure:
            if failure.code >= 500:
                raise
            _log.warning(f"cannot {action}", extra={"object": place, "err": failure.message})

    def _write_status(self, key: Key, obj: Object, status: Object) -> None:
        """Merge `status` into the object's status."""
        patch = {"status": status}
        self._attempt(
            "write the status", place(obj), lambda: self._internal.patch(key, *place(obj), patch, subresource="status")
        )


def place(obj: Object) -> Name:
    """Return the object's namespace and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
