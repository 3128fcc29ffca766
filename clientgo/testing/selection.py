"""Which objects a list or watch of a fake is about: namespace, labels and fields, on plain JSON objects."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clientgo.errors import BadRequest
from clientgo.meta.fieldselectors import FieldTerm, parse_field_selector
from clientgo.meta.selectors import Selector, everything, parse_selector

_ALL_LABELS = everything()


@dataclass(frozen=True, slots=True)
class Selection:
    """Objects of one namespace (all when empty) whose labels and fields match."""

    namespace: str = ""
    labels: Selector = _ALL_LABELS
    fields: tuple[FieldTerm, ...] = ()

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected."""
        meta = obj.get("metadata") or {}
        if self.namespace and meta.get("namespace", "") != self.namespace:
            return False
        return self.labels.matches(meta.get("labels") or {}) and all(term.matches(obj) for term in self.fields)


EVERYTHING = Selection()
"""Every object of every namespace."""


def select(namespace: str = "", label_selector: str = "", field_selector: str = "") -> Selection:
    """Read both selectors; any field can be selected by, as a fake knows no schema.

    Raises:
        BadRequest: a selector can't be parsed, as a server would say.
    """
    try:
        return Selection(namespace, parse_selector(label_selector), parse_field_selector(field_selector))
    except ValueError as error:
        raise BadRequest(str(error)) from error
