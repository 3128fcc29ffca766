"""Which objects a request means: label selectors and field selectors, with Kubernetes' words when they don't parse."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from clientgo.apiserver.http.status import bad_request
from clientgo.apiserver.registry.registry import Resource
from clientgo.meta.selectors import FieldTerm, Selector, everything, parse_field_selector, parse_selector

_TOKEN = re.compile(r"\s*(==|!=|=|!|,|\(|\)|>|<|[^\s=!,()<>]+)")
_SPECIAL = ("==", "!=", "=", "!", ",", "(", ")", ">", "<", "")
_BOTH = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class Selection:
    """The selectors of a list, watch or collection delete, put together."""

    labels: Selector
    fields: tuple[FieldTerm, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether no object is left out."""
        return self.labels.empty and not self.fields

    @property
    def name(self) -> str:
        """The one name that can match, or "": lets a list look up instead of walk."""
        return next((term.value for term in self.fields if _is_name(term)), "")

    def matches(self, obj: dict[str, Any]) -> bool:
        """Whether the object is meant."""
        if self.fields and not all(term.matches(obj) for term in self.fields):
            return False
        return self.labels.empty or self.labels.matches(obj["metadata"].get("labels") or {})


ALL = Selection(everything())


def select(resource: Resource, labels: str, fields: str) -> Selection:
    """Read both selectors of a request.

    Raises:
        ApiFailure: 400, one does not parse or names a field the kind cannot be selected by.
    """
    if not labels and not fields:
        return ALL
    return Selection(parse_labels(labels), parse_fields(resource, fields) if fields else ())


@lru_cache(maxsize=256)
def parse_labels(text: str) -> Selector:
    """Read a label selector.

    Raises:
        ApiFailure: 400 in Kubernetes' words.
    """
    try:
        return parse_selector(text)
    except ValueError as error:
        raise bad_request(_explain(text) or str(error)) from error


def parse_fields(resource: Resource, text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector such as `metadata.name=a,status.phase!=Running`.

    Raises:
        ApiFailure: 400, it does not parse or the kind cannot be selected by this field.
    """
    try:
        return tuple(_supported(resource, term) for term in parse_field_selector(text))
    except ValueError as error:
        raise bad_request(str(error)) from error


def one_name(fields: str) -> str:
    """Return the one name a field selector lets match, whatever the kind, or ""; authorization asks before parsing."""
    with suppress(ValueError):
        return next((term.value for term in parse_field_selector(fields) if _is_name(term)), "")
    return ""


def _is_name(term: FieldTerm) -> bool:
    return term.equal and term.path == ("metadata", "name")


def _supported(resource: Resource, term: FieldTerm) -> FieldTerm:
    namespaced = _BOTH if resource.namespaced or not resource.custom else _BOTH[:1]
    if term.field not in namespaced and term.field not in resource.selectable_fields:
        raise bad_request(_unsupported(resource, term.field))
    return replace(term, path=_stored_path(resource, term.field))


def _unsupported(resource: Resource, field: str) -> str:
    if resource.custom or resource.selectable_fields:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _stored_path(resource: Resource, field: str) -> tuple[str, ...]:
    if resource.plural == "events" and field == "source":
        # An Event's `source` selects by the component that reported it, not by the whole EventSource.
        return ("source", "component")
    if resource.group == "events.k8s.io":
        # Stored as core events, whose fields are named otherwise.
        field = field.replace("regarding.", "involvedObject.").replace("reportingController", "reportingComponent")
    return tuple(field.split("."))


def _explain(text: str) -> str:
    """The fault of a label selector in the words of the real server's parser, or "" when this one sees none."""
    return _Parser([found[1] for found in _TOKEN.finditer(text)]).fault()


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens

    def fault(self) -> str:
        while self._peek():
            if self._peek() in _SPECIAL and self._peek() != "!":
                return f"found '{self._peek()}', expected: !, identifier, or 'end of string'"
            if fault := self._requirement():
                return f"unable to parse requirement: {fault}"
            token = self._take()
            if token == "," and (self._peek() in _SPECIAL and self._peek() != "!"):  # nosec B105  # a comma, no password
                return f"found '{self._peek()}', expected: identifier after ','"
            if token not in ("", ","):
                return f"found '{token}', expected: ',' or 'end of string'"
        return ""

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self) -> str:
        return self._tokens.pop(0) if self._tokens else ""

    def _requirement(self) -> str:
        negated = self._peek() == "!"
        if negated:
            self._take()
        key = self._take()
        if key in _SPECIAL:
            return f"found '{key}', expected: identifier"
        if negated or self._peek() in ("", ","):
            return ""
        operator = self._take()
        parse: Callable[[], str] | None = {"in": self._set, "notin": self._set}.get(operator)
        if parse is not None:
            return parse()
        if operator not in ("=", "==", "!=", ">", "<"):
            return f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt"
        if self._peek() not in _SPECIAL:
            self._take()
        return ""

    def _set(self) -> str:
        token = self._take()
        if token != "(":  # a parenthesis, no password  # nosec B105
            return f"found '{token}' expected: '('"
        if self._peek() in _SPECIAL and self._peek() not in (",", ")"):
            return f"found '{self._peek()}', expected: ',', ')' or identifier"
        while self._peek() == "," or self._peek() not in _SPECIAL:
            self._take()
        token = self._take()
        return "" if token == ")" else f"found '{token}', expected: ')'"  # nosec B105  # nor here
