"""Initial RBAC roles and bindings, and the controller of aggregated roles.

Authenticated users may use discovery and check their own permissions; everyone may read health and version; members of
system:masters hold cluster-admin. `admin`, `edit` and `view` can be bound, and aggregate the rules of every role with
their label. Roles that a client has changed stay unchanged.
"""

import uuid

from clientgo.apiserver.auth.authorization import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from clientgo.apiserver.auth.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from clientgo.apiserver.controllers.base import InternalController
from clientgo.apiserver.registry.metadata import timestamp
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.selection import selects
from clientgo.apiserver.storage.stored import Key

RuleObject = dict[str, list[str]]

_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_HEALTH = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY = [*_HEALTH, "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"]
_WORKLOADS: dict[str, list[str]] = {
    "": ["configmaps", "endpoints", "persistentvolumeclaims", "pods", "replicationcontrollers", "services"],
    "apps": ["daemonsets", "deployments", "deployments/scale", "replicasets", "replicasets/scale", "statefulsets"],
    "autoscaling": ["horizontalpodautoscalers"],
    "batch": ["cronjobs", "jobs"],
    "networking.k8s.io": ["ingresses", "networkpolicies"],
    "policy": ["poddisruptionbudgets"],
}
_READ_ONLY: dict[str, list[str]] = {
    "": [
        *("bindings", "events", "limitranges", "namespaces", "namespaces/status", "pods/log", "pods/status"),
        *("resourcequotas", "resourcequotas/status", "serviceaccounts", "services/status"),
    ],
    "apps": ["controllerrevisions", "daemonsets/status", "deployments/status", "replicasets/status"],
    "batch": ["cronjobs/status", "jobs/status"],
    "discovery.k8s.io": ["endpointslices"],
}
_KINDS = {CLUSTER_ROLES: "ClusterRole", CLUSTER_ROLE_BINDINGS: "ClusterRoleBinding"}
_AGGREGATES = "rbac.authorization.k8s.io/aggregate-to-"


def create_initial_roles(state: State) -> None:
    """Store missing roles and bindings."""
    for name, rules in _ROLES.items():
        _add(state, CLUSTER_ROLES, name, {"rules": rules})
    for name in ("view", "edit", "admin"):
        labels = {f"{_AGGREGATES}{name}": "true"}
        _add(state, CLUSTER_ROLES, f"system:aggregate-to-{name}", {"rules": _OWN[name]}, labels)
        selectors = [{"matchLabels": {f"{_AGGREGATES}{part}": "true"}} for part in _PARTS[name]]
        _add(state, CLUSTER_ROLES, name, {"aggregationRule": {"clusterRoleSelectors": selectors}, "rules": []})
    for name, groups in _BINDINGS.items():
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

    def _union(self, role: Object) -> list[RuleObject]:
        rules: list[RuleObject] = []
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


def _rules(verbs: list[str], resources: dict[str, list[str]]) -> list[RuleObject]:
    return [{"apiGroups": [group], "resources": names, "verbs": verbs} for group, names in resources.items()]


_ROLES: dict[str, list[RuleObject]] = {
    "cluster-admin": [*_rules(["*"], {"*": ["*"]}), {"nonResourceURLs": ["*"], "verbs": ["*"]}],
    "system:basic-user": [
        *_rules(["create"], {"authorization.k8s.io": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]}),
        *_rules(["create"], {"authentication.k8s.io": ["selfsubjectreviews"]}),
    ],
    "system:auth-delegator": _rules(
        ["create"], {"authentication.k8s.io": ["tokenreviews"], "authorization.k8s.io": ["subjectaccessreviews"]}
    ),
    "system:discovery": [{"nonResourceURLs": _DISCOVERY, "verbs": ["get"]}],
    "system:public-info-viewer": [{"nonResourceURLs": _HEALTH, "verbs": ["get"]}],
}
_BINDINGS = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:public-info-viewer": (AUTHENTICATED, UNAUTHENTICATED),
}
# Rules that each role adds to the one before it.
_OWN: dict[str, list[RuleObject]] = {
    "view": [*_rules(_READ, _WORKLOADS), *_rules(_READ, _READ_ONLY)],
    "edit": [
        *_rules(_WRITE, _WORKLOADS),
        *_rules([*_READ, *_WRITE], {"": ["secrets"], "coordination.k8s.io": ["leases"]}),
        *_rules(["impersonate"], {"": ["serviceaccounts"]}),
        *_rules(_WRITE, {"": ["events", "serviceaccounts"]}),
        *_rules(["create"], {"": ["serviceaccounts/token"]}),
    ],
    "admin": [
        *_rules([*_READ, *_WRITE], {GROUP: ["rolebindings", "roles"]}),
        *_rules(["create"], {"authorization.k8s.io": ["localsubjectaccessreviews"]}),
    ],
}
_PARTS = {"view": ("view",), "edit": ("view", "edit"), "admin": ("view", "edit", "admin")}
