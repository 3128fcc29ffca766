"""Values under validation with their surroundings, and the registry of rule functions."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from clientgo_apiserver.api.status import Cause

RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Iterable[Cause]])


class FieldScope:
    """A value of a type, the value it replaces, and the scope of the enclosing type.

    `errors_of` returns the errors of another value by the rules of a type, and `memo` remembers what several rules of
    an object need; both are those of the root.
    """

    __slots__ = ("_errors_of", "_root", "memo", "name", "old", "parent", "value")

    def __init__(
        self, name: str, value: Any, old: Any, parent: "FieldScope | None" = None, errors_of: "TypeCheck | None" = None
    ) -> None:
        self.name = name
        self.value = value
        self.old = old
        self.parent = parent
        self._root: FieldScope | None = None  # none of the root itself: a cycle would keep the objects
        self._errors_of: TypeCheck | None = errors_of
        if parent is None:
            self.memo: dict[str, Any] = {}
        else:
            self._root, self.memo, self._errors_of = parent.root, parent.memo, parent._errors_of

    def __repr__(self) -> str:
        return f"<FieldScope {self.name}>"

    @property
    def root(self) -> "FieldScope":
        """The scope of the whole object."""
        return self if self._root is None else self._root

    @property
    def updates(self) -> bool:
        """True if the whole object replaces another one."""
        return self.root.old is not None

    def errors_of(self, name: str, value: Any) -> Sequence[Cause]:
        """Return the errors of a value by the rules of this type."""
        assert self._errors_of is not None, "the scope of a type"
        return self._errors_of(name, value, self)

    def enclosing(self, name: str) -> Any:
        """Return the nearest enclosing value of this type, or None."""
        scope: FieldScope | None = self
        while scope is not None and scope.name != name:
            scope = scope.parent
        return None if scope is None else scope.value


TypeCheck = Callable[[str, Any, FieldScope], Sequence[Cause]]
FieldCheck = Callable[[Any, Any, FieldScope], Sequence[Cause]]
"""A compiled rule of a value and the value it replaces, within the scope of their type."""


class RegisteredRule(NamedTuple):
    """A function that the rule files call by its name, and the values that it is called with."""

    function: Callable[..., Iterable[Cause]]
    absent: bool
    """Also called with None, for an absent field."""
    empty: bool
    """Also called for an absent field; accepts every value that is not empty or zero."""
    update: bool
    """Called with a value and the one it replaces, either of which may be None."""


RULES: dict[str, RegisteredRule] = {}
"""Rules by name. Modules register theirs when they are imported."""


def rule(*, absent: bool = False, empty: bool = False, update: bool = False) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function as the rule of its name (see `RegisteredRule`).

    Raises:
        ValueError: there is a rule of this name.
    """

    def register(function: RuleFunction) -> RuleFunction:
        name = function.__name__
        if name in RULES:
            places = f"{RULES[name].function.__module__} and {function.__module__}"
            raise ValueError(f"rule {name!r} is defined twice: in {places}")
        RULES[name] = RegisteredRule(function, absent, empty, update)
        return function

    return register


def within(prefix: str, causes: Iterable[Cause]) -> list[Cause]:
    """Return the errors with fields relative to an enclosing value: `prefix` is `field`, `[index]` or `[key]`."""
    return [Cause(cause.reason, _joined(prefix, cause.field), cause.message) for cause in causes]


def _joined(prefix: str, field: str) -> str:
    return f"{prefix}{'' if not field or field.startswith('[') or not prefix else '.'}{field}"
