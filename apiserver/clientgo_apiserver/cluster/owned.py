"""Objects by their controller: the index that controllers of workloads share, and what it means to be controlled."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from clientgo_apiserver.api.conditions import condition_of
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import is_deleting
from clientgo_apiserver.storage.keys import JOBS, PODS, REPLICA_SETS
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key, Name, name_of

CONTROLLED: frozenset[Key] = frozenset([PODS, REPLICA_SETS, JOBS, ("apps", "controllerrevisions")])
"""Keys of the objects that workloads create."""

DEFAULT_SCHEDULER = "default-scheduler"


def controller_of(obj: Object | None) -> Object | None:
    """Return the owner reference of the object's controller, or None."""
    references: list[Object] = (obj or {}).get("metadata", {}).get("ownerReferences") or []
    for reference in references:
        if reference.get("controller"):
            return reference
    return None


def workload_of(store: Store, pod: Object, kinds: Mapping[str, Key]) -> Object | None:
    """Return the topmost controller of a pod that can be reached by controllers of these kinds, or None."""
    return topmost_controller(store, pod["metadata"]["namespace"], controller_of(pod), kinds)


def topmost_controller(
    store: Store, namespace: str, reference: Object | None, kinds: Mapping[str, Key]
) -> Object | None:
    """Return the topmost controller that can be reached from an owner reference by controllers of these kinds."""
    workload = None
    while reference is not None and reference.get("kind") in kinds:
        stored = store.get(kinds[reference["kind"]], namespace, reference["name"])
        if stored is None or stored["metadata"]["uid"] != reference["uid"]:
            break
        workload, reference = stored, controller_of(stored)
    return workload


ChangeListener = Callable[[Object | None, Object | None, Object | None], None]


class Owned:
    """Index of the stored objects by the uid of their controller, and of those without one by namespace.

    It subscribes to the store before the controllers that use it, so it is up to date in their callbacks.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_uid: defaultdict[tuple[Key, str], set[Name]] = defaultdict(set)
        self._orphans: defaultdict[tuple[Key, str], set[Name]] = defaultdict(set)
        self._listeners: dict[Key, dict[str, ChangeListener]] = {}
        self.waiting: set[Name] = set()
        """Pods that the scheduler has rejected, or that wait for another one."""
        store.subscribe(self._changed, CONTROLLED)
        for key in CONTROLLED:
            for obj in store.list(key):
                self._changed("ADDED", key, None, obj)

    def __repr__(self) -> str:
        return f"<Owned {len(self._by_uid)} controllers>"

    def by(self, owner: Object, key: Key) -> list[Object]:
        """Return the objects of that key that `owner` controls, by name."""
        return self._stored(key, self._by_uid.get((key, owner["metadata"]["uid"]), ()))

    def count(self, uid: str, key: Key) -> int:
        """Return the number of objects of that key whose controller has this uid."""
        return len(self._by_uid.get((key, uid), ()))

    def orphans(self, key: Key, namespace: str) -> list[Object]:
        """Return the objects of that key without a controller, by name."""
        return self._stored(key, self._orphans.get((key, namespace), ()))

    def _stored(self, key: Key, names: "set[Name] | tuple[()]") -> list[Object]:
        return [obj for name in sorted(names) if (obj := self._store.get(key, *name)) is not None]

    def follow(self, key: Key, kind: str, listener: ChangeListener) -> None:
        """Call `listener` after each change of an object of that key, of which a `kind` is or was the controller.

        It is called with the reference to the controller, and with None for changes of objects without one.
        """
        self._listeners.setdefault(key, {})[kind] = listener

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        name = name_of(new or old or {})
        if key == PODS:
            if new is not None and _waits(new):
                self.waiting.add(name)
            else:
                self.waiting.discard(name)
        before, after = controller_of(old), controller_of(new)
        if old is None or new is None or before != after:
            for obj, controller in ((old, before), (new, after)):
                if obj is not None:
                    self._move(key, name, controller, is_there=obj is new)
        listeners = self._listeners.get(key, {})
        for controller in (after,) if before == after else (before, after):
            if controller is not None and controller["kind"] in listeners:
                listeners[controller["kind"]](controller, old, new)
        if new is not None and after is None:
            for listener in listeners.values():
                listener(None, old, new)

    def _move(self, key: Key, name: Name, controller: Object | None, *, is_there: bool) -> None:
        index = self._orphans if controller is None else self._by_uid
        group = (key, name[0] if controller is None else str(controller["uid"]))
        if is_there:
            index[group].add(name)
            return
        index[group].discard(name)
        if not index[group]:
            del index[group]


def _waits(pod: Object) -> bool:
    """Return whether a pod waits for a node that may never come."""
    spec = pod["spec"]
    if spec.get("nodeName") or is_deleting(pod):
        return False
    is_rejected = condition_of(pod, "PodScheduled").get("status") == "False"
    return is_rejected or spec.get("schedulerName", DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER
