"""Interruptions by a real API server: a restart, a compaction of etcd, and requests rejected as too many (429)."""

import json
import ssl
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPSConnection
from queue import Queue
from typing import Any
from urllib.parse import urlsplit

import pytest

from clientgo.cache.pager import Pager
from clientgo.envtest import Environment, server_from
from clientgo.errors import Expired, TooManyRequests
from clientgo.kubernetes.clients.core_v1 import ConfigMapClient
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.informers.factory import SharedInformerFactory
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.leaderelection import LeaderElector, LeaseLock
from clientgo.meta import GroupVersionResource, ObjectMeta
from clientgo.meta.codec import ObjectList
from clientgo.meta.listwatch import ListOptions
from clientgo.rest import Config, RESTClient
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from tests.e2e.clusters import account_token, namespace
from tests.e2e.controllercases import Cluster
from tests.faults.proxy import Proxy

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

SECONDS = 30.0
END_WATCHES = "--shutdown-watch-termination-grace-period=1s"
"""Without it a terminated kube-apiserver waits for its open watches, until it is killed."""


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name))


def names(maps: list[ConfigMap]) -> list[str]:
    """Return the sorted names, without the one that a controller of the cluster creates in each namespace."""
    return sorted(item.metadata.name for item in maps if item.metadata.name != "kube-root-ca.crt")


@pytest.mark.requires("a restart")
@pytest.mark.parametrize("kill", [False, True], ids=["terminated", "killed"])
def test_controller_continues_after_a_restart_of_the_api_server(*, kill: bool) -> None:
    with closing(Cluster(flags=[END_WATCHES])) as cluster:
        cluster.start()
        cluster.create_foo("before")
        cluster.reports("before", available=1)
        assert cluster.environment.control_plane is not None
        cluster.environment.control_plane.restart(kill=kill)
        cluster.deployments.delete("before")
        cluster.create_foo("after", replicas=2)
        cluster.reports("after", available=2)
        cluster.reports("before", available=1)
        assert sorted(item.metadata.name for item in cluster.deployments.list().items) == ["after", "before"]


@pytest.mark.requires("a restart")
def test_leader_keeps_its_lease_through_a_short_restart() -> None:
    environment, group, stopped = Environment(server=server_from(flags=[END_WATCHES])), Group(), threading.Event()
    with ExitStack() as stack:
        config = stack.enter_context(environment)
        location = stack.enter_context(namespace(config, "restart"))
        kube = stack.enter_context(closing(Clientset(config)))
        lock = LeaseLock(kube, location, "restart", "first")
        elector = LeaderElector(lock, on_started_leading=lambda stop: stop.wait(), on_stopped_leading=stopped.set)
        stack.callback(group.join, 10)
        stack.callback(group.stop)
        group.start(elector.run, group.stop_event, name="candidate")
        eventually(lambda: elector.is_leader, seconds=SECONDS)
        assert environment.control_plane is not None
        environment.control_plane.restart()
        leases = kube.coordination_v1.leases(location)
        renewed = leases.get("restart").spec.renew_time
        eventually(lambda: leases.get("restart").spec.renew_time != renewed, seconds=SECONDS)
        spec = leases.get("restart").spec
        assert (spec.holder_identity, spec.lease_transitions) == ("first", 0)
        assert not stopped.is_set()


@dataclass
class Compacting:
    """A namespace with three ConfigMaps in an API server that forgets versions within seconds and caches none."""

    config: Config
    namespace: str
    maps: ConfigMapClient

    def expire(self, version: str) -> None:
        """Wait until etcd has compacted this version."""

        def expired() -> bool:
            self.maps.patch("a", {"data": {"changed": uuid.uuid4().hex}})  # only changes let etcd forget
            try:
                self.maps.list(resource_version=version, resource_version_match="Exact")
            except Expired:
                return True
            return False

        eventually(expired, seconds=SECONDS)


@pytest.fixture
def compacting() -> Iterator[Compacting]:
    environment = Environment(server=server_from(flags=["--etcd-compaction-interval=1s", "--watch-cache=false"]))
    with environment as config, namespace(config, "expiry") as location, closing(Clientset(config)) as kube:
        maps = kube.core_v1.config_maps(location)
        for name in "abc":
            maps.create(config_map(name))
        yield Compacting(config, location, maps)


@pytest.mark.requires("a restart")
def test_watch_from_a_compacted_version_expires(compacting: Compacting) -> None:
    version = compacting.maps.list().metadata.resource_version
    compacting.expire(version)
    with pytest.raises(Expired):
        next(iter(compacting.maps.watch(resource_version=version)))


@pytest.mark.requires("a restart")
def test_list_in_pages_continues_when_its_token_expires(compacting: Compacting) -> None:
    requested: list[str] = []

    def fetch(options: ListOptions) -> ObjectList[ConfigMap]:
        page = compacting.maps.list_page(options)
        requested.append(options.continue_)
        if len(requested) == 1:
            compacting.expire(page.metadata.resource_version)
        return page

    listed, _ = Pager(fetch, page_size=1).list(ListOptions())
    assert names(list(listed.items)) == ["a", "b", "c"]
    assert requested == ["", ""]  # the second request is the full list in place of the expired page


