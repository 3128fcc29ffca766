"""Selection of objects by label and field selectors, with Kubernetes' error messages for invalid ones."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from clientgo.meta.selectors import (
    FieldTerm,
    Requirement,
    Selector,
    SelectorError,
    everything,
    json_field,
    parse_field_selector,
    parse_selector,
)
from clientgo_apiserver.http.status import bad_request
from clientgo_apiserver.resources import Resource

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_BOTH = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class SelectionPredicate:
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


ALL = SelectionPredicate(everything())


def select(resource: Resource, labels: str, fields: str) -> SelectionPredicate:
    """Parse both selectors of a request (400)."""
    if not labels and not fields:
        return ALL
    return SelectionPredicate(parse_labels(labels), parse_fields(resource, fields) if fields else ())


@lru_cache(maxsize=256)
def parse_labels(text: str) -> Selector:
    """Parse a label selector (400)."""
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise bad_request(error.reason) from error


def parse_fields(resource: Resource, text: str) -> tuple[FieldTerm, ...]:
    """Parse a field selector such as `metadata.name=a,status.phase!=Running` (400)."""
    try:
        return tuple(_supported(resource, term) for term in parse_field_selector(text))
    except ValueError as error:
        raise bad_request(str(error)) from error


def one_name(fields: str) -> str:
    """Return the only name a field selector can match, or "", for authorization before the request is parsed."""
    with suppress(ValueError):
        return next((term.value for term in parse_field_selector(fields) if _is_name(term)), "")
    return ""


def label_selector(value: Any) -> Selector:
    """Return the selector of a LabelSelector object; an empty or absent one selects everything."""
    selector = value if isinstance(value, dict) else {}
    requirements = [Requirement(key, "=", (text,)) for key, text in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        operator = _OPERATORS.get(term.get("operator", ""), "in")
        requirements.append(Requirement(term.get("key", ""), operator, tuple(sorted(term.get("values") or ()))))
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector object selects the labels."""
    return label_selector(selector).matches(labels)


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
