r"""Selectors: the text forms of label selectors and field selectors, parsed into values that match.

Labels: app=nginx, tier!=cache, env in (prod,test), zone notin (a), gpu, !spot, replicas>3

Fields: metadata.name=a,status.phase!=Failed; `\,`, `\=` and `\\` stand for the characters themselves.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from clientgo.errors import Restorable
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.jsonvalues import canonical

_TOKEN = lazy_pattern(r"\s*(==|!=|=|!|,|\(|\)|>|<|[^\s=!,()<>]+)")
_NAME = lazy_pattern(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_PREFIX = lazy_pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_INTEGER = lazy_pattern(r"([+-]?)0*([0-9]{1,19})")
_OPERATORS = {"=": "=", "==": "=", "!=": "!=", ">": ">", "<": "<"}
_SPECIAL = frozenset(("==", "!=", "=", "!", ",", "(", ")", ">", "<", ""))

_CHECKS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "=": lambda value, values: value in values,
    "in": lambda value, values: value in values,
    "!=": lambda value, values: value not in values,
    "notin": lambda value, values: value not in values,
    "exists": lambda value, _: value is not None,
    "!": lambda value, _: value is None,
}


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label; `operator` is one of = != in notin exists ! > <."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether labels match; as in Kubernetes, `!=` and `notin` match an absent label."""
        value = labels.get(self.key)
        check = _CHECKS.get(self.operator)
        if check is not None:
            return check(value, self.values)
        number, bound = _int64(value or ""), _int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator == ">" else number < bound

    def __str__(self) -> str:
        if self.operator in ("exists", "!"):
            return f"{self.operator.removeprefix('exists')}{self.key}"
        values = ",".join(self.values)
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({values})"
        return f"{self.key}{self.operator}{values}"


