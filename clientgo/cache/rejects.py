"""Objects the server has and the cache can't hold: counted, logged once for each state, listed on request."""

import logging

from clientgo.meta.codec import Undecodable
from clientgo.meta.names import ObjectName
from clientgo.metrics import provider

log = logging.getLogger(__name__)


class Rejects:
    """What could not be decoded of one kind; filled by reflectors, readable from anywhere."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._current: dict[ObjectName, tuple[str, Undecodable]] = {}
        self._counter = provider().counter(
            "informer_undecodable_objects_total", "Objects received that could not be decoded.", {"kind": kind}
        )
        self.total = 0

    def __repr__(self) -> str:
        return f"<Rejects {len(self._current)} now, {self.total} in all>"

    @property
    def any(self) -> bool:
        """Whether some object is set aside now."""
        return bool(self._current)

    def current(self) -> dict[ObjectName, Undecodable]:
        """The objects set aside now, and why."""
        return {key: error for key, (_, error) in list(self._current.items())}

    def get(self, key: ObjectName) -> Undecodable | None:
        """Return why the object of that name is set aside; None if it is not."""
        found = self._current.get(key)
        return found[1] if found is not None else None

    def note(self, error: Undecodable) -> None:
        """Count and log one state of one object; a state seen before, in an earlier list, is neither again."""
        meta = error.metadata
        key, state = ObjectName(meta.namespace, meta.name), f"{meta.uid}@{meta.resource_version}"
        if key in self._current and self._current[key][0] == state:
            return
        self._current[key] = (state, error)
        self.total += 1
        self._counter.inc()
        log.error(
            "object skipped: it can't be decoded",
            extra={"kind": error.kind, "namespace": meta.namespace, "name_": meta.name, "err": error.cause},
        )

    def keep_only(self, keys: set[ObjectName], namespace: str) -> None:
        """Clear the others of that namespace, or of all if empty: a complete list found them readable or deleted."""
        for key in list(self._current):
            if key not in keys and namespace in ("", key.namespace):
                self.clear(key)

    def clear(self, key: ObjectName) -> None:
        """The object of that name is gone, or readable again."""
        self._current.pop(key, None)
