"""Rules of workloads that relate several fields."""

from collections.abc import Iterator

from clientgo.apiserver.http.status import Cause, invalid_value
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.validation.scopes import FieldScope


def selector_matches_template(spec: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that the selector matches the labels of the template."""
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    matched = (spec.get("selector") or {}).get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in matched.items()):
        yield invalid_value("template.metadata.labels", labels, "`selector` does not match template `labels`")
