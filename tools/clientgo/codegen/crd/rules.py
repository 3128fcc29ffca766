"""CEL rules, including those for constraints such as `immutable` and `exactly_one_of`."""

from collections.abc import Iterator, Mapping, Sequence

from clientgo.meta.constraints import Meta, Rule, cel_name

UNCHANGING = Rule(rule="self == oldSelf", message="the field is immutable once set")
"""Rule for immutable values; rules with `oldSelf` are only evaluated on updates."""


def kept(json_name: str) -> Rule:
    """Return the rule against unsetting a field; it belongs to the class, because absent fields evaluate no rules."""
    name = cel_name(json_name)
    return Rule(
        rule=f"!has(oldSelf.{name}) || has(self.{name})",
        message=f"field {json_name} is immutable once set: it may not be unset",
    )


def choice_rules(meta: Meta, json_names: Mapping[str, str]) -> Iterator[Rule]:
    """Yield the rules for the number of set fields; `json_names` are by attribute, KeyError if one is unknown."""
    for words, comparison, names in (
        ("at most one", "<= 1", meta.at_most_one_of),
        ("exactly one", "== 1", meta.exactly_one_of),
        ("at least one", ">= 1", meta.at_least_one_of),
    ):
        if names:
            listed = [json_names[name] for name in names]
            yield Rule(
                rule=_counted(listed, comparison), message=f"{words} of the fields {', '.join(listed)} must be set"
            )


def _counted(json_names: Sequence[str], comparison: str) -> str:
    if comparison == ">= 1":
        return " || ".join(f"has(self.{cel_name(name)})" for name in json_names)
    return " + ".join(f"(has(self.{cel_name(name)}) ? 1 : 0)" for name in json_names) + f" {comparison}"
