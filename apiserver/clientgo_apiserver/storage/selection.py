"""Selection of objects by label and field selectors, with Kubernetes' error messages for invalid ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import msgspec

from clientgo.meta.selectors import (
    EXPRESSION_OPERATORS,
    FieldTerm,
    Requirement,
    Selector,
    SelectorError,
    json_field,
    parse_field_selector,
    parse_selector,
)
from clientgo_apiserver.api.names import label_value_errors, qualified_errors
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.api.status import bad_request, quoted

_BOTH = ("metadata.name", "metadata.namespace")
_NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
_FEW = 8
"""Requirements and values that are checked one by one."""


class SelectionPredicate(msgspec.Struct, frozen=True):
    """Label and field selectors of a list, watch or deletecollection."""

    labels: Selector
    fields: tuple[FieldTerm, ...] = ()

    @property
    def everything(self) -> bool:
        """True if every object is selected."""
        return self.labels.empty and not self.fields

    @property
    def name(self) -> str:
        """The only name that can match, or "": lists can look it up instead of scanning."""
        return next((term.value for term in self.fields if _is_name(term)), "")

    def matches(self, obj: dict[str, Any]) -> bool:
        """Return whether the object is selected."""
        if self.fields and not all(term.matches(obj) for term in self.fields):
            return False
        return self.labels.empty or self.labels.matches(obj["metadata"].get("labels") or {})

    def test(self) -> Callable[[dict[str, Any]], bool]:
        """Return `matches` for many objects, at a cost that does not grow with the number of requirements."""
        requirements = self.labels.requirements
        if len(self.fields) + sum(1 + len(each.values) for each in requirements) <= _FEW:
            return self.matches
        labels_match, fields_match = _labels_test(requirements), _fields_test(self.fields)
        return lambda obj: fields_match(obj) and labels_match(obj["metadata"].get("labels") or {})


def _labels_test(requirements: Iterable[Requirement]) -> Callable[[Mapping[str, str]], bool]:
    excluded: dict[str, set[str] | None] = {}  # of values, None for all
    required: list[tuple[str, Callable[[str], bool]]] = []
    for each in requirements:
        if each.operator == "!":
            excluded[each.key] = None
        elif each.operator in ("!=", "notin"):
            before = excluded.setdefault(each.key, set())
            if before is not None:
                before.update(each.values)
        elif each.operator in ("=", "in"):
            required.append((each.key, frozenset(each.values).__contains__))
        else:
            required.append((each.key, partial(_holds, each)))

    def test(labels: Mapping[str, str]) -> bool:
        if not all(key in labels and holds(labels[key]) for key, holds in required):
            return False
        values = ((value, excluded[key]) for key, value in labels.items() if key in excluded)
        return all(wrong is not None and value not in wrong for value, wrong in values)

    return test


def _holds(requirement: Requirement, value: str) -> bool:
    return requirement.matches({requirement.key: value})


def _fields_test(terms: Iterable[FieldTerm]) -> Callable[[Mapping[str, Any]], bool]:
    groups: dict[tuple[tuple[str, ...], bool], tuple[FieldTerm, set[str | None]]] = {}
    for term in terms:
        groups.setdefault((term.path, term.equal), (term, set()))[1].add(term.value)

    def holds(term: FieldTerm, values: set[str | None], obj: Mapping[str, Any]) -> bool:
        text = term.text(obj)
        return values == {text} if term.equal else text not in values

    return lambda obj: all(holds(term, values, obj) for term, values in groups.values())


@lru_cache(maxsize=256)
def parse_labels(text: str) -> Selector:
    """Parse a label selector (400)."""
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise bad_request(_reason(error)) from error


def _reason(error: SelectorError) -> str:
    """Return the reason of an invalid selector in the words of a real server."""
    if error.value is not None:
        index, text = error.value
        path = f"values[{index}]" + (f"[{error.key}]" if error.key else "")
        reasons = label_value_errors(text) if error.key else [_NO_INTEGER]
    elif error.key:
        text, path, reasons = error.key, "<nil>", qualified_errors(error.key)
    else:
        return error.reason
    return f"unable to parse requirement: {path}: Invalid value: {quoted(text)}: {'; '.join(reasons)}"


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector such as `metadata.name=a,status.phase!=Running` (400)."""
    try:
        return parse_field_selector(text)
    except ValueError as error:
        raise bad_request(str(error)) from error


def supported_fields(resource: Resource, terms: Iterable[FieldTerm]) -> tuple[FieldTerm, ...]:
    """Return the terms on stored objects of a resource that has these fields, ordered as on a real server (400)."""
    return tuple(_supported(resource, term) for term in sorted(terms, key=lambda term: term.field))


def one_name(fields: str) -> str:
    """Return the only name a field selector can match, or "", for authorization before the request is parsed."""
    with suppress(ValueError):
        return next((term.value for term in parse_field_selector(fields) if _is_name(term)), "")
    return ""


def label_selector(value: Any) -> Selector:
    """Return the selector of a LabelSelector object; an empty or absent one selects everything."""
    return Selector(tuple(sorted(_requirements(value), key=lambda requirement: requirement.key)))


def _requirements(value: Any) -> Iterator[Requirement]:
    selector = value if isinstance(value, dict) else {}
    for key, text in (selector.get("matchLabels") or {}).items():
        yield Requirement(key, "=", (text,))
    for term in selector.get("matchExpressions") or ():
        operator = EXPRESSION_OPERATORS.get(term.get("operator", ""), "in")
        yield Requirement(term.get("key", ""), operator, tuple(sorted(term.get("values") or ())))


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector object selects the labels."""
    if not isinstance(selector, dict):
        return True
    for key, text in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != text:
            return False
    expressions = selector.get("matchExpressions")
    return not expressions or all(each.matches(labels) for each in _requirements({"matchExpressions": expressions}))


def _is_name(term: FieldTerm) -> bool:
    return term.equal and term.path == ("metadata", "name")


def _supported(resource: Resource, term: FieldTerm) -> FieldTerm:
    # Kinds with selectable fields have a list of their own, in which cluster-scoped ones have no namespace.
    has_own_list = resource.custom or resource.selectable_fields
    namespaced = _BOTH if resource.namespaced or not has_own_list else _BOTH[:1]
    if term.field not in namespaced and term.field not in resource.selectable_fields:
        raise bad_request(_unsupported(resource, term.field))
    if resource.group == "events.k8s.io":
        # Stored as core events, whose fields are named otherwise.
        field = term.field.replace("regarding.", "involvedObject.").replace("reportingController", "reportingComponent")
        return FieldTerm(tuple(field.split(".")), term.value, term.equal)
    return json_field(resource.group, resource.plural, term)


def _unsupported(resource: Resource, field: str) -> str:
    if resource.kind == "Job":  # the only kind with a sentence of its own
        return f'field label "{field}" not supported for Job'
    if resource.custom or resource.selectable_fields:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
