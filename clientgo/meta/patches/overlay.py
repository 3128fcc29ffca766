"""Transfer of changes of a typed object to the JSON it was decoded from.

A class may lack fields of its kind: a newer version of the CRD has more, and some CRDs preserve unknown fields. It may
also write a value otherwise than it was: an empty list as none. So the result of a defaulter, and the update of an
object of a `partial` class, never replace the whole object. The changed object is compared with the decoded one, and
only the differences are applied to the JSON.

Both sides of the comparison include defaults; otherwise a field set to its default would look removed. New values are
encoded by the codec, without defaults.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from clientgo.meta.apply.mergerules import FieldPath, MergeRule, MergeRules, items
from clientgo.meta.apply.typerules import rules_of
from clientgo.meta.classes.wire import to_wire
from clientgo.meta.codec import encode_value, to_dict
from clientgo.meta.jsonvalues import Json, canonical, same
from clientgo.meta.patches.jsonpatch import common_ends

_ABSENT: Any = object()


def changed(raw: Json, before: object, after: object) -> Json:
    """Return `raw`, from which `before` was decoded, with the changes in `after`; unchanged parts are not copied."""
    kind: Any = type(after)
    carry = _Carry(rules_of(kind, ""))
    return carry.value(raw, _seen(to_wire(before)), _seen(to_wire(after)), to_dict(after), ())


def _seen(value: Any) -> Json:
    """Return a value with all of its fields, except those that are as empty as their default, which mean absent."""
    if isinstance(value, msgspec.Struct):
        members = [(field, getattr(value, field.name)) for field in _fields(type(value))]
        return {field.json_name: _seen(member) for field, member in members if not field.is_absent(member)}
    if isinstance(value, Mapping):
        return {name: _seen(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_seen(member) for member in value]
    if isinstance(value, str | bool | int | float | None):
        return value
    return msgspec.json.decode(encode_value(value))


class _Field(NamedTuple):
    """Field of a class: whether None means absent, and whether an empty list or map does."""

    name: str
    json_name: str
    omits_none: bool
    omits_empty: bool

    def is_absent(self, value: Any) -> bool:
        """Return whether the encoder omits the value: a required field is written even if it is null or empty."""
        return self.omits_none if value is None else self.omits_empty and value in _EMPTY


@cache
def _fields(cls: type[msgspec.Struct]) -> tuple[_Field, ...]:
    fields = []
    for field in msgspec.structs.fields(cls):
        omits_empty = field.default_factory in (list, dict) or field.default in _EMPTY
        omits_none = omits_empty or field.default is None
        fields.append(_Field(field.name, field.encode_name, omits_none, omits_empty))
    return tuple(fields)


_EMPTY: tuple[Any, ...] = ((), [], {})


class _Carry:
    """The transfer of changes, with the merge rules of the class: they tell what identifies the items of a list."""

    def __init__(self, rules: MergeRules) -> None:
        self._rules = rules

    def value(self, raw: Json, before: Json, after: Json, written: Json, path: FieldPath) -> Json:
        if same(before, after):
            return raw
        if isinstance(raw, dict) and isinstance(before, dict) and isinstance(after, dict):
            return self._members(raw, before, after, written if isinstance(written, dict) else {}, path)
        if isinstance(raw, list) and isinstance(before, list) and isinstance(after, list) and len(raw) == len(before):
            return self._items(raw, before, after, written, path)
        return written

    def _members(
        self, raw: dict[str, Json], before: Json, after: Json, written: dict[str, Json], path: FieldPath
    ) -> dict[str, Json]:
        gone = before.keys() - after.keys()
        merged = {name: value for name, value in raw.items() if name not in gone}
        for name, value in after.items():
            was, current, text = before.get(name, _ABSENT), merged.get(name, _ABSENT), written.get(name, value)
            if was is _ABSENT:
                merged[name] = text
            elif not same(was, value):
                # If the decoded value consisted of defaults only, the JSON may lack it.
                start = {} if current is _ABSENT and isinstance(value, dict) else current
                merged[name] = text if start is _ABSENT else self.value(start, was, value, text, (*path, name))
        return merged

    def _items(
        self, raw: list[Json], before: list[Json], after: list[Json], written: list[Json], path: FieldPath
    ) -> list[Json]:
        """Keep the items of `raw` that are equal at both ends, and carry the changes of the others, item by item."""
        begin, end = common_ends(before, after)
        old, new = range(begin, len(before) - end), range(begin, len(after) - end)
        origins = _origins({at: before[at] for at in old}, {at: after[at] for at in new}, self._rules(path))
        middle = [
            written[at] if (origin := origins.get(at)) is None else
            self.value(raw[origin], before[origin], after[at], written[at], path)
            for at in new
        ]  # fmt: skip
        return [*raw[:begin], *middle, *raw[len(raw) - end :]]


def _origins(before: dict[int, Json], after: dict[int, Json], rule: MergeRule | None) -> dict[int, int]:
    """Return from which item each new one comes, by position: an equal one, one with the same key, or the one in place.

    Items without keys are only taken to have been changed in place if none was added, removed or moved.
    """
    origins: dict[int, int] = {}
    _match(before, after, canonical, origins)
    keyed = _keyed(before, after, rule)
    if keyed is not None:
        # By their keys: comparing each pair would take minutes for a long list.
        _match(before, after, lambda item: items([item], keyed)[0][0], origins)
    elif before.keys() == after.keys() and all(at == origin for at, origin in origins.items()):
        origins = {at: at for at in after}
    return origins


def _match(
    before: dict[int, Json], after: dict[int, Json], identity: Callable[[Json], object], origins: dict[int, int]
) -> None:
    unmatched: dict[object, deque[int]] = {}
    for at in sorted(before.keys() - origins.values()):
        unmatched.setdefault(identity(before[at]), deque()).append(at)
    for at, item in after.items():
        if at not in origins and (places := unmatched.get(identity(item))):
            origins[at] = places.popleft()


def _keyed(before: dict[int, Json], after: dict[int, Json], rule: MergeRule | None) -> MergeRule | None:
    """Return the rule by whose keys the items are identified: that of the list, or by name if each has its own."""
    if rule is not None and (rule.patch_key or rule.list_type == "map"):
        return rule
    named = all(
        len({item["name"] for item in part.values() if isinstance(item, dict) and isinstance(item.get("name"), str)})
        == len(part)
        for part in (before, after)
    )
    return _BY_NAME if named else None


_BY_NAME = MergeRule(list_type="map", map_keys=("name",))
