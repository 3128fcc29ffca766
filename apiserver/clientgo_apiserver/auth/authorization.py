"""Authorization by RBAC, the guard against privilege escalation, and their errors in Kubernetes' words.

With `Options.authorization` "RBAC" the stored roles and bindings decide, and members of system:masters may do anything;
with "AlwaysAllow" everything is allowed. Rules only allow, never deny. A binding whose role is missing grants nothing
and is named in the error message, so that a typing mistake can be found.
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import NO_SNIFFING, ApiFailure, joined
from clientgo_apiserver.api.users import MASTERS, User, service_account_name
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key

RuleObject = dict[str, Any]
_encode = msgspec.json.Encoder().encode

GROUP = "rbac.authorization.k8s.io"
ROLES: Key = (GROUP, "roles")
CLUSTER_ROLES: Key = (GROUP, "clusterroles")
ROLE_BINDINGS: Key = (GROUP, "rolebindings")
CLUSTER_ROLE_BINDINGS: Key = (GROUP, "clusterrolebindings")


class Grant(msgspec.Struct, frozen=True):
    """A rule that applies to a user, and the binding that grants it, in words."""

    rule: RuleObject
    source: str


class _ClusterBindings:
    """The ClusterRoleBindings of a store by subject: most users have few of the many that a cluster has."""

    def __init__(self) -> None:
        self._bindings: list[Object] | None = None
        self._places: dict[tuple[str, ...], list[int]] = {}

    def changed(self, _: str, key: Key, *__: Object | None) -> None:
        """Drop what is known if a binding has changed."""
        if key == CLUSTER_ROLE_BINDINGS:
            self._bindings = None

    def of(self, store: Store, user: User) -> list[Object]:
        """Return the bindings that name the user or one of its groups, in order."""
        bindings = self._bindings
        if bindings is None:
            bindings = self._bindings = store.list(CLUSTER_ROLE_BINDINGS)
            self._places = {}
            for number, binding in enumerate(bindings):
                for subject in binding.get("subjects") or ():
                    kind = subject.get("kind", "")
                    home = subject.get("namespace", "") if kind == "ServiceAccount" else ""
                    self._places.setdefault((kind, home, subject.get("name", "")), []).append(number)
        account = service_account_name(user.name)
        subjects = [("User", "", user.name), *(("Group", "", group) for group in user.groups)]
        subjects += [("ServiceAccount", *account)] if account is not None else []
        return [
            bindings[number]
            for number in sorted({each for subject in subjects for each in self._places.get(subject, ())})
        ]


_CLUSTER_BINDINGS: WeakKeyDictionary[Store, _ClusterBindings] = WeakKeyDictionary()


def _bindings_of(store: Store) -> _ClusterBindings:
    bindings = _CLUSTER_BINDINGS.get(store)
    if bindings is None:
        bindings = _CLUSTER_BINDINGS[store] = _ClusterBindings()
        store.subscribe(bindings.changed)
    return bindings


class Rules:
    """Finds the rules that apply to a user; `missing` lists missing roles of bindings."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.missing: list[str] = []

    def grants(self, user: User, namespace: str) -> Iterator[Grant]:
        """Yield the rules of the user: cluster-wide ones, then those of the namespace if there is one."""
        for binding in _bindings_of(self._store).of(self._store, user):
            yield from self._granted(binding, user, "")
        if namespace:
            for binding in self._store.list(ROLE_BINDINGS, namespace):
                yield from self._granted(binding, user, namespace)

    def _granted(self, binding: Object, user: User, namespace: str) -> Iterator[Grant]:
        subject = next(
            (candidate for candidate in binding.get("subjects") or () if _matches_subject(candidate, user, namespace)),
            None,
        )
        if subject is None:
            return
        kind, name = binding["roleRef"].get("kind", ""), binding["roleRef"].get("name", "")
        role = self._store.get(*((CLUSTER_ROLES, "") if kind == "ClusterRole" else (ROLES, namespace)), name)
        if role is None:
            self.missing.append(f'{kind.lower()}.{GROUP} "{name}" not found')
            return
        bound, who = binding["metadata"]["name"], subject.get("name", "")
        who = f"{who}/{subject.get('namespace', '')}" if subject.get("kind") == "ServiceAccount" else who
        granted = f'{kind} "{name}" to {subject.get("kind")} "{who}"'
        source = f'RoleBinding "{bound}/{namespace}"' if namespace else f'ClusterRoleBinding "{bound}"'
        for rule in role.get("rules") or ():
            yield Grant(rule, f"{source} of {granted}")


