"""RBAC as Kubernetes evaluates it: which rules bind a user, and what a rule covers.

Rules only ever allow. A binding whose role is missing grants nothing and is told in the refusal, so that a typing
mistake can be found.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clientgo.apiserver.auth.users import User, service_account_name
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Key

Object = dict[str, Any]
Rule = dict[str, Any]

GROUP = "rbac.authorization.k8s.io"
ROLES: Key = (GROUP, "roles")
CLUSTER_ROLES: Key = (GROUP, "clusterroles")
ROLE_BINDINGS: Key = (GROUP, "rolebindings")
CLUSTER_ROLE_BINDINGS: Key = (GROUP, "clusterrolebindings")


@dataclass(frozen=True, slots=True)
class Grant:
    """One rule that holds for a user, and in words by which binding it does."""

    rule: Rule
    source: str


class Rules:
    """Finds the rules that hold for a user; `missing` names the roles that bindings lead to in vain."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.missing: list[str] = []

    def __repr__(self) -> str:
        return f"<Rules of {self._store}, {len(self.missing)} roles missing>"

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """Each rule that holds for the user, cluster-wide first, then in the namespace (none when empty)."""
        for binding in self._store.list(CLUSTER_ROLE_BINDINGS):
            yield from self._granted(binding, user, "")
        if namespace:
            for binding in self._store.list(ROLE_BINDINGS, namespace):
                yield from self._granted(binding, user, namespace)

    def _granted(self, binding: Object, user: User, namespace: str) -> Iterator[Grant]:
        subject = next((one for one in binding.get("subjects") or () if _is(one, user, namespace)), None)
        if subject is None:
            return
        kind, name = binding["roleRef"].get("kind", ""), binding["roleRef"].get("name", "")
        role = self._role(kind, name, namespace)
        if role is None:
            self.missing.append(f'{kind.lower()}.{GROUP} "{name}" not found')
            return
        bound = binding["metadata"]["name"]
        where = f'RoleBinding "{bound}/{namespace}"' if namespace else f'ClusterRoleBinding "{bound}"'
        for rule in role.get("rules") or ():
            yield Grant(rule, f'{where} of {kind} "{name}" to {_described(subject)}')

    def _role(self, kind: str, name: str, namespace: str) -> Object | None:
        if kind == "ClusterRole":
            return self._store.get(CLUSTER_ROLES, "", name)
        return self._store.get(ROLES, namespace, name) if namespace else None


def covers_resource(rule: Rule, verb: str, group: str, resource: str, name: str) -> bool:
    """Whether the rule allows the verb; `resource` is `pods` or `pods/log`."""
    return (
        _any_of(rule.get("verbs"), verb)
        and _any_of(rule.get("apiGroups"), group)
        and _names_resource(rule.get("resources") or (), resource)
        and (not rule.get("resourceNames") or name in rule["resourceNames"])
    )


def covers_path(rule: Rule, verb: str, path: str) -> bool:
    """Whether the rule allows the verb on a path that names no resource; a `*` at the end stands for any rest."""
    if not _any_of(rule.get("verbs"), verb):
        return False
    patterns = rule.get("nonResourceURLs") or ()
    return any(one in ("*", path) or (one.endswith("*") and path.startswith(one.rstrip("*"))) for one in patterns)


def _any_of(listed: Any, value: str) -> bool:
    return bool(listed) and ("*" in listed or value in listed)


def _names_resource(listed: Any, resource: str) -> bool:
    if "*" in listed or resource in listed:
        return True
    subresource = resource.partition("/")[2]
    return bool(subresource) and f"*/{subresource}" in listed


def _is(subject: Object, user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    account = service_account_name(user.name)
    return kind == "ServiceAccount" and account == (subject.get("namespace") or namespace, name)


def _described(subject: Object) -> str:
    name = subject.get("name", "")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace', '')}"
    return f'{subject.get("kind")} "{name}"'
