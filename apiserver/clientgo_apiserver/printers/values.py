"""Values in cells: paths, ages, selectors and lists as kubectl shows them.

Objects may lack any field (a status not written yet), so every path has a default.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from clientgo_apiserver.storage.selection import label_selector

Obj = dict[str, Any]

NONE, UNKNOWN, UNSET, INVALID = "<none>", "<unknown>", "<unset>", "<invalid>"


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


def items(obj: Any, *keys: str) -> list[Any]:
    """Return the list at a path, empty if there is none."""
    value = dig(obj, *keys, default=[])
    return value if isinstance(value, list) else []


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
    if int(seconds) < -1:
        return INVALID
    total = max(0, int(seconds))
    for size, unit, most, smaller in _DURATIONS:
        count = total // size
        if count < most:
            remainder = total % size // _SECONDS[smaller] if smaller else 0
            return f"{count}{unit}{f'{remainder}{smaller}' if remainder else ''}"
    return f"{total // _SECONDS['y']}y"


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
# Units, up to which count, and the unit of the rest that is shown.
_DURATIONS = (
    (1, "s", 120, ""), (60, "m", 10, "s"), (60, "m", 180, ""), (3600, "h", 8, "m"), (3600, "h", 48, ""),
    (86400, "d", 8, "h"), (86400, "d", 730, ""), (365 * 86400, "y", 8, "d"),
)  # fmt: skip


def label_text(labels: Any) -> str:
    """Format labels as `a=b,c=d`, sorted; `<none>` for no labels."""
    if not isinstance(labels, Mapping) or not labels:
        return NONE
    return ",".join(f"{key}={labels[key]}" for key in sorted(labels))


def selector_text(selector: Any) -> str:
    """Format a label selector as kubectl accepts it (`app=x,tier in (a,b)`); `<none>` for an empty one."""
    return str(label_selector(selector)) or NONE


def joined(values: Sequence[Any], limit: int = 0) -> str:
    """Join with commas; beyond the limit, `+ 2 more...` counts the rest, as for endpoints."""
    texts = [str(value) for value in values]
    if limit and len(texts) > limit:
        return f"{','.join(texts[:limit])} + {len(texts) - limit} more..."
    return ",".join(texts)
