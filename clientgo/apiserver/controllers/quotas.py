"""Status of resource quotas: the limits, and what is used of them."""

from clientgo.apiserver.admission.quota import KEY, PODS, usage
from clientgo.apiserver.controllers.base import InternalController, place
from clientgo.apiserver.internal import Internal
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.storage.stored import Key


class QuotaController(InternalController):
    """Keeps the status of every ResourceQuota up to date."""

    def __init__(self, internal: Internal) -> None:
        super().__init__(internal)
        self._due: set[str] = set()

    def _resync(self) -> None:
        for quota in self._internal.list(KEY):
            self._schedule(quota["metadata"]["namespace"])

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        obj = new if new is not None else old
        # The number of quotas is checked first: hardly any server has one.
        if obj is None or not self._internal.store.count(KEY):
            return
        if kind != "MODIFIED" or key in (KEY, PODS):
            self._schedule(obj["metadata"].get("namespace", ""))

    def _schedule(self, namespace: str) -> None:
        if namespace and namespace not in self._due:
            self._due.add(namespace)
            self._internal.call_soon(self._sync, namespace)

    def _sync(self, namespace: str) -> None:
        self._due.discard(namespace)
        for quota in self._internal.list(KEY, namespace):
            hard = (quota.get("spec") or {}).get("hard") or {}
            used = {name: str(amount) for name, amount in sorted(usage(self._internal.store, quota).items())}
            status = {"hard": hard, "used": used}
            if (quota.get("status") or {}) != status:
                # A JSON patch replaces the whole status, so that names that are no longer limited vanish.
                patch = [{"op": "add", "path": "/status", "value": status}]
                self._replace_status(quota, patch)

    def _replace_status(self, quota: Object, patch: list[Object]) -> None:
        def write() -> object:
            return self._internal.patch(KEY, *place(quota), patch, subresource="status", kind="json")

        self._attempt("write the status", place(quota), write)
