"""Random sequences of writes of one object: creates, applies of three managers, updates and patches."""

import random
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.differential.kinds import KINDS, Kind
from tests.differential.shapes import Atomic, Entries, Items, Leaf, Members, Shape, Struct, child_of, key_of, make

MANAGERS = ("m1", "m2", "m3")
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
JSON = "application/json"

Write = dict[str, Any]
"""One write: `verb` (create, update, or a patch's content type), `manager`, `body`, and where they differ from the
defaults `subresource`, `force` and `version`. The body of an update is a list of edits of the object as it is."""

_SHARES = {APPLY: 9, MERGE: 4, STRATEGIC: 5, JSON_PATCH: 3, "update": 4}


@dataclass(slots=True)
class Author:
    """Chooses writes for one object; each applier varies its last configuration."""

    chance: random.Random
    kind: Kind
    configs: dict[tuple[str, str], Any] = field(default_factory=dict)
    created: Any = None  # what the object is like: it was created so

    def first(self) -> Write:
        """Return the write that creates the object."""
        manager = self.chance.choice(MANAGERS)
        self.created = body = make(self.chance, self.kind.body)
        if self.chance.random() < 0.4:
            self.configs[manager, ""] = body
            return {"verb": APPLY, "manager": manager, "body": body, "force": True}
        return {"verb": "create", "manager": manager, "body": body, **self._version()}

    def next(self) -> Write:
        """Return a further write."""
        verb = self.chance.choices([*_SHARES], [*_SHARES.values()])[0]
        if verb == STRATEGIC and not self.kind.typed:
            verb = self.chance.choice((MERGE, APPLY))
        manager = self.chance.choice(MANAGERS)
        sub = "status" if self.kind.status is not None and self.chance.random() < 0.2 else ""
        write: Write = {"verb": verb, "manager": manager, **({"subresource": sub} if sub else {}), **self._version()}
        shape = self._shape(sub)
        if sub and self.chance.random() < 0.2:
            shape = Struct({**shape.fields, "metadata": self.kind.body.fields["metadata"]})
        if verb == APPLY:
            return {
                **write,
                "body": self._config(manager, sub),
                **({"force": True} if self.chance.random() < 0.5 else {}),
            }
        if verb == "update":
            return {**write, "body": [self._edit(shape) for _ in range(self.chance.randint(1, 3))]}
        if verb == JSON_PATCH:
            return {**write, "body": [self._operation(shape) for _ in range(self.chance.randint(1, 3))]}
        partial = strategic if verb == STRATEGIC else merge
        return {**write, "body": partial(self.chance, shape)}

    def _version(self) -> dict[str, str]:
        version = self.chance.choice(self.kind.versions)
        return {"version": version} if version != self.kind.versions[0] else {}

    def _shape(self, sub: str) -> Struct:
        return Struct({"status": self.kind.status}) if sub and self.kind.status else self.kind.updates or self.kind.body

    def _config(self, manager: str, sub: str) -> Any:
        """Vary the last configuration of an applier: members go, come and change."""
        last = self.configs.get((manager, sub))
        if last is None or self.chance.random() < 0.15:
            config = make(self.chance, self._shape(sub), 0.3)
        else:
            config = vary(self.chance, self._shape(sub), last)
        self.configs[manager, sub] = config
        return config

    def _edit(self, shape: Shape) -> list[Any]:
        """Return an edit of an object: a path, and the new value or nothing to remove what is there."""
        path, inner = self._walk(shape)
        return [path] if self.chance.random() < 0.35 else [path, make(self.chance, inner)]

    def _operation(self, shape: Shape) -> dict[str, Any]:
        path, inner = self._walk(shape)
        if isinstance(path[-1], int) and self.chance.random() < 0.3:
            path = [*path[:-1], "-"]
        pointer = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
        name = self.chance.choice(("add", "add", "replace", "remove", "test", "copy", "move"))
        if name in ("copy", "move"):
            source, _ = self._walk(shape)
            if source == ["metadata"]:  # has times, which no two servers share
                source = ["metadata", "labels"]
            origin = "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in source)
            return {"op": name, "from": origin, "path": pointer}
        return {"op": name, "path": pointer, **({} if name == "remove" else {"value": make(self.chance, inner)})}

    def _walk(self, shape: Shape) -> tuple[list[str | int], Shape]:
        path: list[str | int] = []
        value = self.created
        while (step := child_of(self.chance, shape, value)) and (not path or self.chance.random() < 0.85):
            key, shape, value = step
            path.append(key)
        return path, shape


def vary(chance: random.Random, shape: Shape, value: Any) -> Any:
    """Return a value that differs from `value` in a few members."""
    match shape:
        case Struct():
            return _vary_members(chance, shape, value)
        case Entries(keys, inner):
            varied = {key: vary(chance, inner, child) for key, child in value.items() if chance.random() < 0.8}
            return {**varied, **({chance.choice(keys): make(chance, inner)} if chance.random() < 0.2 else {})}
        case Items():
            return _vary_items(chance, shape, value)
        case Members(_) | Leaf(_) | Atomic(_, _):
            return make(chance, shape) if chance.random() < 0.2 else value


def _vary_members(chance: random.Random, shape: Struct, value: dict[str, Any]) -> dict[str, Any]:
    fields = shape.fields
    varied = {name: vary(chance, fields[name], child) if name in fields else child for name, child in value.items()}
    for name in fields:
        if name in varied and name not in (*shape.required, *shape.one_of) and chance.random() < 0.15:
            del varied[name]
        elif name not in varied and name not in shape.one_of and chance.random() < 0.08:
            varied[name] = make(chance, fields[name])
    return varied