class Selector(msgspec.Struct, frozen=True):
    """All of its requirements must hold; none at all matches everything. Prints as what `parse_selector` reads.

    A selector that matches nothing prints as a contradiction, because an empty text selects everything.
    """

    requirements: tuple[Requirement, ...] = ()

    @property
    def empty(self) -> bool:
        """True if it matches all labels."""
        return not self.requirements

    @property
    def impossible(self) -> bool:
        """True for the selector that matches nothing."""
        return self.requirements == _NOTHING.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Report whether the labels match every requirement."""
        return all(r.matches(labels) for r in self.requirements)

    def __str__(self) -> str:
        return ",".join(str(r) for r in self.requirements)


class SelectorField(Protocol):
    """Label selector in a spec, such as the built-in type `LabelSelector`."""

    @property
    def match_labels(self) -> Mapping[str, str]:
        """Labels that must all match."""

    @property
    def match_expressions(self) -> Sequence[Any]:
        """Expressions that must all hold: each has a key, an operator such as NotIn, and values."""


SelectorLike = str | Selector | Mapping[str, str] | SelectorField
"""A label selector as clients accept it: text, a parsed one, labels that must all match, or that of a spec."""

EXPRESSION_OPERATORS: Mapping[str, str] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
"""Operators of requirements by those of the expressions in a spec."""

_EVERYTHING = Selector()
_NOTHING = Selector((Requirement("nothing", "exists"), Requirement("nothing", "!")))


def everything() -> Selector:
    """Return a selector that matches all objects."""
    return _EVERYTHING


def nothing() -> Selector:
    """Return a selector that matches no object."""
    return _NOTHING


def selector_for(labels: Mapping[str, str]) -> Selector:
    """Return a selector for objects with all of these labels.

    Raises:
        ValueError: a label is invalid, so that no object has it.
    """
    for key, value in labels.items():
        if not (isinstance(key, str) and is_qualified_name(key)):
            raise SelectorError(repr(labels), f"{key!r} is not a valid label key")
        if not (isinstance(value, str) and is_label_value(value)):
            raise SelectorError(repr(labels), f"{value!r} is not a valid label value")
    return Selector(tuple(Requirement(key, "=", (value,)) for key, value in sorted(labels.items())))


def selector_of(selector: SelectorLike) -> Selector:
    """Return the selector of a text, of labels, or of a `LabelSelector` of a spec; a selector as it is.

    Raises:
        ValueError: it is invalid.
        TypeError: it is neither text, a selector, nor a map of labels.
    """
    if isinstance(selector, str):
        return parse_selector(selector)
    if isinstance(selector, Mapping):
        return selector_for(selector)
    if isinstance(selector, Selector):
        return selector
    return _of_field(selector)


def selector_text(selector: SelectorLike) -> str:
    """Return a selector in the form of text, which is sent unchanged; raises like `selector_of`."""
    return selector if isinstance(selector, str) else str(selector_of(selector))


def _of_field(selector: SelectorField) -> Selector:
    """Return a selector in a spec as a value; without any requirement it selects everything, as in Kubernetes."""
    try:
        labels, expressions = selector.match_labels, selector.match_expressions
    except AttributeError:
        raise TypeError(
            f"invalid label selector {selector!r:.100}: expected text such as app=web, or a dict of labels"
        ) from None
    requirements = [*selector_for(labels or {}).requirements, *map(_of_expression, expressions or ())]
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def _of_expression(expression: Any) -> Requirement:
    key, values = expression.key, tuple(sorted(expression.values or ()))
    operator, text = EXPRESSION_OPERATORS.get(expression.operator), f"{key} {expression.operator} ({','.join(values)})"
    if operator is None or bool(values) != (operator in ("in", "notin")):
        raise SelectorError(text, "expected In or NotIn with values, or Exists or DoesNotExist without")
    if not is_qualified_name(key):
        raise SelectorError(text, f"{key!r} is not a valid label key")
    for value in values:
        if not is_label_value(value):
            raise SelectorError(text, f"{value!r} is not a valid label value")
    return Requirement(key, operator, values)


def parse_selector(text: str) -> Selector:
    """Read a selector.

    Raises:
        ValueError: one sentence that names the text and what is wrong in it.
    """
    return Selector(tuple(sorted(_Parser(text).requirements(), key=lambda r: r.key))) if text.strip() else _EVERYTHING


def _int64(text: str) -> int | None:
    # What Go's ParseInt reads. int() alone would also read "1_000", which may well be a label's value.
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    number = int(match[1] + match[2])
    return number if -(2**63) <= number < 2**63 else None


def is_qualified_name(text: str) -> bool:
    """Return whether a text may be the key of a label or the name of a controller: `app` or `example.com/app`."""
    prefix, slash, name = text.rpartition("/")
    has_prefix = _PREFIX.match(prefix) is not None and len(prefix) <= 253
    return _NAME.match(name) is not None and len(name) <= 63 and (has_prefix or not slash)


def is_label_value(text: str) -> bool:
    """Return whether a text may be the value of a label."""
    return not text or (_NAME.match(text) is not None and len(text) <= 63)


class SelectorError(Restorable, ValueError):
    """An invalid label selector.

    `reason` is in Kubernetes' words, unless `key` or `value` is: the invalid key, or the invalid value of a valid key
    with its position.
    """

    def __init__(self, text: str, reason: str, *, key: str = "", value: tuple[int, str] | None = None) -> None:
        super().__init__(f"unable to parse label selector {text!r}: {reason}")
        self.reason = reason
        self.key = key
        self.value = value


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._at = 0

    def requirements(self) -> Iterator[Requirement]:
        if self._at_special():
            raise self._error(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
        while True:
            yield self._requirement()
            symbol = self._next()
            if symbol == "":
                return
            if symbol != ",":
                raise self._error(f"found '{symbol}', expected: ',' or 'end of string'")
            if self._at_special():
                raise self._error(f"found '{self._peek()}', expected: identifier after ','")

    def _split(self) -> Iterator[str]:
        at = 0
        while at < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, at)
            if match is None:  # pragma: no cover - every character belongs to some symbol
                raise self._error(f"unexpected {self._text[at:]!r}")
            yield match[1]
            at = match.end()

    def _requirement(self) -> Requirement:
        if self._peek() == "!":
            self._next()
            return Requirement(self._key(), "!")
        key, operator = self._key(), self._peek()
        if operator in ("", ","):
            return Requirement(key, "exists")
        self._next()
        if operator in _OPERATORS:
            return self._compared(key, _OPERATORS[operator])
        if operator in ("in", "notin"):
            return Requirement(key, operator, self._values(key))
        raise self._invalid(operator, ", expected: in, notin, =, ==, !=, gt, lt")

    def _compared(self, key: str, operator: str) -> Requirement:
        symbol = "" if self._peek() in ("", ",") else self._next()
        if symbol and symbol in _SPECIAL:
            raise self._invalid(symbol, ", expected: identifier")
        if operator in "<>" and _int64(symbol) is None:
            raise self._error(f"for {operator!r} the value must be an integer, not {symbol!r}", value=(0, symbol))
        return Requirement(key, operator, self._valid(key, [symbol]))

    def _values(self, key: str) -> tuple[str, ...]:
        if (symbol := self._next()) != "(":
            raise self._invalid(symbol, " expected: '('")
        if self._at_special() and self._peek() not in (",", ")"):
            raise self._invalid(self._peek(), ", expected: ',', ')' or identifier")
        values, symbol = set[str](), ","
        while symbol == ",":
            if (symbol := self._peek()) in _SPECIAL and symbol not in (",", ")"):
                raise self._invalid(symbol, ", expected: ',', or identifier")
            values.add("" if symbol in (",", ")") else self._next())
            symbol = self._next()
        if symbol != ")":
            raise self._invalid(symbol, ", expected: ',' or ')'")
        return self._valid(key, sorted(values))

    def _valid(self, key: str, values: list[str]) -> tuple[str, ...]:
        for index, value in enumerate(values):
            if not is_label_value(value):
                raise self._error(f"{value!r} is not a valid label value", key=key, value=(index, value))
        return tuple(values)

    def _key(self) -> str:
        key = self._next()
        if key in _SPECIAL:
            raise self._invalid(key, ", expected: identifier")
        if not is_qualified_name(key):
            raise self._error(f"{key!r} is not a valid label key", key=key)
        return key

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        symbol = self._peek()
        self._at += 1
        return symbol

    def _at_special(self) -> bool:
        return self._peek() in _SPECIAL and self._peek() != "!"

    def _invalid(self, symbol: str, expected: str) -> ValueError:
        return self._error(f"unable to parse requirement: found '{symbol}'{expected}")

    def _error(self, reason: str, *, key: str = "", value: tuple[int, str] | None = None) -> ValueError:
        return SelectorError(self._text, reason, key=key, value=value)


_UNSAFE = lazy_pattern(r"[\\,=]")
_PARTS = lazy_pattern(r"(?:[^\\,]|\\.|\\\Z)++", re.DOTALL)
_ESCAPED = lazy_pattern(r"\\([\\,=])|([\\,=].?)", re.DOTALL)
_TERM = lazy_pattern("(.*?)(!=|==|=)(.*)", re.DOTALL)


class FieldTerm(msgspec.Struct, frozen=True):
    """A requirement on one field: equal or not equal to a value; an absent field is the empty string."""

    path: tuple[str, ...]
    value: str
    equal: bool

    @property
    def field(self) -> str:
        """The path in the selector's notation."""
        return ".".join(self.path)

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Report whether the object matches."""
        return (self.text(obj) == self.value) is self.equal

    def text(self, obj: Mapping[str, Any]) -> str | None:
        """Return the value of the field as text; None for an object or a list, which equals no text."""
        value: Any = obj
        for name in self.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return _field_text(value)


def field_selector_for(fields: Mapping[str, str]) -> str:
    """Return the field selector of objects in which each field has the value."""
    return ",".join(f"{name}={_UNSAFE.sub(_escaped, value)}" for name, value in fields.items())


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def parse_field_selector(text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector; as in client-go, a term without field and value selects everything.

    Raises:
        ValueError: a term has no operator, or its value has an invalid escape; in client-go's words.
    """
    terms = (_term(part, text) for part in _PARTS.findall(text))
    return tuple(term for term in terms if term.field or term.value)


