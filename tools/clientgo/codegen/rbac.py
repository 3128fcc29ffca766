"""Roles from declared permissions, with the fewest rules, in an order that does not depend on the declarations.

Rules are split by resource and merged in four steps: verbs of equal rules, then resources, groups and URLs of rules
that are otherwise equal.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from clientgo.codegen.model import Kind
from clientgo.meta.declarations import RbacRule
from clientgo.meta.objects import GroupVersionResource
from clientgo.meta.scheme import ApiType, api_of

Manifest = dict[str, Any]

_EDITOR = ("create", "delete", "get", "list", "patch", "update", "watch")
_VIEWER = ("get", "list", "watch")


def roles(rules: Iterable[RbacRule], role_name: str) -> list[Manifest]:
    """Return the ClusterRole of that name, and a Role for each namespace of restricted permissions."""
    by_role: dict[tuple[str, str], list[RbacRule]] = {}
    for rule in rules:
        by_role.setdefault((rule.namespace, rule.role_name or role_name), []).extend(_parted(rule))
    return [_role(name, namespace, merged(role_rules)) for (namespace, name), role_rules in sorted(by_role.items())]


def _parted(rule: RbacRule) -> list[RbacRule]:
    plain = RbacRule(
        groups=_sorted("" if group == "core" else group for group in rule.groups),
        resource_names=_sorted(rule.resource_names),
        urls=_sorted(rule.urls),
        verbs=_sorted(rule.verbs),
    )
    return [replace(plain, resources=(resource,)) for resource in rule.resources] or [plain]


def merged(rules: Sequence[RbacRule]) -> list[RbacRule]:
    """Merge rules into the fewest equivalent ones, sorted."""
    for field in ("verbs", "resources", "groups", "urls"):
        values: dict[RbacRule, tuple[str, ...]] = {}
        for rule in rules:
            other_fields = replace(rule, **{field: ()})
            values[other_fields] = (*values.get(other_fields, ()), *getattr(rule, field))
        rules = [_all_verbs(replace(rule, **{field: _sorted(field_values)})) for rule, field_values in values.items()]
    return sorted(rules, key=lambda r: (r.groups, r.resources, r.resource_names, r.urls))


def _all_verbs(rule: RbacRule) -> RbacRule:
    return replace(rule, verbs=("*",)) if "*" in rule.verbs else rule


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _role(name: str, namespace: str, rules: Iterable[RbacRule]) -> Manifest:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [_rule(rule) for rule in rules],
    }


def _rule(rule: RbacRule) -> Manifest:
    manifest = {
        "apiGroups": rule.groups,
        "nonResourceURLs": rule.urls,
        "resourceNames": rule.resource_names,
        "resources": rule.resources,
        "verbs": rule.verbs,
    }
    return {key: list(values) for key, values in manifest.items() if values}


def user_roles(kind: Kind, *, whole_name: bool = False) -> Mapping[str, Manifest]:
    """Return the admin, editor and viewer ClusterRoles of a kind by file name.

    With `whole_name`, names include the group: for all but the first of several kinds with the same name.
    """
    name = f"{kind.api.group}_{kind.api.kind.lower()}" if whole_name else kind.api.kind.lower()
    return {
        f"{name}_{who}_role.yaml": _user_role(kind, f"{name.replace('_', '-')}-{who}-role", verbs)
        for who, verbs in (("admin", ("*",)), ("editor", _EDITOR), ("viewer", _VIEWER))
    }


def _user_role(kind: Kind, name: str, verbs: tuple[str, ...]) -> Manifest:
    api = kind.api
    rules = [RbacRule(groups=(api.group,), resources=(api.plural,), verbs=verbs)]
    if api.status:
        rules.append(RbacRule(groups=(api.group,), resources=(f"{api.plural}/status",), verbs=("get",)))
    return _role(name, "", rules)


def limited(rules: Iterable[RbacRule], namespace: str, custom: Iterable[ApiType]) -> Iterator[RbacRule]:
    """Restrict rules without a namespace to this one; `custom` are the kinds of CRDs.

    Cluster-scoped resources and URLs stay unrestricted. Resources of unknown kinds are assumed to be namespaced.
    """
    kinds = built_in_kinds() | {api.gvr.group_resource: api for api in custom}
    for rule in rules:
        if rule.namespace or rule.urls:
            yield rule
            continue
        for group in rule.groups:
            for resource in rule.resources:
                plural = resource.partition("/")[0]
                api = kinds.get(GroupVersionResource("" if group == "core" else group, "", plural).group_resource)
                role_namespace = namespace if api is None or api.namespaced else ""
                yield replace(rule, groups=(group,), resources=(resource,), namespace=role_namespace)


def built_in_kinds() -> dict[str, ApiType]:
    """Return the built-in kinds that the library has clients of, by group resource."""
    # Imported here, 400 ms: only declared permissions and webhooks need all groups.
    from clientgo.kubernetes.scheme import KINDS  # noqa: PLC0415

    return {api.gvr.group_resource: api for api in map(api_of, KINDS) if api.verbs}
