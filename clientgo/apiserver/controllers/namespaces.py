"""Namespace deletion: deletes the contents of a terminating namespace, and then the namespace."""

from clientgo.apiserver.admission.namespaces import KEY
from clientgo.apiserver.registry.metadata import mark_deleted
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key


class NamespaceController:
    """Empties and removes namespaces that are being deleted."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._terminating: set[str] = set()

    def __repr__(self) -> str:
        return f"<NamespaceController {len(self._terminating)} terminating>"

    def start(self) -> None:
        """Continue pending deletions, and react to every change from now on."""
        self._state.store.subscribe(self._changed)
        for namespace in self._state.store.list(KEY):
            self._changed("ADDED", KEY, None, namespace)

    def _changed(self, _: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == KEY:
            if new is not None and "deletionTimestamp" in new["metadata"]:
                self._terminating.add(new["metadata"]["name"])
                self._state.call_soon(self.sync, new["metadata"]["name"])
        elif new is None and old is not None and old["metadata"].get("namespace", "") in self._terminating:
            self._state.call_soon(self.sync, old["metadata"]["namespace"])

    def sync(self, name: str) -> None:
        """Delete the namespace's contents, and the namespace itself once it is empty."""
        namespace = self._state.store.get(KEY, "", name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            self._terminating.discard(name)
            return
        if self._empty(name):
            self._terminating.discard(name)
            if not namespace["metadata"].get("finalizers"):
                self._state.store.remove(KEY, "", name)
            elif namespace.get("spec", {}).get("finalizers"):
                self._state.store.put(KEY, {**namespace, "spec": {}})

    def _empty(self, name: str) -> bool:
        """Delete everything without finalizers; return whether the namespace is empty."""
        store = self._state.store
        left = False
        for key in store.stored_keys():
            for obj in store.list(key, name):
                meta = obj["metadata"]
                if not meta.get("finalizers"):
                    store.remove(key, name, meta["name"])
                    continue
                left = True
                if "deletionTimestamp" not in meta:
                    store.put(key, {**obj, "metadata": mark_deleted(meta, self._state.clock)})
        return not left