def covers_resource(rule: RuleObject, verb: str, group: str, resource: str, name: str) -> bool:
    """Return whether the rule allows the verb; `resource` is `pods` or `pods/log`."""
    listed, subresource = rule.get("resources") or (), resource.partition("/")[2]
    return (
        any_of(rule.get("verbs"), verb)
        and any_of(rule.get("apiGroups"), group)
        and (any_of(listed, resource) or (subresource != "" and f"*/{subresource}" in listed))
        and (not rule.get("resourceNames") or name in rule["resourceNames"])
    )


def covers_path(rule: RuleObject, verb: str, path: str) -> bool:
    """Return whether the rule allows the verb on a non-resource path; a trailing `*` matches any suffix."""
    if not any_of(rule.get("verbs"), verb):
        return False
    patterns = rule.get("nonResourceURLs") or ()
    return any(
        pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
        for pattern in patterns
    )


def any_of(listed: Any, value: str) -> bool:
    """Return whether a list of a rule, such as its verbs, has the value or the wildcard."""
    return bool(listed) and ("*" in listed or value in listed)


def _matches_subject(subject: Object, user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    account = service_account_name(user.name)
    return kind == "ServiceAccount" and account == (subject.get("namespace") or namespace, name)


class Attributes(msgspec.Struct, frozen=True):
    """A request to authorize: for a resource, or, if `path` is set, for a non-resource path."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def text(self) -> str:
        """The request as in error messages: `User "u" cannot get resource "pods" ...`."""
        start = f'User "{self.user.name}" cannot {self.verb}'
        if self.path:
            return f'{start} path "{self.path}"'
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        scope = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'{start} resource "{resource}" in API group "{self.group}" {scope}'


class Decision(msgspec.Struct, frozen=True):
    """The decision, and its reason."""

    allowed: bool
    reason: str = ""


def is_superuser(state: State, user: User) -> bool:
    """Return whether the user may do everything, so that no role is checked."""
    return state.options.authorization == "AlwaysAllow" or MASTERS in user.groups


def decide(state: State, attributes: Attributes) -> Decision:
    """Decide whether the request is allowed."""
    if is_superuser(state, attributes.user):
        return Decision(True)
    rules = Rules(state.store)
    for grant in rules.grants(attributes.user, attributes.namespace):
        if attributes.path:
            allowed = covers_path(grant.rule, attributes.verb, attributes.path)
        else:
            resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
            allowed = covers_resource(grant.rule, attributes.verb, attributes.group, resource, attributes.name)
        if allowed:
            return Decision(True, f"RBAC: allowed by {grant.source}")
    return Decision(False, f"RBAC: {joined([*dict.fromkeys(rules.missing)])}" if rules.missing else "")


def authorize(state: State, attributes: Attributes) -> None:
    """Check that the request is allowed (403)."""
    decision = decide(state, attributes)
    if not decision.allowed:
        raise refusal(attributes, decision.reason)


def refusal(attributes: Attributes, reason: str = "") -> ApiFailure:
    """Return 403: the user is not allowed to do this."""
    detail = f"{attributes.text}: {reason}" if reason else attributes.text
    if attributes.path:
        return ApiFailure(403, "Forbidden", f"forbidden: {detail}", details={}, headers=NO_SNIFFING)
    resource, group, name = attributes.resource, attributes.group, attributes.name
    qualified = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    named = f'{qualified} "{name}"' if name else qualified
    present = {member: value for member, value in details.items() if value}
    return ApiFailure(403, "Forbidden", f"{named} is forbidden: {detail}", details=present, headers=NO_SNIFFING)
