"""Values under validation with their surroundings, and the marks of rule functions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from clientgo.apiserver.http.status import Cause

RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Iterable[Cause]])
_ABSENT, _EMPTY, _UPDATE = set[str](), set[str](), set[str]()


class FieldScope:
    """A value of a type, the value it replaces, and the scope of the enclosing type."""

    __slots__ = ("name", "old", "parent", "root", "value")

    def __init__(self, name: str, value: Any, old: Any, parent: "FieldScope | None" = None) -> None:
        self.name = name
        self.value = value
        self.old = old
        self.parent = parent
        self.root: FieldScope = parent.root if parent else self

    def __repr__(self) -> str:
        return f"<FieldScope {self.name}>"

    @property
    def updates(self) -> bool:
        """True if the whole object replaces another one."""
        return self.root.old is not None

    def enclosing(self, name: str) -> Any:
        """Return the nearest enclosing value of this type, or None."""
        scope: FieldScope | None = self
        while scope is not None and scope.name != name:
            scope = scope.parent
        return None if scope is None else scope.value


FieldCheck = Callable[[Any, Any, FieldScope], Sequence[Cause]]
"""A compiled rule of a value and the value it replaces, within the scope of their type."""


def on_absent(rule: RuleFunction) -> RuleFunction:
    """Mark a rule that is also called with None, for an absent field."""
    _ABSENT.add(rule.__name__)
    return rule


def on_empty(rule: RuleFunction) -> RuleFunction:
    """Mark a rule that is also called for an absent field, and accepts every value that is not empty or zero."""
    _EMPTY.add(rule.__name__)
    return on_absent(rule)


def on_update(rule: RuleFunction) -> RuleFunction:
    """Mark a rule that compares a value with the one it replaces; either may be None."""
    _UPDATE.add(rule.__name__)
    return rule


def reads_absent(rule: Callable[..., Any]) -> bool:
    """Return whether the rule is called for absent fields."""
    return rule.__name__ in _ABSENT


def accepts_filled(rule: Callable[..., Any]) -> bool:
    """Return whether the rule accepts every value that is not empty or zero."""
    return rule.__name__ in _EMPTY


def compares(rule: Callable[..., Any]) -> bool:
    """Return whether the rule compares a value with the one it replaces."""
    return rule.__name__ in _UPDATE


def within(prefix: str, causes: Iterable[Cause]) -> list[Cause]:
    """Return the errors with fields relative to an enclosing value: `prefix` is `field`, `[index]` or `[key]`."""
    return [Cause(one.reason, _joined(prefix, one.field), one.message) for one in causes]


def _joined(prefix: str, field: str) -> str:
    return f"{prefix}{'' if not field or field.startswith('[') or not prefix else '.'}{field}"