# By group, resource and field: the path in the JSON, and the value that the JSON does not contain.
_FIELDS: Mapping[tuple[str, str, str], tuple[tuple[str, ...], str]] = {
    ("", "events", "source"): (("source", "component"), ""),
    ("", "nodes", "spec.unschedulable"): (("spec", "unschedulable"), "false"),
    ("", "pods", "spec.hostNetwork"): (("spec", "hostNetwork"), "false"),
    ("batch", "jobs", "status.successful"): (("status", "succeeded"), "0"),
}


def json_field(group: str, resource: str, term: FieldTerm) -> FieldTerm:
    """Return a term of a field selector as one on the JSON of the resource's objects."""
    path, absent = _FIELDS.get((group, resource, term.field), (term.path, ""))
    return FieldTerm(path, "" if term.value == absent else term.value, term.equal)


def _term(part: str, text: str) -> FieldTerm:
    match = _TERM.fullmatch(part)
    if match is None:
        raise ValueError(f"invalid selector: '{text}'; can't understand '{part}'")
    value = _ESCAPED.sub(_unescaped, match[3])
    return FieldTerm(tuple(match[1].split(".")), value, match[2] != "!=")


def _unescaped(match: re.Match[str]) -> str:
    invalid: str | None = match[2]
    if invalid is None:
        return match[1]
    reason = (
        f"invalid escape sequence: {invalid}"
        if invalid[0] == "\\"
        else f"unescaped character in value: {ord(invalid[0])}"
    )
    raise ValueError(f"invalid field selector: {reason}")


def _field_text(value: Any) -> str | None:
    """Return a scalar as text; None for an object or list, which equals no text."""
    if isinstance(value, str):
        return value
    return "" if value is None else None if isinstance(value, Mapping | list) else canonical(value).decode()
