"""Permissions limited to one namespace: for a controller that watches one, and is given no more.

What belongs to no namespace (nodes, reviews, a cluster-scoped kind, URLs) can't be limited and stays in a ClusterRole.
Nothing else does: resources of a group that nobody here knows are taken to be namespaced.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from clientgo.kubernetes import clients
from clientgo.meta.declarations import RbacRule
from clientgo.meta.scheme import ApiType, api_of
from clientgo.typed.create import CreateClient


def limited(rules: Iterable[RbacRule], namespace: str, own: Mapping[str, ApiType]) -> Iterator[RbacRule]:
    """The rules, those without a namespace of their own limited to this one; `own` kinds by their group resource."""
    known = {**_built_in(), **own}
    for rule in rules:
        if rule.namespace or rule.urls:
            yield rule
            continue
        for group in rule.groups:
            for resource in rule.resources:
                api = known.get(_group_resource(group, resource))
                where = namespace if api is None or api.namespaced else ""
                yield replace(rule, groups=(group,), resources=(resource,), namespace=where)


def _group_resource(group: str, resource: str) -> str:
    plural = resource.partition("/")[0]
    return plural if group in ("", "core") else f"{plural}.{group}"


def _built_in() -> dict[str, ApiType]:
    found = {}
    for module in pkgutil.iter_modules(clients.__path__):
        for value in vars(importlib.import_module(f"{clients.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, CreateClient) and "kind" in vars(value):
                api = api_of(value.kind)
                found[api.gvr.group_resource] = api
    return found
