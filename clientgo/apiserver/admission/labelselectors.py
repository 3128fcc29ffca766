"""LabelSelectors as objects hold them (`matchLabels`, `matchExpressions`), asked about a set of labels."""

from collections.abc import Mapping
from typing import Any


def selects(selector: Any, labels: Mapping[str, str]) -> bool:
    """Whether the labels meet every term; an empty or absent selector selects everything."""
    if not isinstance(selector, dict):
        return True
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(term, labels) for term in selector.get("matchExpressions") or ())


def _holds(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, operator = term.get("key", ""), term.get("operator")
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    listed = labels.get(key) in (term.get("values") or ()) and key in labels
    return not listed if operator == "NotIn" else listed