@pytest.mark.requires("a restart")
def test_informer_lists_again_when_its_version_was_compacted_while_it_was_cut_off(compacting: Compacting) -> None:
    proxy, group = Proxy(compacting.config.host), Group()
    proxy.start()
    with ExitStack() as stack:
        stack.callback(proxy.stop)
        kube = Clientset(replace(compacting.config, host=f"https://127.0.0.1:{proxy.port}"))
        stack.callback(kube.close)
        factory = SharedInformerFactory(kube, namespace=compacting.namespace)
        informer = factory.core.v1.config_maps.informer
        stack.callback(factory.shutdown, 10)
        stack.callback(group.stop)
        factory.start(group.stop_event)
        eventually(lambda: names(informer.indexer.list()) == ["a", "b", "c"], seconds=SECONDS)
        before = informer.state()
        proxy.refuse()
        compacting.maps.delete("b")
        compacting.maps.create(config_map("d"))
        compacting.expire(before.resource_version)
        proxy.listen()
        eventually(lambda: names(informer.indexer.list()) == ["a", "c", "d"], seconds=SECONDS)
        assert informer.state().lists > before.lists


class OneSeat:
    """A priority level with a single seat for the requests of one service account; rejects further ones."""

    LEVELS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations")
    SCHEMAS = GroupVersionResource("flowcontrol.apiserver.k8s.io", "v1", "flowschemas")
    BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")

    def __init__(self, admin: RESTClient, config: Config, location: str, stack: ExitStack) -> None:
        self.admin, self.name, self.place, self.stack = admin, location, location, stack
        token = account_token(admin, location, "limited")
        self.config = replace(config, token=token, client_certificate_data="", client_key_data="")
        account = {"name": "limited", "namespace": location}
        # Without shares, and with none to borrow, a request is let in only while no other is executing.
        limited = {"nominalConcurrencyShares": 0, "lendablePercent": 0, "borrowingLimitPercent": 0}
        level = {"type": "Limited", "limited": {**limited, "limitResponse": {"type": "Reject"}}}
        subject = {"kind": "ServiceAccount", "serviceAccount": account}
        resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
        schema = {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": {"name": self.name},
            "rules": [{"subjects": [subject], "resourceRules": [resources]}],
        }
        role = {"apiGroup": self.BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"}
        self._create(self.BINDINGS, {"roleRef": role, "subjects": [{"kind": "ServiceAccount", **account}]})
        self._create(self.LEVELS, {"spec": level})
        self._create(self.SCHEMAS, {"spec": schema})

    def _create(self, resource: GroupVersionResource, body: dict[str, Any]) -> None:
        body = {"metadata": {"name": self.name}, **body}
        self.admin.do(Request(verb="create", resource=resource, body=json.dumps(body).encode()))
        self.stack.callback(self.admin.do, Request(verb="delete", resource=resource, name=self.name))

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Occupy the seat with a request whose body is not sent."""
        address = urlsplit(self.config.host)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        assert address.hostname is not None
        with closing(HTTPSConnection(address.hostname, address.port, context=context, timeout=SECONDS)) as connection:
            connection.putrequest("POST", f"/api/v1/namespaces/{self.place}/configmaps")
            connection.putheader("Authorization", f"Bearer {self.config.token}")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", "100")
            connection.endheaders()
            yield

    def count(self, outcome: str) -> int:
        """Return the number of `dispatched` or `rejected` requests of this level, from the metrics."""
        expected = (f"apiserver_flowcontrol_{outcome}_requests_total{{", f'priority_level="{self.name}"')
        lines = self.admin.raw("GET", "/metrics").decode().splitlines()
        return sum(int(float(line.split()[-1])) for line in lines if all(part in line for part in expected))


@pytest.fixture
def seat() -> Iterator[OneSeat]:
    with ExitStack() as stack:
        config = stack.enter_context(Environment())
        admin = stack.enter_context(closing(RESTClient(config)))
        yield OneSeat(admin, config, stack.enter_context(namespace(config, "fairness")), stack)


@pytest.mark.requires("priority and fairness")
def test_rejected_request_is_retried_until_the_server_has_a_seat_for_it(seat: OneSeat) -> None:
    done, group = Queue[ConfigMap](), Group()
    with closing(Clientset(seat.config)) as patient, closing(RESTClient(seat.config, max_retries=0)) as impatient:
        maps = patient.core_v1.config_maps(seat.place)
        # A new flow schema is used after a moment: until then the account's requests have another level's seats.
        eventually(lambda: maps.list(limit=1) and seat.count("dispatched"), seconds=SECONDS)
        with seat.taken():
            eventually(lambda: is_rejected(impatient, seat.place), seconds=SECONDS)
            before = seat.count("rejected")
            group.start(lambda: done.put(maps.create(config_map("a"))), name="creating")
            eventually(lambda: seat.count("rejected") > before + 1, seconds=SECONDS)
            assert done.empty()
        assert done.get(timeout=SECONDS).metadata.name == "a"
        group.join(SECONDS)


def is_rejected(client: RESTClient, location: str) -> bool:
    """Return whether a request is rejected with 429 and a Retry-After."""
    try:
        Clientset(client).core_v1.config_maps(location).list(limit=1)
    except TooManyRequests as error:
        return error.retry_after == 1
    return False
