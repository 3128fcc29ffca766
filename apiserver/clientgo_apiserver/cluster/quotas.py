"""Controller of the status of resource quotas."""

from clientgo_apiserver.admission.quota import CHANGEABLE, usage
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.storage.keys import QUOTAS
from clientgo_apiserver.storage.stored import Key


class QuotaController(InternalController):
    """Keeps the status of every ResourceQuota up to date."""

    _service_account = "resourcequota-controller"
    _sources = (QUOTAS,)
    _further = None

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        # The number of quotas is checked first: hardly any server has one.
        if self._store.count(QUOTAS) and (kind != "MODIFIED" or key in (QUOTAS, *CHANGEABLE)):
            namespace = (new or old or {})["metadata"].get("namespace", "")
            if namespace:
                self._schedule(namespace)

    def _sync(self, *names: str) -> None:
        for quota in self._store.list(QUOTAS, *names):
            hard = (quota.get("spec") or {}).get("hard") or {}
            used = {name: str(amount) for name, amount in sorted(usage(self._store, quota).items())}
            status = {"hard": hard, "used": used}
            if (quota.get("status") or {}) != status:
                # A JSON patch replaces the whole status, so that names that are no longer limited vanish.
                self._write_status(QUOTAS, quota, [{"op": "add", "path": "/status", "value": status}], kind="json")
