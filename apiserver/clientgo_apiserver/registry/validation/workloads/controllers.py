"""Rules of workloads that relate several fields, and of numbers that may be percentages."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from clientgo_apiserver.api.names import label_errors, label_value_errors, percent_errors, qualified_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import Cause, forbidden_field, invalid_value, not_supported, required
from clientgo_apiserver.gotypes.gostructs import go_struct
from clientgo_apiserver.registry.validation.generic import reader
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.storage.selection import selects

_UNMATCHED = "`selector` does not match template `labels`"


def is_convertible(selector: Object) -> bool:
    """Return whether the selector has a meaning: known operators, valid keys and values."""
    for expression in selector.get("matchExpressions") or ():
        operator, values = expression.get("operator"), expression.get("values")
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist") or bool(values) != operator.endswith("In"):
            return False
        if qualified_errors(expression.get("key") or "") or any(map(label_value_errors, values or ())):
            return False
    labels = selector.get("matchLabels") or {}
    return not any(map(qualified_errors, labels)) and not any(map(label_value_errors, labels.values()))


@rule()
def not_empty_selector(value: Object, _: FieldScope, kind: str) -> Iterator[Cause]:
    """Reject a selector without requirements."""
    if not value.get("matchLabels") and not value.get("matchExpressions"):
        yield invalid_value("", value, f"empty selector is invalid for {kind}")


@rule()
def convertible_selector(value: Object, _: FieldScope, detail: str) -> Iterator[Cause]:
    """Reject a selector whose requirements have no meaning."""
    if not is_convertible(value):
        cause = invalid_value("", go_struct("LabelSelector", value), detail)
        yield cause if detail else replace(cause, message=cause.message.removesuffix(": "))


@rule()
def selected_template(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Require that the workload's selector matches the labels of its template."""
    labels, selector = (value.get("metadata") or {}).get("labels"), scope.value.get("selector")
    if selector is not None and (not selector or not is_convertible(selector)):
        return
    if selector is None or not selects(selector, labels or {}):
        yield invalid_value("metadata.labels", labels and dict(sorted(labels.items())), _UNMATCHED)


@rule()
def selected_by_labels(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Require that a ReplicationController's selector matches the labels of its template."""
    labels, selector = (value.get("metadata") or {}).get("labels"), scope.value.get("selector") or {}
    if any((labels or {}).get(key) != member for key, member in selector.items()):
        yield invalid_value("metadata.labels", labels and dict(sorted(labels.items())), _UNMATCHED)


def _number(value: Any) -> int:
    """Return a number or percentage as a number; an invalid one is 0."""
    if isinstance(value, str):
        return 0 if percent_errors(value) else int(value[:-1])
    return value or 0


@rule()
def int_or_percent(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject a negative number or an invalid percentage."""
    if isinstance(value, str):
        yield from (invalid_value("", value, reason) for reason in percent_errors(value))
    elif value < 0:
        yield invalid_value("", value, "must be greater than or equal to 0")


@rule()
def not_above_all(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject more than 100%."""
    if isinstance(value, str) and _number(value) > 100:
        yield invalid_value("", value, "must not be greater than 100%")


@rule()
def not_zero(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject zero, and 0%."""
    if not _number(value):
        yield invalid_value("", value, "cannot be 0")


@rule()
def no_progress_deployment(value: Any, scope: FieldScope) -> Iterator[Cause]:
    """Reject an update that may neither add nor remove pods."""
    if not _number(value or 0) and not _number(scope.value.get("maxSurge")):
        yield invalid_value("", 0 if value == {} else value, "may not be 0 when `maxSurge` is 0")


@rule()
def one_of_surge_and_unavailable(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Require exactly one of maxSurge and maxUnavailable."""
    unavailable, surge = _number(value.get("maxUnavailable")), _number(value.get("maxSurge"))
    if unavailable and surge:
        yield invalid_value("maxSurge", value["maxSurge"], "may not be set when maxUnavailable is non-zero")
    if not unavailable and not surge:
        yield required("maxUnavailable", "cannot be 0 when maxSurge is 0")


@rule()
def strategy_type(value: Object, _: FieldScope, choices: str) -> Iterator[Cause]:
    """Reject an unknown type of update strategy."""
    if value.get("type") not in choices.split(","):
        yield not_supported("", go_struct("DaemonSetUpdateStrategy", value), choices.split(","))


_WITHOUT_ROLLING = ("OnDelete", "Recreate")


@rule()
def claim_volumes(value: list[Object], _: FieldScope) -> Iterator[Cause]:
    """Check the names of claims as those of the volumes that the pods have of them."""
    for index, claim in enumerate(value):
        name = (claim.get("metadata") or {}).get("name") or ""
        if not name:
            yield from (required(f"[{index}].{field}") for field in ("persistentVolumeClaim.claimName", "name"))
        for reason in label_errors(name) if name else ():
            yield invalid_value(f"[{index}].name", name, reason)


@rule()
def stateful_set_strategy(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the type of a StatefulSet's update strategy."""
    kind, rolling = value.get("type") or "", value.get("rollingUpdate")
    if not kind:
        yield required("")
    elif kind in _WITHOUT_ROLLING and rolling is not None:
        struct = go_struct("RollingUpdateStatefulSetStrategy", rolling)
        yield invalid_value("rollingUpdate", struct, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind not in ("OnDelete", "RollingUpdate") and not (
        kind == "Recreate" and current().enabled("StatefulSetRecreateStrategy")
    ):
        yield invalid_value("", go_struct("StatefulSetUpdateStrategy", value), "must be 'RollingUpdate' or 'OnDelete'")


@rule()
def above_field(value: int, scope: FieldScope, field: str, detail: str) -> Iterator[Cause]:
    """Require a number above another field's."""
    if value <= (scope.value.get(field) or 0):
        yield invalid_value("", value, detail)


@rule(absent=True)
def not_above(value: Any, scope: FieldScope, path: str, detail: str) -> Iterator[Cause]:
    """Reject a number above that of another field of the type; an absent one is 0."""
    if (value or 0) > (reader(path)(scope.value) or 0):
        yield invalid_value("", value or 0, detail)


@rule(update=True)
def not_decremented(new: Any, old: Any, _: FieldScope) -> Iterator[Cause]:
    """Reject a smaller number than before; an absent one is smaller."""
    if old is not None and (new is None or new < old):
        yield invalid_value("", new or 0, "cannot be decremented")


@rule(update=True)
def only_changes(new: Any, old: Any, _: FieldScope, fields: str, detail: str) -> Iterator[Cause]:
    """Reject changes of other fields than these."""
    free = fields.split(",")
    before, after = (
        {field: value for field, value in (spec or {}).items() if field not in free and value not in (None, [], {}, "")}
        for spec in (old, new)
    )
    if before != after:
        yield forbidden_field("", detail)


@rule()
def json_object(value: Any, _: FieldScope) -> Iterator[Cause]:
    """Require an object as data."""
    if not isinstance(value, dict):
        yield required("", "data must be a valid JSON object")
