"""How the lists and maps of a kind merge, by place: from the table of built-in kinds or from a CRD's schema."""

from functools import lru_cache, partial
from typing import Any

from clientgo.apiserver.registry.registry import Resource
from clientgo.meta.apply.fieldsets import Path, Rules
from clientgo.meta.apply.mergerules import MergeRule, merge_rule

_MOST = 4096  # of what is remembered
_ATOMIC = MergeRule(list_type="atomic")
# Any kind of the table will do: metadata merges the same way in all of them.
_METADATA_OF = "ConfigMap"


def rules_of(resource: Resource) -> Rules:
    """The merge rules of a resource's objects, by path of field names."""
    if not resource.custom:
        return partial(_builtin_rule, resource.kind)
    schema = resource.schema or {}
    rules = _RULES.get(id(schema))
    if rules is None:
        if len(_RULES) >= _MOST:
            _RULES.clear()
        rules = _RULES[id(schema)] = SchemaRules(schema)
    return rules


class SchemaRules:
    """Merge rules a structural schema declares with x-kubernetes-list-type, -list-map-keys and -map-type."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._known: dict[Path, MergeRule | None] = {}

    def __call__(self, path: Path) -> MergeRule | None:
        """The rule at this place, or None where the schema says nothing."""
        if path in self._known:
            return self._known[path]
        if len(self._known) >= _MOST:
            self._known.clear()  # names of users' making are places too
        rule = self._known[path] = self._find(path)
        return rule

    def _find(self, path: Path) -> MergeRule | None:
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


# By the identity of the schema, which the rules hold, so that it is no other's as long as they are here.
_RULES: dict[int, SchemaRules] = {}


@lru_cache(maxsize=_MOST)
def _builtin_rule(kind: str, path: Path) -> MergeRule | None:
    return merge_rule(kind, path)


def _declared(schema: dict[str, Any]) -> MergeRule | None:
    if schema.get("x-kubernetes-map-type") == "atomic":
        return _ATOMIC
    list_type = schema.get("x-kubernetes-list-type")
    if not list_type:
        return None
    return MergeRule(list_type=list_type, map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())))
