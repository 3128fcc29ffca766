"""How fields of the built-in kinds merge, as the server's modules know it; the facts are `clientgo.meta.mergerules`."""

from clientgo.meta.mergerules import MERGE_KEYS, TYPE_RULES, MergeRule, merge_key, merge_rule

__all__ = ["MERGE_KEYS", "TYPE_RULES", "MergeRule", "merge_key", "merge_rule"]