def _vary_items(chance: random.Random, shape: Items, value: list[Any]) -> list[Any]:
    items = [vary(chance, shape.item, child) for child in value if chance.random() < 0.8]
    items = items or (value[:1] if shape.needed else [])
    if chance.random() < 0.25:
        new = {**make(chance, shape.item), **chance.choice(shape.keys)}
        if not any(key_of(child, shape.names) == key_of(new, shape.names) for child in items):
            items.insert(chance.randint(0, len(items)), new)
    return chance.sample(items, len(items)) if chance.random() < 0.1 else items


def merge(chance: random.Random, shape: Shape, fill: float = 0.25) -> Any:
    """Return a random merge patch: like a value, with nulls."""
    match shape:
        case Struct(fields, _, _):
            names = [name for name in fields if chance.random() < fill] or [chance.choice(list(fields))]
            return {name: None if chance.random() < 0.15 else merge(chance, fields[name]) for name in names}
        case Entries(keys, inner):
            chosen = chance.sample(keys, chance.randint(0, len(keys)))
            return {key: None if chance.random() < 0.3 else merge(chance, inner) for key in chosen}
    return make(chance, shape)


def strategic(chance: random.Random, shape: Shape, fill: float = 0.25) -> Any:
    """Return a random strategic merge patch, with directives."""
    match shape:
        case Struct(fields, _, _):
            names = (
                [name for name in fields if chance.random() < fill] or [chance.choice(list(fields))] if fields else []
            )
            patch: dict[str, Any] = {}
            for name in names:
                patch |= _strategic_member(chance, name, fields[name])
            return _directed(chance, patch, [*fields])
        case Entries(keys, inner):
            chosen = chance.sample(keys, chance.randint(0, len(keys)))
            entries = {key: None if chance.random() < 0.3 else strategic(chance, inner) for key in chosen}
            return _directed(chance, entries, [*keys])
        case Items() | Atomic(Struct()):
            return _strategic_items(chance, shape)
    return make(chance, shape)


def _strategic_member(chance: random.Random, name: str, shape: Shape) -> dict[str, Any]:
    if chance.random() < 0.1:
        return {name: None}
    member = {name: strategic(chance, shape)}
    match shape:
        case Members(values) | Atomic(Leaf(values), _):
            if chance.random() < 0.4:
                if chance.random() < 0.5:
                    del member[name]
                # What is added too would be deleted before or after it, in random order.
                gone = [value for value in values if value not in member.get(name, ())]
                member[f"$deleteFromPrimitiveList/{name}"] = chance.sample(gone, chance.randint(0, min(2, len(gone))))
            if chance.random() < 0.3:
                member[f"$setElementOrder/{name}"] = chance.sample(values, len(values))
        case Items(names, keys, _, _) if chance.random() < 0.2:
            order = [{names[0]: key[names[0]]} for key in keys if names[0] in key]
            member[f"$setElementOrder/{name}"] = chance.sample(order, chance.randint(0, len(order)))
    return member


def _strategic_items(chance: random.Random, shape: Items | Atomic) -> list[Any]:
    items: list[Any] = []
    for _ in range(chance.randint(0, 3)):
        key = chance.choice(shape.keys) if isinstance(shape, Items) else {}
        if chance.random() < 0.2:
            items.append({**key, "$patch": "delete"})
        else:
            items.append({**strategic(chance, shape.item), **key})
    if chance.random() < 0.1:
        items.insert(chance.randint(0, len(items)), {"$patch": chance.choice(("replace", "delete", "merge"))})
    return items


def _directed(chance: random.Random, patch: dict[str, Any], names: list[str]) -> dict[str, Any]:
    dice = chance.random()
    if dice < 0.04:
        return {**patch, "$patch": chance.choice(("replace", "replace", "delete", "merge"))}
    if dice < 0.08:
        retained = {*patch, *chance.sample(names, chance.randint(0, len(names)))} if chance.random() < 0.8 else set()
        return {**patch, "$retainKeys": sorted(name for name in retained if not name.startswith("$"))}
    return patch


def edited(obj: dict[str, Any], edits: list[list[Any]]) -> dict[str, Any]:
    """Return the object with edits of an update; an edit of what is not there makes it."""
    result = deepcopy(obj)
    for path, *value in deepcopy(edits):  # a later edit may change what an earlier one inserted
        _edit(result, path, value)
    return result


def _edit(holder: Any, path: list[str | int], value: list[Any]) -> None:
    for step, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if not holder:
                holder.append(empty)
            holder = holder[step % len(holder)]
        else:
            if not isinstance(holder.get(step), type(empty)):
                holder[step] = empty
            holder = holder[step]
    last = path[-1]
    if isinstance(last, int):
        if value and (not holder or last >= len(holder)):
            holder.append(value[0])
        elif holder and value:
            holder[last] = value[0]
        elif holder:
            del holder[last % len(holder)]
    elif value:
        holder[last] = value[0]
    else:
        holder.pop(last, None)


def sequence(seed: int, kinds: tuple[str, ...] = (*KINDS, "Thing", "Thing")) -> tuple[Kind, list[Write]]:
    """Return the kind and the writes of a seed."""
    chance = random.Random(seed)
    author = Author(chance, KINDS[chance.choice(kinds)])
    return author.kind, [author.first(), *(author.next() for _ in range(chance.randint(3, 8)))]
