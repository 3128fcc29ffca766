"""YAML input: the values that kubectl reads, of a limited size, or one kind of error.

Values are built from the events of the parser: neither deep nesting, nor aliases and merges that a few hundred bytes
expand to billions of values, go beyond the limits.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from clientgo.meta.yamlio.scalars import key_of, plain_scalar, tagged_scalar

MAX_VALUES = 1_000_000
"""Maximum number of values, aliases included; the largest bundles of CRDs have some hundred thousand."""

MAX_DEPTH = 200
"""Maximum nesting, because readers are recursive; schemas have some 30 levels."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE: Any = object()
_NO_KEY: Any = object()


class InvalidYAML(ValueError):
    """Invalid YAML; the message does not contain its `line` (counted from 1, 0 if unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class TooDeepYAML(InvalidYAML):
    """YAML with too many levels of nesting, aliases included."""


class TooLargeYAML(InvalidYAML):
    """YAML with too many values, aliases included."""


def read_yaml(text: str) -> list[Any]:
    """Return the documents in `text`; empty ones are None. Values are those of JSON: a date, for example, is a text.

    Raises:
        InvalidYAML: it is invalid.
        TooDeepYAML, TooLargeYAML: it exceeds `MAX_DEPTH` levels or `MAX_VALUES` values.
    """
    return list(iterate_yaml(text))


def read_document(text: str) -> Any:
    """Return the only document in `text`, besides empty ones such as after a last `---`; None if all are empty.

    Raises:
        InvalidYAML: it is invalid, or has several documents.
    """
    documents = [document for document in read_yaml(text) if document is not None]
    if len(documents) > 1:
        raise InvalidYAML(f"expected one document, got {len(documents)}")
    return documents[0] if documents else None


def iterate_yaml(text: str | bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Iterator[Any]:
    """Yield the documents as `read_yaml` returns them, within these limits; an error is raised when it is reached."""
    builder = _Builder(max_depth, max_values)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.add(event)
            if event.__class__ is yaml.DocumentEndEvent:
                yield builder.document
    except UnicodeError as error:
        raise InvalidYAML(str(error)) from error
    except yaml.YAMLError as error:
        raise _invalid(error, text, max_depth) from error


def _invalid(error: yaml.YAMLError, text: str | bytes, max_depth: int) -> InvalidYAML:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    # The end of the text may be reported as the line after the last one.
    last = text.rstrip().count("\n" if isinstance(text, str) else b"\n") + 1  # type: ignore[arg-type]
    line = min(mark.line + 1, last) if mark is not None else 0
    if "nesting depth" in problem:  # a limit of PyYAML's C library since 0.2.6, which looks ahead
        return _too_deep(max_depth, line)
    return InvalidYAML(" ".join(str(problem).split()), line)


def _too_deep(max_depth: int, line: int) -> TooDeepYAML:
    return TooDeepYAML(f"more than {max_depth} levels of nesting", line)


class _Collection:
    """An open list or map."""

    __slots__ = ("anchor", "height", "key", "start", "value")

    def __init__(self, value: Any, anchor: str | None, start: int) -> None:
        self.value = value
        self.anchor = anchor
        self.start = start  # values before it
        self.height = 0  # levels below it
        self.key = _NO_KEY

    def add(self, value: Any) -> None:
        """Add an item of a list, or a key or value of a map."""
        if self.value.__class__ is list:
            self.value.append(value)
        elif self.key is _NO_KEY:
            self.key = value if value is _MERGE else key_of(value)
        elif self.key is _MERGE:
            self.key = _NO_KEY
            self._merge(value)
        else:
            self.value[self.key] = value
            self.key = _NO_KEY

    def _merge(self, value: Any) -> None:
        for each in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(each, dict):
                raise ValueError("map merge requires map or sequence of maps as the value")
            self.value.update(each)


class _Builder:
    """Builder of documents from events."""

    def __init__(self, max_depth: int, max_values: int) -> None:
        self.document: Any = None
        self._max_depth = max_depth
        self._max_values = max_values
        self._values = 0
        self._depth = 0
        self._open: list[_Collection] = []
        self._anchors: dict[str, tuple[Any, int, int] | None] = {}
        """Value, number of values, and height, by the anchor; None while its collection is open."""
        self._add_by_type = {
            yaml.ScalarEvent: self._add_scalar,
            yaml.MappingStartEvent: self._open_map,
            yaml.SequenceStartEvent: self._open_list,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._add_alias,
            yaml.DocumentStartEvent: self._begin,
        }

    def add(self, event: yaml.Event) -> None:
        """Add an event; raise InvalidYAML if a value is invalid or exceeds a limit."""
        add = self._add_by_type.get(event.__class__)
        if add is None:
            return
        try:
            add(event)
        except ValueError as error:
            raise InvalidYAML(str(error), _line(event)) from error
        if self._values > self._max_values:
            raise TooLargeYAML(f"more than {self._max_values} values", _line(event))
        if self._depth > self._max_depth:
            raise _too_deep(self._max_depth, _line(event))

    def _begin(self, event: Any) -> None:
        del event
        self._anchors.clear()

    def _add_scalar(self, event: Any) -> None:
        text, tag = event.value, event.tag
        is_plain = event.implicit[0] and tag is None
        if is_plain:
            opened = self._open[-1] if self._open else None
            is_merge = text == "<<" and opened is not None and opened.key is _NO_KEY and isinstance(opened.value, dict)
            value = _MERGE if is_merge else plain_scalar(text)
        else:
            value = text if tag is None else tagged_scalar(text, tag)
        if event.anchor is not None:
            self._anchors[event.anchor] = text if value is _MERGE else value, 1, 0
        self._place(value, 1, 0)

    def _open_map(self, event: Any) -> None:
        self._open_collection({}, event.anchor)

    def _open_list(self, event: Any) -> None:
        self._open_collection([], event.anchor)

    def _open_collection(self, value: Any, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = None
        self._open.append(_Collection(value, anchor, self._values))
        self._depth = max(self._depth, len(self._open))

    def _close(self, event: Any) -> None:
        del event
        closed = self._open.pop()
        size, height = self._values - closed.start + 1, closed.height + 1
        if closed.anchor is not None:
            self._anchors[closed.anchor] = closed.value, size, height
        self._place(closed.value, 1, height)

    def _add_alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise ValueError(f"unknown anchor {event.anchor!r} referenced")
        placed = self._anchors[event.anchor]
        if placed is None:
            raise ValueError(f"anchor {event.anchor!r} value contains itself")
        self._place(*placed)

    def _place(self, value: Any, size: int, height: int) -> None:
        self._values += size
        if not self._open:
            self.document = value
            return
        opened = self._open[-1]
        if height > opened.height:
            opened.height = height
            self._depth = max(self._depth, len(self._open) + height)
        opened.add(value)


def _line(event: Any) -> int:
    return int(getattr(event.start_mark, "line", -1)) + 1
