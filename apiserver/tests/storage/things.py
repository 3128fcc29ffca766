"""Objects of one kind in a store, and a watcher that records events."""

from typing import Any

from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import StorageEvent

KEY = ("", "things")


def thing(name: str, namespace: str = "ns", value: int = 0) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name, "namespace": namespace}, "value": value}


def names(store: Store, **options: Any) -> list[str]:
    return [entry.object["metadata"]["name"] for entry in store.window(KEY, "ns", **options)]


class Recorder:
    def __init__(self) -> None:
        self.events: list[StorageEvent] = []

    def deliver(self, event: StorageEvent) -> None:
        self.events.append(event)

    def unserved(self, resource: Resource) -> None:
        raise AssertionError(f"{resource.qualified} is no longer served")
