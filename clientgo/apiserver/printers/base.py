"""Columns of printers, and the functions that most cells use: paths, ages, selectors and lists as kubectl shows them.

A printer is a tuple of columns. Its cells follow what a real server prints for the kind, because kubectl shows the
cells unchanged. Objects may lack any field (a status not written yet), so every path has a default.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from clientgo.meta.scheme import Column

Obj = dict[str, Any]

NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a"
    " client to request the generation of an appropriate name automatically. Name is primarily intended for creation"
    " idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed"
    " to be set in happens-before order across separate operations. Clients may not set this value. It is represented"
    " in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
NONE, UNKNOWN, UNSET, INVALID = "<none>", "<unknown>", "<unset>", "<invalid>"


class Printed(NamedTuple):
    """A column definition, and the function that computes an object's cell at a given time."""

    column: Column
    cell: Callable[[Obj, datetime], Any]


Printer = tuple[Printed, ...]


def col(
    title: str, source: str | Callable[[Obj], Any], kind: str = "string", *, default: Any = "", wide: bool = False
) -> Printed:
    """Define a column whose cells come from a path such as `spec.replicas`, or from a function of the object.

    A wide column is shown by `kubectl get -o wide` only.
    """
    if callable(source):
        compute = source
        return timed(title, lambda obj, _: compute(obj), kind, wide=wide)
    keys = [int(key) if key.isdigit() else key for key in source.split(".")]
    return timed(title, lambda obj, _: dig(obj, *keys, default=default), kind, wide=wide)


def timed(title: str, cell: Callable[[Obj, datetime], Any], kind: str = "string", *, wide: bool = False) -> Printed:
    """Define a column whose cells depend on the current time."""
    return Printed(Column(title, kind, "", f"{title} of the object.", "", 1 if wide else 0), cell)


def dig(value: Any, *keys: str | int, default: Any = None) -> Any:
    """Return the value at a path of keys and indexes; the default replaces absent and null values."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key] if -len(value) <= key < len(value) else None
        else:
            return default
    return default if value is None else value


def name(obj: Obj) -> str:
    """Return the object's name."""
    return str(dig(obj, "metadata", "name", default=""))


def items(obj: Any, *keys: str) -> list[Any]:
    """Return the list at a path, empty if there is none."""
    found = dig(obj, *keys, default=[])
    return found if isinstance(found, list) else []


def true_conditions(obj: Obj) -> set[Any]:
    """Return the types of the status conditions that are True."""
    return {item.get("type") for item in items(obj, "status", "conditions") if item.get("status") == "True"}


def since(timestamp: Any, now: datetime) -> str:
    """Return the time since an RFC 3339 timestamp, as `5m` or `3d2h`; `<unknown>` for no timestamp."""
    moment = moment_of(timestamp)
    return UNKNOWN if moment is None else human_duration((now - moment).total_seconds())


def moment_of(timestamp: Any) -> datetime | None:
    """Parse an RFC 3339 timestamp, with or without fractions of a second; return None for anything else."""
    if not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def human_duration(seconds: float) -> str:
    """Format seconds in at most two units (`9m30s`, `12m`, `3d4h`, `80d`), as Kubernetes' `duration.HumanDuration`."""
    if seconds < -1:
        return INVALID
    whole = max(0, int(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    scale: tuple[tuple[bool, int, str, int, str], ...] = (
        (whole < 120, whole, "s", 0, ""),
        (minutes < 10, minutes, "m", whole % 60, "s"),
        (minutes < 180, minutes, "m", 0, ""),
        (hours < 8, hours, "h", minutes % 60, "m"),
        (hours < 48, hours, "h", 0, ""),
        (days < 8, days, "d", hours % 24, "h"),
        (days < 730, days, "d", 0, ""),
        (days < 2920, days // 365, "y", days % 365, "d"),
    )
    for holds, major, unit, minor, small in scale:
        if holds:
            return f"{major}{unit}{minor}{small}" if minor else f"{major}{unit}"
    return f"{days // 365}y"


def label_text(labels: Any) -> str:
    """Format labels as `a=b,c=d`, sorted; `<none>` for no labels."""
    if not isinstance(labels, Mapping) or not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector_text(selector: Any) -> str:
    """Format a label selector as kubectl accepts it (`app=x,tier in (a,b)`); `<none>` for an empty one."""
    parts = [f"{key}={value}" for key, value in sorted(dig(selector, "matchLabels", default={}).items())]
    for term in sorted(items(selector, "matchExpressions"), key=lambda item: str(item.get("key"))):
        key, values = term.get("key"), ",".join(sorted(items(term, "values")))
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "DoesNotExist": f"!{key}"}
        parts.append(forms.get(str(term.get("operator")), f"{key}"))
    return ",".join(parts) or NONE


def joined(values: Sequence[Any], limit: int = 0) -> str:
    """Join with commas; beyond the limit, `+ 2 more...` counts the rest, as for endpoints."""
    texts = [str(value) for value in values]
    if limit and len(texts) > limit:
        return f"{','.join(texts[:limit])} + {len(texts) - limit} more..."
    return ",".join(texts)


def load_balancer_points(obj: Obj) -> list[Any]:
    """Return the addresses or host names at which a load balancer serves the object."""
    return [point.get("ip") or point.get("hostname") for point in items(obj, "status", "loadBalancer", "ingress")]


def containers(*path: str, wide: bool = True) -> Printer:
    """Define the columns with the names and images of the containers of the pod spec at `path`."""

    def listed(obj: Obj, key: str) -> str:
        return joined([dig(item, key, default="") for item in items(obj, *path, "containers")])

    return (
        col("Containers", lambda obj: listed(obj, "name"), wide=wide),
        col("Images", lambda obj: listed(obj, "image"), wide=wide),
    )


NAME = Printed(Column("Name", "string", ".metadata.name", NAME_DESCRIPTION, "name"), lambda obj, _: name(obj))
AGE = Printed(
    Column("Age", "string", ".metadata.creationTimestamp", CREATED_DESCRIPTION),
    lambda obj, now: since(dig(obj, "metadata", "creationTimestamp"), now),
)
