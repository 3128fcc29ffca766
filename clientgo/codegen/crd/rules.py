"""Rules in CEL: those given, and those that stand for a shorter word (`immutable`, `exactly_one_of`)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clientgo.meta.constraints import Meta, Rule

_RESERVED = frozenset({
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
    "loop", "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))


def rule_entry(rule: Rule) -> dict[str, Any]:
    """One entry of x-kubernetes-validations; what is not said is left out."""
    entry: dict[str, Any] = {"rule": rule.rule}
    for name, key in (
        ("message", "message"),
        ("message_expression", "messageExpression"),
        ("reason", "reason"),
        ("field_path", "fieldPath"),
    ):
        if value := getattr(rule, name):
            entry[key] = value
    if rule.optional_old_self is not None:
        entry["optionalOldSelf"] = rule.optional_old_self
    return entry


def unchanging() -> Rule:
    """The value stays what it was; a rule that mentions `oldSelf` is only asked when there was one."""
    return Rule(rule="self == oldSelf", message="the field is immutable once set")


def kept(json_name: str) -> Rule:
    """A field that was there stays; for the class that has it, because an absent field asks no rule of its own."""
    name = cel_name(json_name)
    return Rule(
        rule=f"!has(oldSelf.{name}) || has(self.{name})",
        message=f"field {json_name} is immutable once set: it may not be unset",
    )


def choice_rules(meta: Meta, json_names: Mapping[str, str]) -> Iterator[Rule]:
    """The rules for the fields of which some may be set; `json_names` by attribute.

    Raises:
        KeyError: no field is called like that.
    """
    for words, comparison, names in (
        ("at most one", "<= 1", meta.at_most_one_of),
        ("exactly one", "== 1", meta.exactly_one_of),
        ("at least one", ">= 1", meta.at_least_one_of),
    ):
        if names:
            told = [json_names[name] for name in names]
            yield Rule(rule=_counted(told, comparison), message=f"{words} of the fields {', '.join(told)} must be set")


def _counted(json_names: Sequence[str], comparison: str) -> str:
    if comparison == ">= 1":
        return " || ".join(f"has(self.{cel_name(name)})" for name in json_names)
    return " + ".join(f"(has(self.{cel_name(name)}) ? 1 : 0)" for name in json_names) + f" {comparison}"


def cel_name(json_name: str) -> str:
    """A property as CEL calls it: what is no name there, or a word of the language, is escaped."""
    if json_name in _RESERVED:
        return f"__{json_name}__"
    for text, escape in _ESCAPES:
        json_name = json_name.replace(text, escape)
    return json_name
