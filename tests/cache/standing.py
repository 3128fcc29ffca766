"""Informer over a fake source and a clock that only the test advances."""

from clientgo.cache import Registration, SharedInformer
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.lifecycle import Group
from clientgo.meta import ObjectMeta
from clientgo.testing.clock import FakeClock
from clientgo.testing.source import FakeSource


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="ns"), data=data)


class Running:
    """Informer over a fake source and a clock that only the test advances."""

    def __init__(self, *, resync: float = 0.0) -> None:
        self.clock = FakeClock()
        self.source = FakeSource(ConfigMap)
        self.informer: SharedInformer[ConfigMap] = SharedInformer(self.source, resync=resync, clock=self.clock)
        self.group = Group()

    def start(self) -> None:
        self.informer.start(self.group)
        self.source.wait_for_watch()

    def end(self) -> None:
        self.group.stop()
        self.informer.close()
        self.group.join(10)

    def wait_synced(self, registration: Registration[ConfigMap]) -> None:
        assert registration.synced.wait(10)
