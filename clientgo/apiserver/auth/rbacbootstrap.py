"""Initial RBAC roles and bindings, and the controller of aggregated roles.

Authenticated users may use discovery and check their own permissions; everyone may read health and version; members of
system:masters hold cluster-admin. `admin`, `edit` and `view` can be bound, and aggregate the rules of every role with
their label. Roles that a client has changed stay unchanged.
"""

import uuid

from clientgo.apiserver.auth.authorization import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from clientgo.apiserver.controllers.base import InternalController
from clientgo.apiserver.datafiles import read_data
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import selects
from clientgo.apiserver.storage.stored import Key

_KINDS = {CLUSTER_ROLES: "ClusterRole", CLUSTER_ROLE_BINDINGS: "ClusterRoleBinding"}
_AGGREGATES = "rbac.authorization.k8s.io/aggregate-to-"


def create_initial_roles(state: State) -> None:
    """Store missing roles and bindings."""
    initial = read_data(__package__, "roles.yaml")
    for name, rules in initial["roles"].items():
        _add(state, CLUSTER_ROLES, name, {"rules": rules})
    selectors: list[Object] = []
    for name, rules in initial["aggregated"].items():
        labels = {f"{_AGGREGATES}{name}": "true"}
        _add(state, CLUSTER_ROLES, f"system:aggregate-to-{name}", {"rules": rules}, labels)
        selectors = [*selectors, {"matchLabels": labels}]
        _add(state, CLUSTER_ROLES, name, {"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": []})
    for name, groups in initial["bindings"].items():
        subjects = [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups]
        reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
        _add(state, CLUSTER_ROLE_BINDINGS, name, {"subjects": subjects, "roleRef": reference})


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


def _add(state: State, key: Key, name: str, fields: Object, labels: dict[str, str] | None = None) -> None:
    if state.store.entry(key, "", name) is not None:
        return
    meta: Object = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": timestamp(state.clock)}
    meta["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **(labels or {})}
    state.store.put(key, {"apiVersion": f"{GROUP}/v1", "kind": _KINDS[key], "metadata": meta, **fields})
