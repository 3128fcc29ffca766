"""Validation of the objects of built-in kinds by the rule files."""

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import Cause
from clientgo_apiserver.registry.validation.compiler import rules_of


def builtin_errors(resource: Resource, new: Object, old: Object | None, subresource: str = "") -> list[Cause]:
    """Return the errors of the object by the rules of its kind; `old` is the object it replaces.

    An update of a subresource is validated by the rules of the subresource, if the kind has such rules; a status
    without rules is always valid.
    """
    for suffix in (f"/{subresource}", "") if subresource not in ("", "status") else (f"/{subresource}".rstrip("/"),):
        rules = rules_of(f"{resource.kind}.{resource.group}{suffix}") or rules_of(f"{resource.kind}{suffix}")
        if rules is not None:
            return list(rules.errors(new, old))
    return []
