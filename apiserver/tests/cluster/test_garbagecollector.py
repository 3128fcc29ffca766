from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.costs import calls_of
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.admission.namespaces import create_initial
from clientgo_apiserver.cluster.garbagecollector import GarbageCollector
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions, State
from clientgo_apiserver.storage.stored import Key
from tests.definitions import custom_kind

MAPS: Key = ("", "configmaps")
ROLES: Key = ("rbac.authorization.k8s.io", "clusterroles")


class Cluster:
    """A server in process with a garbage collector; config maps own config maps."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.scheduler = ManualScheduler(self.clock)
        state = State(self.scheduler, self.clock)
        create_initial(state)
        self.internal = Internal(Api(state))
        self.collector = GarbageCollector(self.internal)

    def make(self, name: str, *owners: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        metadata = {"name": name, **metadata}
        if owners:
            metadata["ownerReferences"] = list(owners)
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        return self.internal.create(MAPS, metadata.get("namespace", "default"), obj)

    def delete(self, name: str, propagation: str = "Background") -> None:
        self.internal.delete(MAPS, "default", name, propagation=propagation)

    def settle(self) -> None:
        self.scheduler.run()

    def names(self) -> list[str]:
        self.settle()
        return [obj["metadata"]["name"] for obj in self.internal.state.store.list(MAPS)]

    def metadata(self, name: str) -> dict[str, Any]:
        obj = self.internal.state.store.get(MAPS, "default", name)
        assert obj is not None
        result: dict[str, Any] = obj["metadata"]
        return result


def ref(owner: dict[str, Any], *, block: bool = False, **changes: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    result = {"apiVersion": "v1", "kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {**result, **({"blockOwnerDeletion": True} if block else {}), **changes}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    result = Cluster()
    result.collector.start()
    yield result
    result.collector.stop()


def test_recreated_owner_is_another_owner(cluster: Cluster) -> None:
    cluster.make("child", ref(cluster.make("owner")))
    cluster.settle()
    cluster.delete("owner")
    cluster.make("owner")
    assert cluster.names() == ["owner"]


@pytest.mark.parametrize(
    "changes",
    [{"uid": "never-was"}, {"name": "absent"}, {"name": "absent", "uid": "never-was"}],
    ids=["other uid", "other name", "never there"],
)
def test_dependent_of_nonexistent_owner_is_deleted(cluster: Cluster, changes: dict[str, Any]) -> None:
    owner = cluster.make("owner")
    cluster.make("child", ref(owner, **changes))
    assert cluster.names() == ["owner"]


def test_owner_in_another_namespace_is_ignored(cluster: Cluster) -> None:
    owner = cluster.make("owner", namespace="kube-public")
    cluster.make("child", ref(owner))
    assert cluster.names() == ["owner"]


def test_cluster_scoped_object_may_own_a_namespaced_one(cluster: Cluster) -> None:
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": "role"}}
    owner = cluster.internal.create(ROLES, "", role)
    cluster.make("child", ref(owner, apiVersion=f"{group}/v1"))
    assert cluster.names() == ["child"]


@pytest.mark.parametrize("delete_owner", [False, True], ids=["living owner", "deleted owner"])
def test_cluster_scoped_object_with_a_namespaced_owner_stays_as_it_is(cluster: Cluster, delete_owner: bool) -> None:
    owner = cluster.make("owner")
    absent = ref(owner, kind="ClusterRole", apiVersion="rbac.authorization.k8s.io/v1", uid="gone")
    role = {"metadata": {"name": "role", "ownerReferences": [ref(owner), absent]}}
    cluster.internal.create(ROLES, "", role)
    if delete_owner:
        cluster.delete("owner")
    cluster.settle()
    stored = cluster.internal.state.store.get(ROLES, "", "role")
    assert stored is not None
    assert stored["metadata"]["ownerReferences"] == [ref(owner), absent]


def test_owner_in_another_namespace_is_reported_by_an_event(cluster: Cluster) -> None:
    owner = cluster.make("owner", namespace="kube-public")
    cluster.make("child", ref(owner))
    role = {"metadata": {"name": "role", "ownerReferences": [ref(owner)]}}
    cluster.internal.create(ROLES, "", role)
    cluster.settle()
    uid = owner["metadata"]["uid"]
    events = cluster.internal.state.store.list(("", "events"), "default")
    assert sorted((event["involvedObject"]["name"], event["reason"], event["message"]) for event in events) == [
        (name, "OwnerRefInvalidNamespace", f"ownerRef [v1/ConfigMap, namespace: {namespace}, name: owner, uid: {uid}]"
         f' does not exist in namespace "{namespace}"')
        for name, namespace in (("child", "default"), ("role", ""))
    ]  # fmt: skip


def test_owner_in_another_namespace_is_reported_once_the_disk_has_space(cluster: Cluster) -> None:
    owner = cluster.make("owner", namespace="kube-public")
    store = cluster.internal.state.store
    reference = {"metadata": {"name": "child", "ownerReferences": [ref(owner)]}}
    cluster.internal.create(MAPS, "default", reference)
    store.full = True
    cluster.settle()
    store.full = False
    cluster.clock.step(60)
    cluster.settle()
    events = store.list(("", "events"), "default")
    assert [(event["involvedObject"]["name"], event["reason"]) for event in events] == [
        ("child", "OwnerRefInvalidNamespace")
    ]


def test_dependent_with_an_unserved_and_an_absent_owner_stays_as_it_is(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    references = [ref(owner, name="absent"), ref(owner, apiVersion="example.com/v1", kind="Thing", uid="x")]
    cluster.make("child", *references)
    assert cluster.names() == ["child", "owner"]
    assert cluster.metadata("child")["ownerReferences"] == references


def test_dependent_is_collected_once_the_kind_of_its_absent_owner_is_served() -> None:
    scheduler = ManualScheduler(FakeClock())
    internal = Internal(build(scheduler, ServerOptions()))
    owner = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "x"}
    meta = {"name": "child", "ownerReferences": [owner]}
    internal.create(MAPS, "default", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    scheduler.run()
    assert internal.state.store.get(MAPS, "default", "child") is not None
    definitions = ("apiextensions.k8s.io", "customresourcedefinitions")
    internal.create(definitions, "", custom_kind("Thing", "example.com", "v1"))
    scheduler.run()
    assert internal.state.store.get(MAPS, "default", "child") is None


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_circle_of_blocking_owners_is_collected(cluster: Cluster, length: int, propagation: str) -> None:
    circle = [cluster.make(f"m{number}") for number in range(length)]
    for number, owner in enumerate(circle):
        patch = {"metadata": {"ownerReferences": [ref(owner, block=True)]}}
        cluster.internal.patch(MAPS, "default", f"m{(number + 1) % length}", patch)
    assert len(cluster.names()) == length
    cluster.delete("m0", propagation)
    assert cluster.names() == []


def test_dependent_that_joins_a_foreground_deletion_is_waited_for(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    cluster.make("first", ref(owner, block=True), finalizers=["example.com/hold"])
    cluster.delete("owner", "Foreground")
    cluster.settle()
    cluster.make("second", ref(owner, block=True), finalizers=["example.com/hold"])
    cluster.settle()
    assert cluster.metadata("second")["deletionTimestamp"]
    for name in ("first", "second"):
        assert "owner" in cluster.names()
        cluster.internal.patch(MAPS, "default", name, {"metadata": {"finalizers": None}})
    assert cluster.names() == []


def test_namespaced_dependent_of_a_cluster_scoped_owner_is_waited_for(cluster: Cluster) -> None:
    owner = cluster.internal.create(ROLES, "", {"metadata": {"name": "role"}})
    reference = ref({"kind": "ClusterRole", **owner}, block=True, apiVersion="rbac.authorization.k8s.io/v1")
    cluster.make("child", reference, finalizers=["example.com/hold"])
    cluster.internal.delete(ROLES, "", "role", propagation="Foreground")
    cluster.settle()
    assert cluster.internal.state.store.get(ROLES, "", "role") is not None
    cluster.internal.patch(MAPS, "default", "child", {"metadata": {"finalizers": None}})
    assert cluster.names() == []
    assert cluster.internal.state.store.get(ROLES, "", "role") is None


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_work_of_a_deletion_is_linear_in_the_dependents(propagation: str) -> None:
    def release(count: int) -> int:
        cluster = Cluster()
        cluster.collector.start()
        owner = cluster.make("owner")
        for number in range(count):
            cluster.make(f"child-{number}", ref(owner, block=True), finalizers=["example.com/hold"])
        cluster.settle()

        def run() -> None:
            cluster.delete("owner", propagation)
            cluster.settle()
            for number in range(count):
                cluster.internal.patch(MAPS, "default", f"child-{number}", {"metadata": {"finalizers": None}})
                cluster.settle()

        return calls_of(run)

    release(10)
    assert release(400) < 4.2 * release(100)


def test_dependent_of_unserved_owner_kind_stays(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    cluster.make("child", ref(owner, apiVersion="example.com/v1", kind="Thing", uid="x"))
    assert cluster.names() == ["child", "owner"]


def test_foreground_deletion_does_not_wait_for_dependents_that_do_not_block(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    cluster.make("child", ref(owner), finalizers=["example.com/hold"])
    cluster.delete("owner", "Foreground")
    assert cluster.names() == ["child"]
    assert cluster.metadata("child")["deletionTimestamp"]


def test_dependents_of_an_owner_that_others_hold_go_in_a_foreground_deletion_though_they_do_not_block(
    cluster: Cluster,
) -> None:
    owner = cluster.make("owner", finalizers=["example.com/hold"])
    cluster.make("child", ref(owner))
    cluster.delete("owner", "Foreground")
    assert cluster.names() == ["owner"]
    assert cluster.metadata("owner")["finalizers"] == ["example.com/hold"]


def test_foreground_deletion_goes_bottom_up(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    child = cluster.make("child", ref(owner, block=True))
    cluster.make("grandchild", ref(child, block=True), finalizers=["example.com/hold"])
    cluster.delete("owner", "Foreground")
    assert cluster.names() == ["child", "grandchild", "owner"]
    assert cluster.metadata("child")["finalizers"] == ["foregroundDeletion"]
    cluster.internal.patch(MAPS, "default", "grandchild", {"metadata": {"finalizers": None}})
    assert cluster.names() == []


def test_foreground_deletion_ends_when_the_blocking_reference_is_dropped(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    cluster.make("child", ref(owner, block=True), finalizers=["example.com/hold"])
    cluster.delete("owner", "Foreground")
    assert "owner" in cluster.names()
    cluster.internal.patch(MAPS, "default", "child", {"metadata": {"ownerReferences": None}})
    assert cluster.names() == ["child"]


def test_orphaned_dependents_stay_and_lose_their_owner(cluster: Cluster) -> None:
    owner, other = cluster.make("owner"), cluster.make("other")
    cluster.make("child", ref(owner))
    cluster.make("shared", ref(owner), ref(other))
    cluster.delete("owner", "Orphan")
    assert cluster.names() == ["child", "other", "shared"]
    assert "ownerReferences" not in cluster.metadata("child")
    assert cluster.metadata("shared")["ownerReferences"] == [ref(other)]


def test_other_finalizers_are_left_alone(cluster: Cluster) -> None:
    cluster.make("owner", finalizers=["example.com/hold"])
    cluster.delete("owner", "Foreground")
    assert cluster.names() == ["owner"]
    assert cluster.metadata("owner")["finalizers"] == ["example.com/hold"]


def test_orphans_from_before_the_start_are_collected() -> None:
    cluster = Cluster()
    cluster.make("child", ref(cluster.make("owner")))
    cluster.delete("owner")
    assert cluster.names() == ["child"]
    cluster.collector.start()
    assert cluster.names() == []


def test_stopped_collector_collects_nothing(cluster: Cluster) -> None:
    cluster.make("child", ref(cluster.make("owner")))
    cluster.settle()
    cluster.collector.stop()
    cluster.delete("owner")
    assert cluster.names() == ["child"]


def test_many_dependents_are_collected_in_several_turns(cluster: Cluster) -> None:
    owner = cluster.make("owner")
    for index in range(200):
        cluster.make(f"child-{index}", ref(owner))
    cluster.settle()
    cluster.delete("owner")
    assert cluster.names() == []
    assert repr(cluster.collector) == "<GarbageCollector 0 owners, 0 waiting>"


_NUMBERS = st.integers(0, 3)


def test_dependents_are_deleted_in_the_order_of_their_creation() -> None:
    # Not in the order of a set, which depends on the process: equal runs must be equal.
    cluster = Cluster()
    cluster.collector.start()
    owner = cluster.make("owner")
    names = [f"dependent-{number}" for number in (3, 1, 4, 5, 9, 2, 6)]
    for name in names:
        cluster.make(name, ref(owner))
    deleted: list[str] = []
    cluster.internal.state.store.subscribe(
        lambda kind, _key, old, _new: deleted.append(old["metadata"]["name"]) if kind == "DELETED" and old else None
    )
    cluster.delete("owner")
    cluster.settle()
    assert deleted == ["owner", *names]


_STEPS = st.lists(
    st.one_of(
        st.tuples(_NUMBERS, st.frozensets(_NUMBERS, max_size=3), st.booleans()),
        st.tuples(_NUMBERS, st.sampled_from(["Background", "Foreground", "Orphan"]), st.booleans()),
    ),
    min_size=4,
    max_size=24,
)
"""Steps: the object, its owners or the kind of deletion, and whether the collector runs afterwards."""


@given(_STEPS)
def test_remaining_objects_have_only_live_owners(steps: list[tuple[int, Any, bool]]) -> None:
    cluster = Cluster()
    cluster.collector.start()
    free: set[str] = set()  # names made without owners: the collector may not touch them
    for number, detail, settle in steps:
        name = f"m{number}"
        stored = cluster.internal.state.store.get(MAPS, "default", name)
        if isinstance(detail, frozenset) and stored is None:
            owners = [cluster.internal.state.store.get(MAPS, "default", f"m{owner}") for owner in detail]
            references = [ref(owner, block=True) for owner in owners if owner is not None]
            cluster.make(name, *references)
            free = free - {name} if references else free | {name}
        elif isinstance(detail, str) and stored is not None:
            cluster.delete(name, detail)
            free.discard(name)
        if settle:
            cluster.settle()
    names = cluster.names()
    living = {obj["metadata"]["uid"] for obj in cluster.internal.state.store.list(MAPS)}
    assert free <= set(names)
    for name in names:
        metadata = cluster.metadata(name)
        assert "deletionTimestamp" not in metadata
        assert all(reference["uid"] in living for reference in metadata.get("ownerReferences", ()))
