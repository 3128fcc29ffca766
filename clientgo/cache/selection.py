"""Selection of an informer: the objects that its lists and watches contain, by namespace, labels and fields."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import msgspec

from clientgo.meta.objects import ObjectMeta
from clientgo.meta.scheme import ApiType
from clientgo.meta.selectors import FieldTerm, Selector, everything, json_field, parse_field_selector, parse_selector


class InformerSelection(msgspec.Struct, frozen=True):
    """Objects of these namespaces (None for all) whose labels and fields match."""

    namespaces: Container[str] | None = None
    labels: Selector = everything()
    fields: tuple[FieldTerm, ...] = ()

    @property
    def filters(self) -> bool:
        """True if a change of an object may move it into the selection or out of it."""
        return bool(self.fields) or not self.labels.empty

    def has_namespace(self, namespace: str) -> bool:
        """Return True if objects of the namespace may be selected."""
        return self.namespaces is None or namespace in self.namespaces

    def matches(self, meta: ObjectMeta, content: Callable[[], Mapping[str, Any]]) -> bool:
        """Return True if an object is selected; `content` returns its JSON form, and is called if fields matter."""
        if not self.has_namespace(meta.namespace) or not self.labels.matches(meta.labels):
            return False
        if not self.fields:
            return True
        full_content = content()
        return all(term.matches(full_content) for term in self.fields)


EVERYTHING = InformerSelection()


def selection_of(
    kind: type, namespaces: Iterable[str], label_selector: str = "", field_selector: str = ""
) -> InformerSelection:
    """Return the selection of the lists and watches of a kind; the namespace "" stands for all.

    Raises:
        ValueError: a selector is invalid.
    """
    api, names = vars(kind).get("__api_type__"), frozenset(namespaces)
    terms = parse_field_selector(field_selector)
    if isinstance(api, ApiType):
        terms = tuple(json_field(api.group, api.plural, term) for term in terms)
    return InformerSelection(None if "" in names else names, parse_selector(label_selector), terms)
