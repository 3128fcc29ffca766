"""Expired continue token between two pages of a list, tested below the controller, whose lists have one page."""

from collections.abc import Iterable

from clientgo.cache.reflector import Reflector, ReflectorOptions
from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.meta.codec import ObjectList, Undecodable
from clientgo.meta.listwatch import BadEvent, WatchEvent
from clientgo.rest import Config
from clientgo_apiserver.faults import Fault
from clientgo_apiserver.server import ApiServer
from tests.faults.case import MACHINE, Row

EXPIRED_PAGE = "410 at the next page of a list"


class Kept:
    """Sink that stores names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def prepare(self, page: ObjectList[ConfigMap]) -> ObjectList[ConfigMap]:
        """Return objects unchanged."""
        return page

    def replace(self, objects: Iterable[ConfigMap], undecodable: Iterable[Undecodable], version: str) -> None:
        """Store their names."""
        self.names = [entry.metadata.name for entry in objects]

    def apply(self, event: WatchEvent[ConfigMap], version: str) -> None:
        """Do nothing; this test does not watch."""

    def reject(self, event: BadEvent, version: str) -> None:
        """Do nothing; this test does not watch."""

    def bookmark(self, version: str) -> None:
        """Do nothing; this test does not watch."""


def expired_page() -> Row:
    """List five objects in pages of two, and expire the second page; fail unless one more request gets all five."""
    with ApiServer() as server:
        clientset = Clientset(Config(server.url))
        config_maps = clientset.core_v1.config_maps("default")
        for number in range(5):
            config_maps.create(ConfigMap(metadata=ObjectMeta(name=f"page-{number}")))
        fault = server.faults.add(Fault(method="GET", resource="configmaps", skip=1, times=1, code=410))
        sink = Kept()
        began = SYSTEM_CLOCK.now()
        Reflector(config_maps, sink, ReflectorOptions(page_size=2, watch_list=False)).list_once()
        healed = SYSTEM_CLOCK.now() - began
        clientset.close()
        assert fault.hits == 1
        assert sorted(sink.names) == ["kube-root-ca.crt", *(f"page-{number}" for number in range(5))]
    return Row(
        fault=EXPIRED_PAGE,
        does="asks for the whole list at once",
        healed=healed,
        bound=MACHINE,
        since="its beginning",
        real="",
        metric="rest_client_requests_total",
    )
