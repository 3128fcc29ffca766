"""Namespace deletion: deletes the contents of a terminating namespace, and then the namespace."""

from clientgo.apiserver.admission.namespaces import KEY
from clientgo.apiserver.controllers.base import InternalController
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.stored import Key


class NamespaceController(InternalController):
    """Empties and removes namespaces that are being deleted."""

    _sources = (KEY,)

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._terminating: set[str] = set()

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == KEY:
            if new is not None and "deletionTimestamp" in new["metadata"]:
                self._terminating.add(new["metadata"]["name"])
                self._schedule(new["metadata"]["name"])
        elif new is None and old is not None and old["metadata"].get("namespace", "") in self._terminating:
            self._schedule(old["metadata"]["namespace"])

    def _sync(self, *names: str) -> None:
        (name,) = names
        namespace = self._store.get(KEY, "", name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            self._terminating.discard(name)
        elif not [key for key in self._store.stored_keys() if not self._delete_all(key, name)]:
            self._terminating.discard(name)
            if not namespace["metadata"].get("finalizers"):
                self._store.remove(KEY, "", name)
            elif namespace.get("spec", {}).get("finalizers"):
                self._store.put(KEY, {**namespace, "spec": {}})
