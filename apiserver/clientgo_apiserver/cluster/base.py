"""Base class of the controllers that watch the store and write through `Internal`."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from clientgo.log import get_logger
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.gotypes.metadata import mark_deleted, timestamp
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.stored import Key, Name, name_of

_log = get_logger(__name__)


class _Pending:
    """Handle of a call without a delay."""

    is_cancelled = False

    def cancel(self) -> None:
        """Cancel the call; a call that has run is ignored."""
        self.is_cancelled = True


class InternalController:
    """Receives every change of the store from `start` to `stop`, on the server's event loop.

    `_changed` is called after each commit and must not write; it schedules `_sync` with the names of what has to be
    reconciled, once however many changes lead to it. Objects belong to the store and are never modified.
    """

    _sources: ClassVar[tuple[Key, ...]] = ()
    """Keys whose stored objects are passed to `_changed` at the start, and their changes from then on."""
    _service_account: ClassVar[str] = ""
    """Service account as which it writes, in the namespace kube-system; "" if it has the user of `Internal`."""
    _further: ClassVar[tuple[Key, ...] | None] = ()
    """Further keys whose changes are passed to `_changed`; None for all keys."""

    def __init__(self, internal: Internal) -> None:
        self._internal = internal.as_account(self._service_account) if self._service_account else internal
        self._state = internal.state
        self._store = internal.state.store
        self._due: dict[tuple[str, ...], int] = {}
        self._unsubscribe: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {len(self._due)} due>"

    def start(self) -> None:
        """Bring the stored objects up to date, and react to every change from now on."""
        watched = None if self._further is None else (*self._sources, *self._further)
        self._unsubscribe = self._store.subscribe(self._changed, watched)
        for key in self._sources:
            for obj in self._store.list(key):
                self._changed("ADDED", key, None, obj)

    def stop(self) -> None:
        """Stop reacting and writing."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        raise NotImplementedError

    def _sync(self, *names: str) -> None:
        raise NotImplementedError

    def _schedule(self, *names: str, rank: int = 0) -> None:
        """Run `_sync` soon, after what is due of lower ranks.

        Rank 0 makes things happen; 1 counts pods, and 2 counts what counts pods, so that both count once.
        """
        due = self._due.get(names)
        if due is None or rank < due:
            self._due[names] = rank
            self._state.call_soon(self._run_due, names, rank=rank)

    def _run_due(self, names: tuple[str, ...]) -> None:
        if names in self._due:  # else it has run at a lower rank
            self._state.call_with_retry(self._run, names)

    def _run(self, names: tuple[str, ...]) -> None:
        self._due.pop(names, None)
        if self._unsubscribe is not None:
            self._sync(*names)

    def _later(self, seconds: float, callback: Callable[..., object], *args: Any) -> Handle:
        """Call back after that many seconds, unless the controller is stopped."""
        pending = _Pending()

        def call() -> None:
            if self._unsubscribe is not None and not pending.is_cancelled:
                callback(*args)

        if not seconds:  # before what counts the effects, which a timer is not
            self._state.call_soon(call)
            return pending
        # Not many in one turn of the loop.
        return self._state.scheduler.call_later(seconds, self._state.call_soon, call)

    def _now(self) -> str:
        return timestamp(self._state.clock)

    def _attempt(self, action: str, target: Name, write: Callable[[], object]) -> None:
        """Run a write; log a rejection, because the change that caused it comes back as an event.

        Raises:
            ApiFailure: the server failed (5xx), so the caller is run again.
        """
        try:
            write()
        except ApiFailure as failure:
            if failure.code >= 500:
                raise
            _log.warning(f"cannot {action}", extra={"object": target, "err": failure.message})

    def _write_status(self, key: Key, obj: Object, status: Any, kind: str = "merge") -> None:
        """Merge or apply (`kind`) fields of the object's status; of kind `json`, it is a patch of the whole object."""
        target = name_of(obj)
        identity = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": {"name": target[1]}}
        body = status if kind == "json" else {**(identity if kind == "apply" else {}), "status": status}
        write = partial(self._internal.patch, key, *target, body, subresource="status", kind=kind)
        self._attempt("write the status", target, write)

    def _delete_all(self, key: Key, namespace: str = "") -> bool:
        """Delete the objects that no finalizer holds, mark the others for deletion; return whether none is left."""
        remaining = False
        for obj in self._store.list(key, namespace):
            meta = obj["metadata"]
            if not meta.get("finalizers"):
                self._store.remove(key, *name_of(obj))
                continue
            remaining = True
            if "deletionTimestamp" not in meta:
                self._store.put(key, {**obj, "metadata": mark_deleted(meta, self._state.clock)})
        return not remaining


def annotation(obj: Object, name: str) -> str:
    """Return an annotation, or ""."""
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def is_deleting(obj: Object) -> bool:
    """Return whether the object is being deleted."""
    return "deletionTimestamp" in obj["metadata"]


def controller_reference(obj: Object) -> Object:
    """Return the owner reference of an object that this one controls."""
    meta = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {**reference, "controller": True, "blockOwnerDeletion": True}
