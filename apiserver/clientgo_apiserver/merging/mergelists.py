"""Lists of strategic merge patches: names of items, directives of items, and the order of a merged list.

An item's name is the value of its merge key; that of an item that is not an object is the item itself. As in Go, names
are equal if they have the same type and value: `1` is not `1.0`.
"""

from collections import deque
from collections.abc import Iterable
from itertools import chain
from operator import itemgetter
from typing import Any

from clientgo.meta.jsonvalues import Json
from clientgo.meta.patches import PatchError
from clientgo_apiserver.api.gotext import go_map, go_string, go_type

DIRECTIVE = "$patch"
_CONTAINERS = (dict, list)
_NAMELESS = object()
_INSERTED = 20


class InvalidDirective(PatchError):
    """A strategic merge patch with a malformed directive. A server answers 400."""


class UnmergeablePatch(PatchError):
    """A strategic merge patch that contradicts the rules of its kind or itself, in Go's words; a server answers 500."""


class Places:
    """Positions of the first item of each name in a list."""

    def __init__(self, items: Iterable[Json], key: str) -> None:
        self._key = key
        self._first: dict[tuple[type, object], int] = {}
        self._size = 0
        for item in items:
            self.append(item)

    def append(self, item: Json) -> None:
        """Add an item to the end of the list."""
        self._first.setdefault(_identity(_name(item, self._key)), self._size)
        self._size += 1

    def find(self, item: Json) -> int | None:
        """Return the position of the first item with the name of this one; None if there is none."""
        name = _name(item, self._key)
        position = self._first.get(_identity(name))
        if position is not None and isinstance(name, _CONTAINERS):
            raise InvalidDirective(f"cannot compare merge keys that are {go_type(name)}")
        return position


def _name(item: Json, key: str) -> Any:
    if not key:
        return item
    return item.get(key, _NAMELESS) if isinstance(item, dict) else _NAMELESS


def _identity(name: Any) -> tuple[type, object]:
    return type(name), None if isinstance(name, _CONTAINERS) else name


def type_of(value: Json) -> type:
    """Return the JSON type of a value; objects in memory may have subclasses of dict and list."""
    return dict if isinstance(value, dict) else list if isinstance(value, list) else type(value)


def item_type(*lists: list[Json]) -> type:
    """Return the type that all items have.

    Raises:
        PatchError: there are no items, or the types differ or cannot be merged.
    """
    types = {type_of(item): None for item in chain(*lists)}
    if not types:
        raise UnmergeablePatch("no elements in any of the given slices")
    first = next(iter(types))
    if first is list:
        raise PatchError("lists of lists are not supported")
    if first is type(None):
        raise InvalidDirective("cannot merge a list that begins with null")
    if len(types) > 1:
        raise UnmergeablePatch(f"list element types are not identical: {go_map([*lists])}")
    return first


def name_of(item: Json, key: str) -> Json:
    """Return the merge key's value of an item.

    Raises:
        UnmergeablePatch: it is not an object, or lacks the key.
    """
    if not isinstance(item, dict):
        raise mistyped({}, item)
    if key not in item:
        raise UnmergeablePatch(f"map: {go_map(item)} does not contain declared merge key: {key}")
    return item[key]


def mistyped(expected: Json, value: Json) -> UnmergeablePatch:
    """Return the error for a value that has another type than `expected`."""
    return UnmergeablePatch(f"expected a {go_type(expected)}, but received a {go_type(value)}")


def unknown_directive(item: dict[str, Json]) -> UnmergeablePatch:
    """Return the error for a map whose `$patch` is unknown."""
    return UnmergeablePatch(f"unknown patch type: {go_string(item[DIRECTIVE])} in map: {go_map(item)}")


def merge_scalars(current: list[Json], items: list[Json]) -> list[Json]:
    """Return the items of both lists once each, in the order of a merge."""
    merged = {_identity(item): item for item in chain(current, items)}
    return in_order([*merged.values()], items, current, "", (current, items))


def without_scalars(current: list[Json], deleted: list[Json]) -> list[Json]:
    """Return the items that are not among the deleted ones."""
    removed = Places(deleted, "")
    return [item for item in current if removed.find(item) is None]


