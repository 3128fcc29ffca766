"""Index of label selectors: those that may select an object are found without trying all."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.storage.stored import Name

Label = tuple[str, str, str]  # namespace, key, value
Labels = Mapping[str, str]


def required_labels(namespace: str, selector: Object) -> list[list[Label]]:
    """Return lists of labels, of each of which a selected object has one."""
    required = [[(namespace, key, value)] for key, value in (selector.get("matchLabels") or {}).items()]
    required += [
        [(namespace, each["key"], value) for value in each.get("values") or ()]
        for each in selector.get("matchExpressions") or ()
        if each.get("operator") == "In"
    ]
    return required


class SelectorIndex:
    """Names of objects with selectors, by the rarest label that their selector requires."""

    def __init__(self) -> None:
        self._by_label: defaultdict[Label, set[Name]] = defaultdict(set)
        self._others: defaultdict[str, set[Name]] = defaultdict(set)  # that require no label, by namespace
        self._labels: dict[Name, list[Label]] = {}

    def __bool__(self) -> bool:
        return bool(self._labels) or any(self._others.values())

    def add(self, name: Name, selector: Object) -> None:
        """Add an object with its selector, or replace its selector."""
        self.discard(name)
        required = required_labels(name[0], selector)
        if not required:
            self._others[name[0]].add(name)
            return
        rarest = min(required, key=lambda labels: sum(len(self._by_label.get(label, ())) for label in labels))
        self._labels[name] = rarest
        for label in rarest:
            self._by_label[label].add(name)

    def discard(self, name: Name) -> None:
        """Remove an object, if it is there."""
        self._others[name[0]].discard(name)
        for label in self._labels.pop(name, ()):
            self._by_label[label].discard(name)
            if not self._by_label[label]:
                del self._by_label[label]

    def candidates(self, namespace: str, labels: Labels) -> Iterator[Name]:
        """Yield the objects whose selector may select these labels, each once."""
        yield from tuple(self._others.get(namespace, ()))
        names: set[Name] = set()
        for key, value in labels.items():
            names |= self._by_label.get((namespace, key, value), set())
        yield from sorted(names)  # a set's order depends on the process


class LabelIndex:
    """Names of objects by their labels."""

    def __init__(self) -> None:
        self._by_label: defaultdict[Label, set[Name]] = defaultdict(set)

    def update(self, name: Name, before: Labels, after: Labels) -> None:
        """Replace the labels of an object."""
        if before == after:
            return
        for key, value in before.items():
            self._by_label[name[0], key, value].discard(name)
        for key, value in after.items():
            self._by_label[name[0], key, value].add(name)

    def candidates(self, namespace: str, selector: Object) -> set[Name] | None:
        """Return the objects that the selector may select; None if any of the namespace may be."""
        required = required_labels(namespace, selector)
        if not required:
            return None
        options = [[self._by_label.get(label, set()) for label in labels] for labels in required]
        return set().union(*min(options, key=lambda sets: sum(map(len, sets))))
