"""Privilege escalation check: users can grant only permissions that they hold.

The writer of a role must hold each of its rules, or the verb `escalate` on it; the writer of a binding must hold the
rules of its role, or the verb `bind` on it.
"""

from collections.abc import Iterable, Iterator
from itertools import product

import msgspec

from clientgo_apiserver.api.gotext import quoted_text
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import forbidden, not_found
from clientgo_apiserver.auth.authorization import (
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
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State

_encode = msgspec.json.Encoder().encode

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


def check_escalation(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that a role or binding grants only what its writer holds (403, 404)."""
    if write.request.internal or is_superuser(state, write.request.user):
        return
    if old is not None and without_owners(new) == without_owners(old):
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
        reason = "must have cluster-admin privileges to use an aggregationRule"
        raise forbidden(write.resource, name, reason)


def _check_binding(state: State, write: Write, binding: Object) -> None:
    reference = binding.get("roleRef") or {}
    cluster = reference.get("kind") == "ClusterRole"
    key, name = CLUSTER_ROLES if cluster else ROLES, reference.get("name", "")
    if _may(state, write, "bind", key[1], name):
        return
    role = state.store.get(key, "" if cluster else write.namespace, name)
    if role is None:
        raise not_found(write.resource, name)  # as a real server, whose reads name the resource of the request
    _confirm(state, write, binding, role.get("rules") or ())


def _may(state: State, write: Write, verb: str, plural: str, name: str) -> bool:
    return decide(state, Attributes(write.request.user, verb, GROUP, "v1", plural, "", write.namespace, name)).allowed


def _confirm(state: State, write: Write, obj: Object, rules: Iterable[RuleObject]) -> None:
    missing = _missing(state, write, rules)
    if missing:
        rules = _joined(missing)
        described = (
            [f"{text}:{_quoted(rule[name])}" for name, text in _SHOWN.items() if rule.get(name)] for rule in rules
        )
        lines = sorted({f"{{{', '.join(fields)}}}" for fields in described})
        who = f'user "{write.request.user.name}" (groups={_quoted(write.request.user.groups)})'
        reason = f"{who} is attempting to grant RBAC permissions not currently held:\n"
        raise forbidden(write.resource, obj["metadata"]["name"], reason + "\n".join(lines))


def _missing(state: State, write: Write, rules: Iterable[RuleObject]) -> list[RuleObject]:
    held = [grant.rule for grant in Rules(state.store).grants(write.request.user, write.namespace)]
    return [
        permission
        for rule in rules
        for permission in _single(rule)
        if not any(_covers(granted, permission) for granted in held)
    ]


def _single(rule: RuleObject) -> Iterator[RuleObject]:
    """Yield the rule as rules of one verb on one resource: the permissions held may come from several rules."""
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ("",)
    for group, resource, name, verb in product(rule.get("apiGroups") or (), rule.get("resources") or (), names, verbs):
        yield {"apiGroups": [group], "resources": [resource], "resourceNames": [name] if name else [], "verbs": [verb]}
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}


def _covers(held: RuleObject, requested: RuleObject) -> bool:
    verb = requested["verbs"][0]
    if "nonResourceURLs" in requested:
        return covers_path(held, verb, requested["nonResourceURLs"][0])
    name = requested["resourceNames"][0] if requested["resourceNames"] else ""
    return covers_resource(held, verb, requested["apiGroups"][0], requested["resources"][0], name)


def _joined(rules: Iterable[RuleObject]) -> list[RuleObject]:
    """Merge rules about the same resource, with all their verbs."""
    merged: dict[bytes, RuleObject] = {}
    for rule in rules:
        if "nonResourceURLs" in rule:
            merged[_encode(rule)] = rule
            continue
        key = _encode({**rule, "verbs": []})
        earlier = merged.setdefault(key, {**rule, "verbs": []})
        earlier["verbs"] += [verb for verb in rule["verbs"] if verb not in earlier["verbs"]]
    return list(merged.values())


def _quoted(words: Iterable[str]) -> str:
    """Format strings like Go's %q of a slice."""
    return f"[{' '.join(map(quoted_text, words))}]"


def without_owners(obj: Object) -> Object:
    """Return the object without its owners and finalizers, which anyone may change."""
    left_out = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
    meta = {field: value for field, value in obj["metadata"].items() if field not in left_out}
    return {**obj, "metadata": meta}