def obey_directives(
    current: list[dict[str, Json]], items: list[dict[str, Json]], key: str
) -> tuple[list[dict[str, Json]], list[dict[str, Json]], list[dict[str, Json]] | None]:
    """Return the items that remain, and those of the patch to merge into them.

    If they replace the list, the third result is what remains of it, and what was behind that before: as in the memory
    of the server, the order of the new items is still judged by these.

    Raises:
        UnmergeablePatch: a directive is unknown, or an item to delete lacks its merge key.
    """
    plain, deleted, replaces = [], Places((), key), False
    for item in items:
        directive = item.get(DIRECTIVE)
        if DIRECTIVE not in item:
            plain.append(item)
        elif directive == "delete":
            name_of(item, key)
            deleted.append(item)
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise UnmergeablePatch("merging lists cannot yet be specified in the patch")
        else:
            raise unknown_directive(item)
    remaining = [item for item in current if key not in item or deleted.find(item) is None]
    return (plain, [], [*remaining, *current[len(remaining) :]]) if replaces else (remaining, plain, None)


def check_order(items: list[Json], order: list[Json], key: str) -> None:
    """Check that the items of a patch occur in the order that it gives for its list (`$setElementOrder`).

    Raises:
        UnmergeablePatch: they do not, or cannot be compared.
    """
    if not order or not items:
        return
    for item in items:
        if key and not isinstance(item, dict):
            raise mistyped({}, item)
    remaining = [item for item in items if not (key and item.get(DIRECTIVE) == "delete")]
    at = 0
    for expected in order:
        while at < len(remaining) and isinstance(remaining[at], dict) and DIRECTIVE in remaining[at]:
            at += 1
        if at == len(remaining):
            return
        names = [name_of(item, key) if key else item for item in (remaining[at], expected)]
        if isinstance(names[0], _CONTAINERS) and type(names[0]) is type(names[1]):
            raise InvalidDirective(f"cannot compare items that are {go_type(names[0])}")
        at += _identity(names[0]) == _identity(names[1])
    if at < len(remaining):
        texts = go_map(items), go_map(order)
        raise UnmergeablePatch(
            f"The order in patch list:\n{texts[0]}\n doesn't match $setElementOrder list:\n{texts[1]}\n"
        )


def in_order(
    items: list[Json], order: list[Json], before: list[Json], key: str, sources: tuple[list[Json], ...]
) -> list[Json]:
    """Return the items with those that `order` names in its order.

    The others keep the order that they have in `before`; each stands ahead of a named one if it did so there. `sources`
    are the lists that were merged.

    Raises:
        PatchError: items cannot be compared.
    """
    if not key and any(isinstance(item, _CONTAINERS) for item in (*items, *order)):
        raise InvalidDirective("cannot order a list of objects that has no merge key")
    named, unlisted = _split(items, order, key)
    if item_type(*sources) is dict:
        for item in chain(order, before):
            name_of(item, key)
    earlier = Places(before, key)
    unlisted = _sorted(unlisted, earlier)
    result: list[Json] = []
    waiting = deque(unlisted)
    for item in named:
        position = earlier.find(item)
        while waiting and position is not None and (ahead := earlier.find(waiting[0])) is not None and ahead < position:
            result.append(waiting.popleft())
        result.append(item)
    return [*result, *waiting]


def _split(items: list[Json], order: list[Json], key: str) -> tuple[list[Json], list[Json]]:
    """Return the items that `order` names, in its order, and the others."""
    places = Places(order, key)
    odd = next((at for at, item in enumerate(order) if key and not isinstance(item, dict)), len(order))
    named, unlisted = list[tuple[int, Json]](), list[Json]()
    for item in items:
        if key:
            name_of(item, key)
        position = places.find(item)
        if odd < (len(order) if position is None else position):
            raise UnmergeablePatch(f"value for key {odd} is not a map")
        if position is None:
            unlisted.append(item)
        else:
            named.append((position, item))
    return [item for _, item in sorted(named, key=itemgetter(0))], unlisted


def _sorted(items: list[Json], places: Places) -> list[Json]:
    """Sort items by their places; an item without one is less than all before it, and those after it are less than it.

    As in the server's sort, up to `_INSERTED` items are inserted one by one; of more, those without go ahead.
    """
    pairs = [(places.find(item), item) for item in items]
    unknown = [pair for pair in pairs if pair[0] is None]
    if unknown and len(items) <= _INSERTED:
        result = list[tuple[int | None, Json]]()
        for position, item in pairs:
            at = len(result)
            while at and (position is None or (before := result[at - 1][0]) is None or position < before):
                at -= 1
            result.insert(at, (position, item))
        return [item for _, item in result]
    positioned = [(position, item) for position, item in pairs if position is not None]
    return [item for _, item in (*reversed(unknown), *sorted(positioned, key=itemgetter(0)))]
