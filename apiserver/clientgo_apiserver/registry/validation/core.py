"""Rules of single kinds of the core group and of CustomResourceDefinitions."""

from collections.abc import Iterator

from clientgo_apiserver.api.names import qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, invalid_value, required
from clientgo_apiserver.crds.definitions import definition_errors
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.generic import IMMUTABLE
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.registry.views import event_to_core

_MAX_WORD, _MAX_NOTE = 128, 1024
# The fields that updates through events.k8s.io keep.
_KEPT = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type", "eventTime",
    "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


@rule()
def custom_resource_definition(value: Object, scope: FieldScope) -> list[Cause]:
    """Return the errors of a definition."""
    return definition_errors(value, scope.old)


@rule()
def event(new: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check an event; one of events.k8s.io needs more fields and keeps them."""
    strict = new["apiVersion"].startswith("events.k8s.io")
    obj = event_to_core(new) if strict else new
    yield from _namespace_errors(obj)
    if obj.get("eventTime"):
        yield from _reported_errors(obj, "reportingController" if strict else "reportingComponent")
    if strict and scope.old is None:
        yield from _new_event_errors(obj)
    elif strict:
        old = event_to_core(scope.old)
        if obj.get("series") != old.get("series"):
            yield from _series_errors(obj)
        for field in _KEPT:
            value, old_value = obj.get(field) or "", old.get(field) or ""
            if value != old_value:
                text = go_struct("ObjectReference", value) if field == "involvedObject" else value
                yield invalid_value("reportingController" if field == "reportingComponent" else field, text, IMMUTABLE)


def _namespace_errors(event: Object) -> Iterator[Cause]:
    """Check that an event is in the namespace of its object; events of cluster-scoped objects are in `default`."""
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    namespace = event["metadata"].get("namespace", "")
    timed = bool(event.get("eventTime"))
    homes = ("default", "kube-system") if timed else ("default",)
    if namespace not in homes if not about else namespace != about and not timed:
        yield invalid_value("involvedObject.namespace", about, "does not match event.namespace")


def _reported_errors(event: Object, controller: str) -> Iterator[Cause]:
    reporter = event.get("reportingComponent") or ""
    if not reporter:
        yield required(controller)
    yield from (invalid_value(controller, reporter, reason) for reason in qualified_errors(reporter))
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(field)
        elif len(event[field].encode()) > _MAX_WORD:
            yield invalid_value(field, "", f"can have at most {_MAX_WORD} characters")
    if len((event.get("message") or "").encode()) > _MAX_NOTE:
        yield invalid_value("message", "", f"can have at most {_MAX_NOTE} characters")


def _new_event_errors(event: Object) -> Iterator[Cause]:
    yield from _series_errors(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        yield invalid_value("type", "", f"has invalid value: {kind}")
    for field in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(field):
            yield invalid_value(field, "", "needs to be unset")


def _series_errors(event: Object) -> Iterator[Cause]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid_value("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")
