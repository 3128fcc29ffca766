"""Transfer of changes of a typed object to the JSON it was decoded from.

A class may lack fields of its kind: a newer version of the CRD has more, and some CRDs preserve unknown fields. So the
result of a defaulter never replaces the whole object. It is compared with the decoded object, and only the differences
are applied to the JSON.

Both sides of the comparison include defaults; otherwise a field set to its default would look removed. New values are
encoded by the codec, without defaults.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from clientgo.meta.codec import encode_value, to_dict
from clientgo.meta.jsonvalues import Json, same
from clientgo.meta.patches.jsonpatch import common_ends
from clientgo.meta.wire import to_wire

_ABSENT: Any = object()


def changed(raw: Json, before: object, after: object) -> Json:
    """Return `raw`, from which `before` was decoded, with the changes in `after`; unchanged parts are not copied."""
    return _carried(raw, _seen(to_wire(before)), _seen(to_wire(after)), to_dict(after))


def _seen(value: Any) -> Json:
    """Return a value with all of its fields, except those that are None or empty, which mean absent."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        shown = {wire: getattr(value, name) for name, wire in names}
        return {wire: _seen(one) for wire, one in shown.items() if not _is_absent(one)}
    if isinstance(value, Mapping):
        return {name: _seen(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_seen(one) for one in value]
    if isinstance(value, str | bool | int | float | None):
        return value
    return msgspec.json.decode(encode_value(value))


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping | list | tuple) and not value)


def _carried(raw: Json, before: Json, after: Json, written: Json) -> Json:
    if same(before, after):
        return raw
    if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _members(raw, before, after, written if isinstance(written, dict) else {})
    if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and len(raw) == len(before):
        return _items(raw, before, after, written)
    return written


def _members(raw: dict[str, Json], before: Json, after: Json, written: dict[str, Json]) -> dict[str, Json]:
    gone = before.keys() - after.keys()
    made = {name: value for name, value in raw.items() if name not in gone}
    for name, value in after.items():
        was, here, text = before.get(name, _ABSENT), made.get(name, _ABSENT), written.get(name, value)
        if was is _ABSENT:
            made[name] = text
        elif not same(was, value):
            # If the decoded value consisted of defaults only, the JSON may lack it.
            start = {} if here is _ABSENT and isinstance(value, dict) else here
            made[name] = text if start is _ABSENT else _carried(start, was, value, text)
    return made


def _items(raw: list[Json], before: list[Json], after: list[Json], written: list[Json]) -> list[Json]:
    """Keep the items of `raw` that are equal at both ends, and those between that only moved."""
    begin, end = common_ends(before, after)
    here, there = range(begin, len(before) - end), range(begin, len(after) - end)
    if len(here) == len(there):
        middle = [_carried(raw[index], before[index], after[index], written[index]) for index in here]
    else:
        # By their encoding: comparing each pair would take minutes for a long list.
        known = {encode_value(before[index]): raw[index] for index in here}
        middle = [known.get(encode_value(after[index]), written[index]) for index in there]
    return [*raw[:begin], *middle, *raw[len(raw) - end :]]
