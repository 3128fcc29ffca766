"""Names in Python for what somebody else's schema calls as it likes: ASCII, no keyword, and each once.

JSON names may be any text. Letters beyond ASCII are not taken over: Python takes some of them for others, and some look
like others. What a property is called in JSON stands beside its attribute, as a literal.
"""

import re
from collections.abc import Iterable, Iterator

from clientgo.codegen.model import identifier
from clientgo.codegen.source import snake

_LONGEST = 200
"""Characters of a name: it is told wherever it is used, and a class' name has those around it in it."""

# An attribute called like a type or a zero would stand for it in what follows in the class.
_IN_CLASSES = frozenset({
    "bool", "bytes", "datetime", "float", "int", "msgspec", "no_entries", "no_items", "str", "tuple",
})  # fmt: skip
# What objects, and their apply configurations, have themselves.
_IN_OBJECTS = frozenset({"extract", "get", "items", "keys", "kind", "metadata", "values"})

# What modules with classes of kinds import: a class of that name would stand for it.
_IMPORTED = frozenset({
    "Any", "ApplyConfiguration", "BaseClientset", "Clientset", "CreateClient", "FakeClientset", "FakeClientsetMixin",
    "GroupVersionKind", "GroupVersionResource", "InformerFactory", "KindInformer", "Lister", "Mapping",
    "ObjectApplyConfiguration", "ObjectMeta", "ObjectMetaApplyConfiguration", "Requester", "Scale", "ScaleClient",
    "Scheme", "Sequence", "SharedInformerFactory", "StatusClient", "SubresourceClient", "TypedClient", "UnsetType",
})  # fmt: skip


def class_name(kind: str) -> str:
    """The name of a kind's class: the kind's, but for those that generated modules import."""
    return f"{kind}Kind" if kind in _IMPORTED else kind


def class_case(json_name: str) -> str:
    """What a property adds to the name of the class it is in."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", json_name))


class ClassNames:
    """Gives out names of classes, each once; those of kinds are taken from the start."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._taken = {*kinds, *_IMPORTED}
        self._numbers: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """`name` itself, or one that tells it from the others."""
        made = name = name[:_LONGEST]
        while made in self._taken:
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            made = f"{name}Part{number if number > 1 else ''}"
        self._taken.add(made)
        return made


def attribute_names(json_names: Iterable[str], *, root: bool) -> Iterator[tuple[str, str]]:
    """(attribute, JSON name) of each; `root` are those of a kind's own class."""
    taken: set[str] = set(_IN_OBJECTS) if root else set()
    numbers: dict[str, int] = {}
    for json_name in json_names:
        made = name = _attribute_name(json_name)
        while made in taken:
            number = numbers[name] = numbers.get(name, 0) + 1
            made = f"{name}_{number if number > 1 else ''}"
        taken.add(made)
        yield made, json_name


def _attribute_name(json_name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", snake(json_name))[:_LONGEST].strip("_")
    name = identifier(plain or "field")
    return f"{name}_" if name in _IN_CLASSES else name
