"""Other valid values of a spec, by the schema of its CustomResourceDefinition: those that a user may change it to."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
ValuePath = tuple[str, ...]

MAX_DEPTH = 5
ABSENT = "absent"


class Alternative(NamedTuple):
    """Changed spec: `label` names the field and the number of its value, `text` says what the change is."""

    label: str
    text: str
    spec: Any


def alternatives(schema: Schema, spec: Any, examples: Mapping[str, Sequence[Any]]) -> list[Alternative]:
    """Return the spec with each field changed to each other value; `examples` are further values by path."""
    results: list[Alternative] = []
    counts: dict[str, int] = {}
    for path, value in [*_changes(schema, spec, (), required=True), *_from_examples(examples)]:
        changed = _replaced(copy.deepcopy(spec), path, value)
        name = ".".join(path)
        if changed != spec and all(changed != other.spec for other in results):
            counts[name] = counts.get(name, 0) + 1
            results.append(Alternative(f"{name}#{counts[name]}", f"{name} = {_text(value)}", changed))
    return results


def refusable(schema: Schema, spec: Any) -> list[Alternative]:
    """Return the spec with each field changed to a value that its schema admits, and few fields of children do."""
    results: list[Alternative] = []
    for path, value, field in _leaves(schema, spec, ()):
        refused = _refused(field, value, path[-1])
        if refused is not None and len(results) < MAX_REFUSED:
            changed = _replaced(copy.deepcopy(spec), path, refused)
            results.append(Alternative(f"{'.'.join(path)}#1", f"{'.'.join(path)} = {_text(refused)}", changed))
    return results


MAX_REFUSED = 8
"""Fields of a resource that are changed to values that the server may refuse."""

REFUSED_TEXT, REFUSED_PORT = "Not valid!", 70_000


def _refused(schema: Schema, value: Any, name: str) -> Any:
    if isinstance(value, bool) or (
        any(name in schema for name in ("enum", "pattern", "format")) and isinstance(value, str)
    ):
        return None
    if isinstance(value, str):
        is_short = schema.get("maxLength", len(REFUSED_TEXT)) < len(REFUSED_TEXT)
        return None if is_short or "x-kubernetes-validations" in schema else REFUSED_TEXT
    if isinstance(value, int):
        if "port" in name.lower() and schema.get("maximum", REFUSED_PORT) >= REFUSED_PORT:
            return REFUSED_PORT
        return -1 if schema.get("minimum", -1) <= -1 else None
    return None


def _leaves(schema: Schema, value: Any, path: ValuePath) -> Iterator[tuple[ValuePath, Any, Schema]]:
    """Yield the path, value and schema of each field that is a text or a number; absent ones have a sample."""
    if isinstance(value, dict) and len(path) <= MAX_DEPTH:
        fields, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        for name in {**fields, **value}:
            field = fields.get(name, extra if isinstance(extra, dict) else {})
            yield from _leaves(field, value[name] if name in value else sample(field), (*path, name))
    elif isinstance(value, str | int):
        yield path, value, schema


def next_text(text: str) -> str:
    """Return the next text of a form that has numbers, such as a quantity, a schedule or an address; empty for others.

    What is only longer, such as `1Gi-b`, the server would reject in a child.
    """
    if text.isdigit():
        return str(int(text) + 1)
    if match := _QUANTITY.match(text):
        return f"{int(match[1]) + 1}{match[2]}"
    if match := _DOTTED.match(text):
        return f"{match[1]}{(int(match[2]) + 1) % _OCTETS}{match[3]}"
    if len(fields := text.split(" ")) == _CRON_FIELDS and all(map(_CRON_FIELD.match, fields)):
        minute = fields[0]
        return " ".join([str((int(minute) + 1) % 60) if minute.isdigit() else "7", *fields[1:]])
    return ""


_QUANTITY = re.compile(r"(\d{1,9})([A-Za-z%]{1,3})\Z")
_DOTTED = re.compile(r"((?:\d{1,9}\.){1,3})(\d{1,9})(|\.\d{1,3}/\d{1,2})\Z")
_CRON_FIELD = re.compile(r"[-0-9*/,A-Z?]{1,40}\Z")
_CRON_FIELDS, _OCTETS = 5, 255


def other_item(item: Any) -> Any:
    """Return another item for a list: with another key, if it has one."""
    return _other_item({}, item, ())


def other_text(text: str) -> str:
    """Return another text of the same form: the other truth value, the next number, or a longer text."""
    if text in ("true", "false"):
        return "false" if text == "true" else "true"
    return str(int(text) + 1) if text.isdigit() else f"{text}-b"


def references(spec: Any, groups: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """Return, by path, another name for each text of a spec that is one of a group of names, as examples."""
    return {
        ".".join(path): [next(name for name in group if name != value)]
        for path, value, _ in _leaves({}, spec, ())
        for group in groups
        if value in group and len(group) > 1
    }


def pairs(single: Sequence[Alternative], spec: Any) -> Iterator[Alternative]:
    """Yield the changes of two top-level fields at once: the first value of each."""
    firsts: dict[str, Alternative] = {}
    for alternative in single:
        firsts.setdefault(alternative.label.partition("#")[0].partition(".")[0], alternative)
    for index, (field, first) in enumerate(firsts.items()):
        for other, second in list(firsts.items())[index + 1 :]:
            both = dict(spec)
            for name, alternative in ((field, first), (other, second)):
                both.pop(name, None)
                if name in alternative.spec:
                    both[name] = alternative.spec[name]
            yield Alternative(f"{first.label}+{second.label}", f"{first.text} and {second.text}", both)


def sample(schema: Schema, *, depth: int = 0) -> Any:
    """Return a valid value of a schema, as far as the schema says what is valid."""
    for key in ("default", "example"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "object")
    if kind == "object":
        required = schema.get("required") or ()
        properties = schema.get("properties") or {}
        return {} if depth > MAX_DEPTH else {n: sample(properties.get(n, {}), depth=depth + 1) for n in required}
    if kind == "array":
        return [sample(schema["items"], depth=depth + 1) for _ in range(schema.get("minItems", 0))]
    if kind in ("integer", "number"):
        return max(schema.get("minimum", 1), 1) if schema.get("maximum", 1) >= 1 else schema["maximum"]
    return {"boolean": True, "string": "a" * max(1, schema.get("minLength", 1))}.get(kind)


def _changes(schema: Schema, value: Any, path: ValuePath, *, required: bool) -> Iterator[tuple[ValuePath, Any]]:
    """Yield paths and values to which they may change; the value may be `ABSENT`."""
    if len(path) > MAX_DEPTH:
        return
    if not required and value is not ABSENT and schema.get("default", ABSENT) != value:
        yield path, ABSENT
    if value is ABSENT:
        yield path, _optional_sample(schema)
        return
    if schema.get("enum"):
        yield from ((path, other) for other in schema["enum"] if other != value)
    elif isinstance(value, bool):
        yield path, not value
    elif isinstance(value, int | float):
        yield from ((path, number) for number in _numbers(schema, value))
    elif isinstance(value, str):
        yield path, next_text(value) or (f"{value}b" if "pattern" in schema or "format" in schema else f"{value}-b")
    elif isinstance(value, list):
        yield from _list_changes(schema, value, path)
    elif isinstance(value, dict):
        yield from _object_changes(schema, value, path)


def _object_changes(schema: Schema, value: dict[str, Any], path: ValuePath) -> Iterator[tuple[ValuePath, Any]]:
    needed = set(schema.get("required") or ())
    for name, field in (schema.get("properties") or {}).items():
        yield from _changes(field, value.get(name, ABSENT), (*path, name), required=name in needed)
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        for name in value:
            yield from _changes(extra, value[name], (*path, name), required=False)
        yield path, {**value, "added": sample(extra)}


def _list_changes(schema: Schema, value: list[Any], path: ValuePath) -> Iterator[tuple[ValuePath, Any]]:
    lengths = range(schema.get("minItems", 0), schema.get("maxItems", len(value) + 1) + 1)
    yield from ((path, changed) for changed in _lists(schema, value) if len(changed) in lengths)
    items = schema.get("items") or {}
    for index, item in enumerate(value[:2]):
        for inner, changed in _changes(items, item, (), required=True):
            yield path, [*value[:index], _replaced(copy.deepcopy(item), inner, changed), *value[index + 1 :]]


def _lists(schema: Schema, value: list[Any]) -> Iterator[list[Any]]:
    items = schema.get("items") or {}
    if value:
        yield value[:-1]
        other = _other_item(items, value[-1], schema.get("x-kubernetes-list-map-keys") or ())
        yield [*value, other]
        yield [other, *value]
        may_repeat = schema.get("x-kubernetes-list-type", "atomic") == "atomic" and not schema.get("uniqueItems")
        if may_repeat and not isinstance(value[0], dict):
            yield [*value, value[0]]
    else:
        yield [sample(items)]
    if len(value) > 1:
        yield value[::-1]
        yield value[1:]


def _other_item(schema: Schema, item: Any, keys: Sequence[str]) -> Any:
    if isinstance(item, dict):
        properties = schema.get("properties") or {}
        numbers = [name for name, value in item.items() if _may_grow(properties.get(name, {}), value)]
        keys = [*keys, *(name for name in _KEYS if name in item), *numbers] or list(item)[:1]
        return {**item, **{key: _other_item(properties.get(key, {}), item[key], ()) for key in keys if key in item}}
    if isinstance(item, list):
        items = schema.get("items") or {}
        return [*item[:-1], _other_item(items, item[-1], ())] if item else [sample(items)]
    if schema.get("enum"):
        return next((other for other in schema["enum"] if other != item), item)
    if isinstance(item, bool):
        return not item
    if isinstance(item, int | float):
        return item + 1
    return next_text(item) or f"{item}b" if isinstance(item, str) else item


_KEYS = ("name", "key", "id")


def _may_grow(schema: Schema, value: Any) -> bool:
    """Return whether a number, such as a port, may be the next one in another item: many must differ."""
    return isinstance(value, int) and not isinstance(value, bool) and value < schema.get("maximum", value + 1)


def _numbers(schema: Schema, value: float) -> list[float]:
    low, high = schema.get("minimum", 0), schema.get("maximum", value + 2)
    numbers = dict.fromkeys((value + 1, low, high, value - 1))
    return [number for number in numbers if low <= number <= high and number != value][:3]


def _optional_sample(schema: Schema) -> Any:
    value = sample(schema)
    kind = schema.get("type")
    if value == {} and isinstance(schema.get("additionalProperties"), dict):
        return {"added": sample(schema["additionalProperties"])}
    if kind == "array" and not value:
        item = sample(schema.get("items") or {})
        return [_other_item(schema.get("items") or {}, item, ()), item] if _admits_two(schema) else [item]
    return value


def _admits_two(schema: Schema) -> bool:
    items = schema.get("items") or {}
    return int(schema.get("maxItems", 2)) > 1 and items.get("type") == "string" and "enum" not in items


def _from_examples(examples: Mapping[str, Sequence[Any]]) -> Iterator[tuple[ValuePath, Any]]:
    for path, values in examples.items():
        yield from ((tuple(path.removeprefix("spec.").split(".")), value) for value in values)


def _replaced(value: Any, path: ValuePath, new: Any) -> Any:
    """Return a value with another one at a path, which is removed if that is `ABSENT`."""
    if not path:
        return new
    name, *inner = path
    if not isinstance(value, dict):
        value = {}
    changed = _replaced(value.get(name), tuple(inner), new) if inner else new
    if changed is ABSENT:
        value.pop(name, None)
    else:
        value[name] = changed
    return value


def _text(value: Any) -> str:
    text = "absent" if value is ABSENT else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
