"""Rules of single kinds of the core group and of CustomResourceDefinitions."""

from collections.abc import Iterator
from typing import Any

from clientgo.apiserver.apiextensions.definitions import definition_errors
from clientgo.apiserver.http.status import Cause, invalid_value, required
from clientgo.apiserver.registry.registry import Object
from clientgo.apiserver.registry.validation.scopes import FieldScope


def custom_resource_definition(value: Object, scope: FieldScope) -> list[Cause]:
    """Return the errors of a definition."""
    return definition_errors(value, scope.old)


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
