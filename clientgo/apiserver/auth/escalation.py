"""Privilege escalation: users can grant only permissions that they hold.

As in Kubernetes, a user who writes a role must hold each of its rules, or the verb `escalate` on it; a user who binds a
role must hold its rules, or the verb `bind` on it.
"""

from collections.abc import Iterable, Iterator
from itertools import product

import msgspec

from clientgo.apiserver.auth.authorization import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLE_BINDINGS,
    ROLES,
    Attributes,
    RuleObject,
    Rules,
    covers_path,
    covers_resource,
    decide,
    is_superuser,
)
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.status import forbidden, not_found
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.state import State

_EVERYTHING: tuple[RuleObject, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_SHOWN = {
    "apiGroups": "APIGroups",
    "resources": "Resources",
    "nonResourceURLs": "NonResourceURLs",
    "resourceNames": "ResourceNames",
    "verbs": "Verbs",
}
_encode = msgspec.json.Encoder().encode


def check_escalation(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that a role or binding grants only what its writer holds (403, 404)."""
    if write.internal or is_superuser(state, write.user):
        return
    if old is not None and _without(new) == _without(old):
        return
    storage = write.resource.storage
    if storage in (ROLES, CLUSTER_ROLES):
        _check_role(state, write, new)
    elif storage in (ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS):
        _check_binding(state, write, new)


def _check_role(state: State, write: Write, role: Object) -> None:
    name = role["metadata"]["name"]
    if _may(state, write, "escalate", write.resource.plural, name):
        return
    _confirm(state, write, role, role.get("rules") or ())
    if role.get("aggregationRule") and _missing(state, write, _EVERYTHING):
        why = "must have cluster-admin privileges to use an aggregationRule"
        raise forbidden(write.resource, name, why)


def _check_binding(state: State, write: Write, binding: Object) -> None:
    reference = binding.get("roleRef") or {}
    cluster = reference.get("kind") == "ClusterRole"
    key, name = CLUSTER_ROLES if cluster else ROLES, reference.get("name", "")
    if _may(state, write, "bind", key[1], name):
        return
    role = state.store.get(key, "" if cluster else write.namespace, name)
    if role is None:
        served = state.registry.find(GROUP, "v1", key[1])
        assert served is not None, "roles are built in"
        raise not_found(served, name)
    _confirm(state, write, binding, role.get("rules") or ())


def _may(state: State, write: Write, verb: str, plural: str, name: str) -> bool:
    return decide(state, Attributes(write.user, verb, GROUP, "v1", plural, "", write.namespace, name)).allowed


def _confirm(state: State, write: Write, obj: Object, rules: Iterable[RuleObject]) -> None:
    missing = _missing(state, write, rules)
    if missing:
        rules = _joined(missing)
        shown = ([f"{text}:{_quoted(rule[name])}" for name, text in _SHOWN.items() if rule.get(name)] for rule in rules)
        lines = sorted({f"{{{', '.join(fields)}}}" for fields in shown})
        who = f'user "{write.user.name}" (groups={_quoted(write.user.groups)})'
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n"
        raise forbidden(write.resource, obj["metadata"]["name"], why + "\n".join(lines))


def _missing(state: State, write: Write, rules: Iterable[RuleObject]) -> list[RuleObject]:
    held = [grant.rule for grant in Rules(state.store).grants(write.user, write.namespace)]
    return [one for rule in rules for one in _single(rule) if not any(_covers(own, one) for own in held)]


def _single(rule: RuleObject) -> Iterator[RuleObject]:
    """Yield the rule as rules of one verb on one resource: the permissions held may come from several rules."""
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ("",)
    for group, resource, name, verb in product(rule.get("apiGroups") or (), rule.get("resources") or (), names, verbs):
        yield {"apiGroups": [group], "resources": [resource], "resourceNames": [name] if name else [], "verbs": [verb]}
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(held: RuleObject, wanted: RuleObject) -> bool:
    verb = wanted["verbs"][0]
    if "nonResourceURLs" in wanted:
        return covers_path(held, verb, wanted["nonResourceURLs"][0])
    name = wanted["resourceNames"][0] if wanted["resourceNames"] else ""
    return covers_resource(held, verb, wanted["apiGroups"][0], wanted["resources"][0], name)


def _joined(rules: Iterable[RuleObject]) -> list[RuleObject]:
    """Merge rules about the same resource, with all their verbs."""
    found: dict[bytes, RuleObject] = {}
    for rule in rules:
        if "nonResourceURLs" in rule:
            found[_encode(rule)] = rule
            continue
        place = _encode({**rule, "verbs": []})
        known = found.setdefault(place, {**rule, "verbs": []})
        known["verbs"] += [verb for verb in rule["verbs"] if verb not in known["verbs"]]
    return list(found.values())


def _quoted(words: Iterable[str]) -> str:
    """Format strings like Go's %q of a slice."""
    return f"[{' '.join(_encode(word).decode() for word in words)}]"


def _without(obj: Object) -> Object:
    """Return the object without its owners and finalizers, which anyone may change."""
    left_out = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
    meta = {field: value for field, value in obj["metadata"].items() if field not in left_out}
    return {**obj, "metadata": meta}
