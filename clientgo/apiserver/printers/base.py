"""What every printer is made of: column definitions, ages as kubectl shows them, and safe walks into objects.

A printer's cells follow what a real server prints for the kind, because kubectl shows the cells as they come. Objects
may lack anything (a status not yet written), so every walk gives a default instead of failing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clientgo.meta.scheme import Column

Cells = Callable[[dict[str, Any], datetime], list[Any]]

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
NAME = Column("Name", "string", ".metadata.name", NAME_DESCRIPTION, "name")
AGE = Column("Age", "string", ".metadata.creationTimestamp", CREATED_DESCRIPTION)
NONE, UNKNOWN, UNSET, INVALID = "<none>", "<unknown>", "<unset>", "<invalid>"


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind, and the cells of one object in their order."""

    columns: tuple[Column, ...]
    cells: Cells


def column(name: str, kind: str = "string", *, wide: bool = False, description: str = "") -> Column:
    """Define a column that a printer computes; a wide one is shown by `-o wide` only."""
    return Column(name, kind, "", description or f"{name} of the object.", "", 1 if wide else 0)


def printer(*columns: Column | str, cells: Cells) -> Printer:
    """Make a printer; a bare name is a string column."""
    return Printer(tuple(item if isinstance(item, Column) else column(item) for item in columns), cells)


def dig(value: Any, *keys: str | int, default: Any = None) -> Any:
    """Walk into dicts and lists; the default stands in for whatever is absent or null on the way."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key] if -len(value) <= key < len(value) else None
        else:
            return default
    return default if value is None else value


def name(obj: dict[str, Any]) -> str:
    """Give the object's name."""
    return str(dig(obj, "metadata", "name", default=""))


def items(obj: Any, *keys: str) -> list[Any]:
    """Give the list at a path, empty where there is none."""
    found = dig(obj, *keys, default=[])
    return found if isinstance(found, list) else []


def age(obj: dict[str, Any], now: datetime) -> str:
    """Give the time since the object was made, as `5m` or `3d2h`; `<unknown>` without a time."""
    return since(dig(obj, "metadata", "creationTimestamp"), now)


def since(timestamp: Any, now: datetime) -> str:
    """Give the time since an RFC 3339 timestamp; `<unknown>` for none."""
    moment = moment_of(timestamp)
    return UNKNOWN if moment is None else human_duration((now - moment).total_seconds())


def moment_of(timestamp: Any) -> datetime | None:
    """Read an RFC 3339 timestamp, with or without fractions of a second; None for anything else."""
    if not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def human_duration(seconds: float) -> str:
    """Write seconds in two units at most, the second only while it matters (`9m30s`, `12m`, `3d4h`, `80d`).

    The thresholds are those of Kubernetes' `duration.HumanDuration`.
    """
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
    """Write labels as `a=b,c=d`, sorted; `<none>` for none."""
    if not isinstance(labels, Mapping) or not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector_text(selector: Any) -> str:
    """Write a label selector as kubectl takes it (`app=x,tier in (a,b)`); `<none>` where it selects everything."""
    parts = [f"{key}={value}" for key, value in sorted(dig(selector, "matchLabels", default={}).items())]
    for requirement in sorted(items(selector, "matchExpressions"), key=lambda item: str(item.get("key"))):
        key, values = requirement.get("key"), ",".join(sorted(items(requirement, "values")))
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": f"{key}",
                "DoesNotExist": f"!{key}",
            }.get(str(requirement.get("operator")), f"{key}")
        )
    return ",".join(parts) or NONE


def joined(values: Sequence[Any], limit: int = 0) -> str:
    """Join with commas; past the limit `+ 2 more...` says how many are left out, as for endpoints."""
    texts = [str(value) for value in values]
    if limit and len(texts) > limit:
        return f"{','.join(texts[:limit])} + {len(texts) - limit} more..."
    return ",".join(texts)


def containers(spec: Any) -> list[str]:
    """Give the names and images of a pod spec's containers, each joined by commas."""
    listed = items(spec, "containers")
    return [joined([dig(item, key, default="") for item in listed]) for key in ("name", "image")]


CONTAINERS = (column("Containers", wide=True), column("Images", wide=True))
SELECTOR = column("Selector", wide=True)
