"""Consistency checks of a handler's notifications."""

from collections.abc import Callable
from typing import Any

from clientgo.cache.handlers import DeletedFinalStateUnknown
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.meta.names import ObjectName, object_name


def config_map(name: str, version: int = 0, namespace: str = "ns") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, resource_version=str(version)))


class View:
    """Notifications of one handler, checked for consistency at every call; violations are in `wrong`."""

    def __init__(self, location: Callable[[], object] = lambda: None) -> None:
        """Create a view; `place` is called in each handler call, as a possible thread switch."""
        self.objects: dict[ObjectName, ConfigMap] = {}
        self.closed = False
        # Informers go on when a handler raises, so it must not be left to them.
        self.wrong: list[str] = []
        self._place = location

    def on_add(self, obj: ConfigMap) -> None:
        self._expect(object_name(obj) not in self.objects, "added twice")
        self.objects[object_name(obj)] = obj

    def on_update(self, old: ConfigMap, new: ConfigMap) -> None:
        self._expect(self.objects.get(object_name(new)) == old, "not the last known object")
        self.objects[object_name(new)] = new

    def on_delete(self, gone: ConfigMap | DeletedFinalStateUnknown[ConfigMap]) -> None:
        self._expect(object_name(gone) in self.objects, "gone twice")
        self.objects.pop(object_name(gone), None)

    def added_to(self, informer: Any) -> Any:
        return informer.add_event_handler(on_add=self.on_add, on_update=self.on_update, on_delete=self.on_delete)

    def _expect(self, holds: bool, what: str) -> None:
        self._place()
        if self.closed:
            self.wrong.append("called after it was removed")
        if not holds:
            self.wrong.append(what)
