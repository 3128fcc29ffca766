"""Controller of aggregated roles, such as `admin`, `edit` and `view`."""

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.auth.authorization import CLUSTER_ROLES
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.storage.selection import selects
from clientgo_apiserver.storage.stored import Key


class AggregationController(InternalController):
    """Keeps the rules of aggregated roles the union of the roles they select."""

    _sources = (CLUSTER_ROLES,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == CLUSTER_ROLES:
            self._schedule()

    def _sync(self, *names: str) -> None:
        for role in self._store.list(CLUSTER_ROLES):
            if role.get("aggregationRule"):
                rules = self._union(role)
                if rules != (role.get("rules") or []):
                    self._store.put(CLUSTER_ROLES, {**role, "rules": rules})

    def _union(self, role: Object) -> list[Object]:
        rules: list[Object] = []
        for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
            for other in self._store.list(CLUSTER_ROLES):
                if other["metadata"]["name"] == role["metadata"]["name"]:
                    continue
                if selects(selector, other["metadata"].get("labels") or {}):
                    rules += [rule for rule in other.get("rules") or () if rule not in rules]
        return rules
