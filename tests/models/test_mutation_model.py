"""Own writes compared with a model of the server, for any order of writes, responses, events and lists."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.cache import MutationCache, SharedInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta, ObjectName, replace
from clientgo.meta.listwatch import ChangeType, ListOptions
from clientgo.testing.watchsource import FakeSource
from tests.models.budget import examples

NAMES = (ObjectName("ns", "a"), ObjectName("ns", "b"))
KEEP = {"keep": "yes"}


def only_kept(options: ListOptions) -> ListOptions:
    return replace(options, label_selector="keep=yes")


class World:
    """Server with two names, an overlay over its informer, and what is still on the way between them."""

    def __init__(self, *, selects: bool) -> None:
        self._selects = selects
        self.version = 1
        self.objects: dict[ObjectName, ConfigMap] = {}
        # Versions of each name, with the object as it is selected then.
        self.history: dict[ObjectName, list[tuple[int, ConfigMap | None]]] = {name: [(0, None)] for name in NAMES}
        # The version of the last own write that has been answered, by name. None if only its uid is known.
        self.answered: dict[ObjectName, int] = dict.fromkeys(NAMES, 0)
        self.events: list[tuple[ChangeType, ConfigMap]] = []
        self.responses: list[Callable[[], None]] = []
        self.informer: SharedInformer[ConfigMap] = SharedInformer(
            FakeSource(ConfigMap),
            indexers={"name": lambda obj: [obj.metadata.name]},
            tweak=only_kept if selects else None,
        )
        self.cache = MutationCache.over(self.informer)
        self.relist()

    def write(self, name: ObjectName, change: str, *, local: bool) -> None:
        """Create, change, relabel or delete an object, if that is possible."""
        old = self.objects.get(name)
        if (old is None) is not (change == "create"):
            return
        before = self.cache.before_write(name) if local else None
        new = self._changed(name, old, change)
        self._store(name, old, new)
        if before is None:
            return
        version = self.version

        def respond() -> None:
            if new is not None:
                self.cache.mutation(new, before=before)
            elif old is not None:
                self.cache.deletion(name, old.metadata.uid, before=before)
                if old.metadata.uid not in before[1:]:  # of earlier objects of this name only the uid counts
                    self.answered[name] = -1
                    return
            if self.answered[name] >= 0:
                self.answered[name] = max(self.answered[name], version)

        self.responses.append(respond)

    def respond(self, *, last: bool) -> None:
        """Deliver a response."""
        if self.responses:
            self.responses.pop(-1 if last else 0)()

    def hear(self) -> None:
        """Apply the next event."""
        if self.events:
            change, obj = self.events.pop(0)
            self.informer.distributor.apply("", change, obj, obj.metadata.resource_version)

    def relist(self) -> None:
        """Replace the store by a list of the current objects."""
        self.events.clear()
        objects = [obj for obj in self.objects.values() if self._selected(obj) is not None]
        self.informer.distributor.replace("", objects, set(), str(self.version))

    def check(self) -> None:
        """Check that each read returns the state after the last answered write, or a newer one."""
        listed = {obj.metadata.name: obj for obj in self.cache.list()}
        for name in NAMES:
            read = self.cache.get_by_key(name)
            assert listed.get(name.name) == read
            assert self.cache.by_index("name", name.name) == ([read] if read is not None else [])
            if self.answered[name] >= 0:
                assert read in self._states_since(name, self.answered[name])

    def settle(self) -> None:
        """Deliver everything; then every read returns the current state."""
        while self.responses:
            self.respond(last=False)
        while self.events:
            self.hear()
        for name in NAMES:
            assert self.cache.get_by_key(name) == self.history[name][-1][1]

    def _states_since(self, name: ObjectName, version: int) -> list[ConfigMap | None]:
        history = self.history[name]
        first = max(number for number, (at, _) in enumerate(history) if at <= version)
        return [state for _, state in history[first:]]

    def _changed(self, name: ObjectName, old: ConfigMap | None, change: str) -> ConfigMap | None:
        self.version += 1
        version = str(self.version)
        if old is None:
            meta = ObjectMeta(name=name.name, namespace="ns", uid=f"u{version}", labels=KEEP)
            return ConfigMap(metadata=replace(meta, resource_version=version))
        if change == "delete":
            return None
        labels = ({} if old.metadata.labels else KEEP) if change == "relabel" else old.metadata.labels
        return replace(old, metadata=replace(old.metadata, resource_version=version, labels=labels))

    def _store(self, name: ObjectName, old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is None:
            self.objects.pop(name)
        else:
            self.objects[name] = new
        before, after = self._selected(old), self._selected(new)
        self.history[name].append((self.version, after))
        if after is not None:
            self.events.append(("ADDED" if before is None else "MODIFIED", after))
        elif before is not None:
            meta = replace(before.metadata, resource_version=str(self.version))
            self.events.append(("DELETED", replace(before, metadata=meta)))

    def _selected(self, obj: ConfigMap | None) -> ConfigMap | None:
        return obj if obj is not None and (not self._selects or obj.metadata.labels) else None


# Mostly one name: the events and responses of one object are what may come in a wrong order.
NAME = st.sampled_from((*NAMES[:1] * 4, NAMES[1]))
WRITES = st.tuples(NAME, st.sampled_from(["create", "change", "relabel", "delete"]), st.booleans())
STEPS = st.lists(WRITES | st.sampled_from(["respond", "respond last", "hear", "hear", "relist"]), max_size=30)


@pytest.mark.parametrize("selects", [False, True], ids=["all objects", "objects with a label"])
@settings(max_examples=examples(500), deadline=None)
@given(steps=STEPS)
def test_reads_include_answered_writes(selects: bool, steps: list[tuple[ObjectName, str, bool] | str]) -> None:
    world = World(selects=selects)
    for step in steps:
        if isinstance(step, tuple):
            world.write(step[0], step[1], local=step[2])
        elif step == "hear":
            world.hear()
        elif step == "relist":
            world.relist()
        else:
            world.respond(last=step == "respond last")
        world.check()
    world.settle()
