"""Changes of nested fields: `change` selects a part of an object and returns a copy with that part changed.

    deployment = change(deployment, lambda d: d.spec.replicas).to(3)
    deployment = change(deployment, lambda d: d.metadata.labels["app"]).to("web")
    deployment = change(deployment, lambda d: d.spec.template.spec.containers[0].image).to("nginx:1.29")
    deployment = change(deployment, lambda d: d.spec.replicas).by(lambda n: (n or 0) + 1)

Type checkers find wrong names and types at every level, with every Python version, because the function that selects
the part is an ordinary expression.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar, cast

import msgspec

from clientgo.meta.codec import replace

T = TypeVar("T")
V = TypeVar("V")

_ABSENT: Any = object()


class FieldChange(Generic[T, V]):
    """Selected part of an object; `to` and `by` return the changed object."""

    __slots__ = ("_obj", "_path")

    def __init__(self, obj: T, path: "tuple[_Step, ...]") -> None:
        self._obj = obj
        self._path = path

    def __repr__(self) -> str:
        return f"<FieldChange {_text(self._path)}>"

    def to(self, value: V) -> T:
        """Return a copy of the object with `value` in that place."""
        return self._copy(lambda _: value)

    def by(self, function: Callable[[V], V]) -> T:
        """Return a copy of the object with `function(value)` in place of the value; KeyError if a key is absent."""

        def changed(value: V) -> V:
            if value is _ABSENT:
                raise KeyError(_text(self._path))
            return function(value)

        return self._copy(changed)

    def _copy(self, function: Callable[[V], V]) -> T:
        copied: T = _copy(self._obj, self._path, function)
        return copied


def change(obj: T, part: Callable[[T], V]) -> FieldChange[T, V]:
    """Select a part of `obj`, to be changed in a copy: `change(pod, lambda p: p.metadata.labels).to({})`.

    `part` returns an attribute, a list item or a map entry at any depth. It may look for a list item by comparing
    values: `next(c for c in pod.spec.containers if c.name == "web").image`. An optional field that is None has no
    parts: change the field itself.

    Raises:
        TypeError: `part` returned something else, or a part of None.
        AttributeError, LookupError: there is no such part; the last key of a map may be absent.
    """
    try:
        selected: Any = part(cast(T, _Place(obj, ())))
    except StopIteration:
        raise LookupError(f"cannot change a part of this {type(obj).__name__}: no list item matches") from None
    if not isinstance(selected, _Place):
        raise TypeError(f"cannot change {selected!r}: expected a part of the object, such as lambda pod: pod.spec")
    return FieldChange(obj, selected._path)


class _Step(msgspec.Struct, frozen=True):
    """Step from a value to a part of it."""

    key: Any
    is_attribute: bool

    def __str__(self) -> str:
        return f".{self.key}" if self.is_attribute else f"[{self.key!r}]"


class _Place:
    """Value of a part and the path to it; compares and iterates like the value."""

    __slots__ = ("_path", "_value")

    def __init__(self, value: Any, path: tuple[_Step, ...]) -> None:
        self._value = value
        self._path = path

    def __getattr__(self, name: str) -> "_Place":
        return self._part(name, getattr(self._existing(), name), is_attribute=True)

    def __getitem__(self, key: Any) -> "_Place":
        value = self._existing()
        if isinstance(value, Mapping):
            return self._part(key, value.get(key, _ABSENT))
        if not isinstance(value, list | tuple):
            raise TypeError(
                f"cannot change {_text(self._path)}[{key!r}]: not a list or map, but {type(value).__name__}"
            )
        return self._part(key, value[key])

    def __iter__(self) -> Iterator[Any]:
        value = self._existing()
        if isinstance(value, Mapping):
            return iter(value)
        return (self._part(index, item) for index, item in enumerate(value))

    def __len__(self) -> int:
        return len(self._existing())

    def __bool__(self) -> bool:
        return self._value is not _ABSENT and bool(self._value)

    def __eq__(self, other: object) -> bool:
        return bool(self._value == (other._value if isinstance(other, _Place) else other))

    def __hash__(self) -> int:
        return hash(self._value)

    def _part(self, key: Any, value: Any, *, is_attribute: bool = False) -> "_Place":
        return _Place(value, (*self._path, _Step(key, is_attribute)))

    def _existing(self) -> Any:
        if self._value is _ABSENT:
            raise KeyError(_text(self._path))
        if self._value is None:
            raise TypeError(f"cannot change a part of {_text(self._path)}: it is None; change the field itself")
        return self._value


def _text(path: tuple[_Step, ...]) -> str:
    return "".join(map(str, path)).removeprefix(".")


def _copy(value: Any, path: tuple[_Step, ...], function: Callable[[Any], Any]) -> Any:
    if not path:
        return function(value)
    step, *steps = path
    if step.is_attribute:
        return replace(value, **{step.key: _copy(getattr(value, step.key), tuple(steps), function)})
    if isinstance(value, Mapping):
        return {**value, step.key: _copy(value.get(step.key, _ABSENT), tuple(steps), function)}
    items = [*value]
    items[step.key] = _copy(items[step.key], tuple(steps), function)
    return tuple(items) if isinstance(value, tuple) else items
