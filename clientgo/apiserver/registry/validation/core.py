"""Rules of single kinds of the core group and of CustomResourceDefinitions."""

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.apiextensions.definitions import definition_errors
from clientgo.apiserver.http.status import Cause, forbidden_field, invalid_value, required, too_long
from clientgo.apiserver.registry.names import data_key_errors
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.validation.scopes import FieldScope

_MAX_DATA = 1024 * 1024


def custom_resource_definition(value: Object, scope: FieldScope) -> list[Cause]:
    """Return the errors of a definition."""
    return definition_errors(value, scope.old)


def keyed_data(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check keys and size of a ConfigMap's or Secret's data, and that immutable data is not changed."""
    size = 0
    for field in ("data", "binaryData"):
        for key, text in (value.get(field) or {}).items():
            for why in data_key_errors(key):
                yield invalid_value(f"{field}[{key}]", key, why)
            size += len(text)
    if size > _MAX_DATA:
        yield too_long("", _MAX_DATA)
    old = scope.old
    if old is not None and old.get("immutable"):
        for field in ("data", "binaryData"):
            if (value.get(field) or {}) != (old.get(field) or {}):
                yield forbidden_field(field, "field is immutable when `immutable` is set")


def event(new: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that an event is in the namespace of its object; events of cluster-scoped objects are in `default`."""
    field, component = (
        ("regarding", "reportingController") if "regarding" in new else ("involvedObject", "reportingComponent")
    )
    about = (new.get(field) or {}).get("namespace") or ""
    own = new["metadata"].get("namespace", "")
    homes = ("default", "kube-system") if new.get("eventTime") else ("default",)
    if own != about and (about or own not in homes):
        yield invalid_value("involvedObject.namespace", about, "does not match event.namespace")
    if new.get("eventTime"):
        wanted: tuple[tuple[str, Any], ...] = (
            (component, "reportingController"), ("reportingInstance",) * 2, ("action",) * 2, ("reason",) * 2,
        )  # fmt: skip
        yield from (required(shown) for name, shown in wanted if not new.get(name))
