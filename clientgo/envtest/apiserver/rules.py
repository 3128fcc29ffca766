"""How the lists and maps of a kind merge, by place: from the table of built-in kinds or from a CRD's schema."""

from functools import lru_cache, partial
from typing import Any

from clientgo.envtest.apiserver.fieldsets import Path, Rules
from clientgo.envtest.apiserver.mergekeys import MergeRule, merge_rule
from clientgo.envtest.apiserver.registry import Resource

_ATOMIC = MergeRule(list_type="atomic")
# Any kind of the table will do: metadata merges the same way in all of them.
_METADATA_OF = "ConfigMap"


def rules_of(resource: Resource) -> Rules:
    """The merge rules of a resource's objects, by path of field names."""
    if not resource.custom:
        return partial(_builtin_rule, resource.kind)
    return SchemaRules(resource.schema or {})


class SchemaRules:
    """Merge rules a structural schema declares with x-kubernetes-list-type, -list-map-keys and -map-type."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def __call__(self, path: Path) -> MergeRule | None:
        """The rule at this place, or None where the schema says nothing."""
        if path[:1] == ("metadata",):
            return _builtin_rule(_METADATA_OF, path)
        schema = self._schema
        for field in path:
            while "items" in schema:
                schema = schema["items"]
            child = schema.get("properties", {}).get(field, schema.get("additionalProperties"))
            if not isinstance(child, dict):
                return None
            schema = child
        return _declared(schema)


@lru_cache(maxsize=4096)
def _builtin_rule(kind: str, path: Path) -> MergeRule | None:
    return merge_rule(kind, path)


def _declared(schema: dict[str, Any]) -> MergeRule | None:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return _ATOMIC
    list_type = schema.get("x-kubernetes-list-type")
    if not list_type:
        return None
    return MergeRule(list_type=list_type, map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())))
