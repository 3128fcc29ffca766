"""Judgement by what decides: at-rest invariants, deletions of what is as it should be, and Leases."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clientgo.clock import utc
from clientgo.coordination.options import LeaderElectionOptions
from clientgo.errors import ApiError, ConfigError
from clientgo.kubernetes.types.coordination_v1 import Lease, LeaseSpec
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.manager import Client, ControllerBuilder, Manager, Options, Reconciler, Result
from clientgo.meta import MicroTime, ObjectMeta, meta_for, object_name, replace
from clientgo.perturb import ClusterState, advance, change, create, delete, perturb
from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.elections import Elections
from clientgo.perturb.programs.gate import Outgoing
from clientgo.perturb.state import ObjectRef
from clientgo.record import EventRecorder
from clientgo.typed import DeleteOptions, Preconditions
from tests.perturb.greetings import Correct, Evicts, Greeting, greeting

pytest.importorskip("clientgo_apiserver")

STEPS = [create(greeting()), change(greeting(), {"spec": {"text": "goodbye"}}), delete(greeting())]
GREETINGS = "greetings.greetings.example.com"
LEASES = "leases.coordination.k8s.io"


def texts_match(state: ClusterState) -> bool:
    texts = {obj["metadata"]["name"]: obj["spec"]["text"] for obj in state.all("greetings.greetings.example.com")}
    return all(config["data"]["text"] == texts.get(config["metadata"]["name"]) for config in state.all("configmaps"))


def test_invariants_at_rest_are_not_checked_while_the_operator_cannot_see() -> None:
    results = perturb(Correct, STEPS, at_rest=[texts_match], only=["stale", "unobserved", "late"])
    results.check()
    assert any(len(result.run.blind) for result in results)


class Relabels(Reconciler[Greeting], owns=[ConfigMap], name="relabels"):
    """Replaces the ConfigMap if its label is not the text; nothing else of it changes."""

    def reconcile(self, greeting: Greeting) -> None:
        desired = ConfigMap(metadata=meta_for(greeting, labels={"text": greeting.spec.text}))
        config = self.client.find(ConfigMap, object_name(desired))
        if config is None:
            self.client.create(desired, owner=greeting)
        elif config.metadata.labels != desired.metadata.labels and self.client.is_current(greeting):
            self.client.delete(config, DeleteOptions(preconditions=Preconditions(uid=config.metadata.uid)))


class Replaces(Relabels, name="replaces"):
    """Deletes the ConfigMap whenever a greeting is changed, also the one that is right."""

    def reconcile(self, greeting: Greeting) -> None:
        before = self.client.find(ConfigMap, object_name(greeting))
        if before is not None and greeting.status.text not in ("", greeting.spec.text):
            self.client.delete(before, missing_ok=True)
        super().reconcile(greeting)
        if greeting.status.text != greeting.spec.text:
            status = replace(greeting.status, text=greeting.spec.text)
            self.client.update_status(replace(greeting, status=status))


THREE = [
    create(greeting()),
    change(greeting(), {"spec": {"text": "goodbye"}}),
    change(greeting(), {"spec": {"copies": 2}}),
]


def test_deletion_of_an_object_with_old_labels_is_right() -> None:
    late = "late:greetings.greetings.example.com:2:step"
    results = perturb(Relabels, THREE, plans=["reference", late])
    results.check()
    deleted = [each for each in results.results[1].run.changes if each.kind == "DELETED"]
    assert [each.step for each in deleted] == [2], "the plan does not show what it should"


def test_deletion_of_an_object_that_is_as_it_should_be_is_found() -> None:
    results = perturb(Replaces, THREE, only=["crash-stored", "stale"])
    assert {finding.oracle for result in results.failed for finding in result.findings} >= {"deleted"}


def test_deletion_for_what_was_never_seen_is_not_asked_for() -> None:
    old = ConfigMap(metadata=ObjectMeta(name="old", namespace="default"))
    plans = ["reference", f"unobserved:{GREETINGS}:default/a:1"]
    results = perturb(Evicts, [create(old), create(greeting("old")), delete(greeting())], plans=plans)
    results.check()
    assert [result for result in results if result.run.states[-1].all("configmaps")], "no plan shows what it should"


class Notes(Correct, name="notes"):
    """Writes an annotation once an attempt has failed."""

    def reconcile(self, greeting: Greeting) -> None:
        try:
            super().reconcile(greeting)
        except ApiError:
            self.client.patch(greeting, {"metadata": {"labels": {"failed": "yes"}}})
            raise


def test_ignored_field_may_be_absent() -> None:
    steps = [create(greeting())]
    path = f"{GREETINGS}:metadata.labels.failed"
    assert perturb(Notes, steps, plans=["reference", "error-500:1"]).failed
    perturb(Notes, steps, plans=["reference", "error-500:1"], ignore=[path]).check()


@pytest.mark.parametrize("option", ["ignore", "any_order", "lasting"])
def test_resource_that_is_not_served_is_rejected(option: str) -> None:
    name = "greeting.greetings.example.com" + (":status.text" if option != "lasting" else "")
    options: dict[str, Any] = {option: [name]}
    with pytest.raises(ConfigError, match=r"no resource 'greeting.greetings.example.com': expected .* greetings\."):
        perturb(Correct, STEPS, plans=["reference"], **options)
    perturb(Correct, STEPS, plans=["reference"], allow={"things.example.org": 2, "configmaps": 1}).check()


def test_step_that_sets_an_unknown_field_fails() -> None:
    [result] = perturb(Correct, [create(greeting()), change(greeting(), {"spec": {"txt": "b"}})]).failed
    assert 'unknown field "spec.txt"' in result.findings[0].text


class Leased(Reconciler[Greeting], owns=[Lease], name="leased"):
    """Keeps a Lease for each greeting, and renews it."""

    owned = True

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager.client)
        self.clock = manager.clock

    def reconcile(self, greeting: Greeting) -> Result:
        now = MicroTime.of(datetime.fromtimestamp(self.clock.time(), UTC))
        spec = LeaseSpec(holder_identity=greeting.spec.text, lease_duration_seconds=30, renew_time=now)
        lease = self.client.find(Lease, object_name(greeting))
        if lease is None:
            owner = greeting if self.owned else None
            self.client.create(Lease(metadata=meta_for(greeting), spec=spec), owner=owner)
        elif lease.spec.holder_identity != greeting.spec.text or self.is_due(lease, now):
            self.client.update(replace(lease, spec=spec))
        return Result(requeue_after=10)

    def is_due(self, lease: Lease, now: MicroTime) -> bool:
        renewed = lease.spec.renew_time
        return renewed is None or (now - renewed).total_seconds() >= 10


class Leaks(Leased, name="leaks"):
    """Does not make the greeting the owner."""

    owned = False


def start_leased(manager: Manager) -> None:
    manager.add_reconciler(Leased(manager))


def start_leaks(manager: Manager) -> None:
    manager.add_reconciler(Leaks(manager))


def test_leases_are_state_and_their_renewals_do_not_keep_the_operator_busy() -> None:
    results = perturb(start_leased, STEPS, only=["crash-before", "crash-stored", "error-409", "timeout-after"], limit=8)
    results.check()
    run = results.results[0].run
    assert [len(state.all(LEASES)) for state in run.states] == [1, 1, 0]
    assert next(line.text for line in run.trace if line.lane == "wrote") == f"#1 POST {LEASES} default: 201"
    assert {str(result.plan) for result in results} >= {"crash-before:1"}


def test_lease_left_behind_is_found() -> None:
    [result] = perturb(start_leaks, STEPS).failed
    assert [finding.text for finding in result.findings] == [
        f"{LEASES} default/a is left behind after everything that the user created is gone"
    ]


def test_lease_of_the_election_is_not_part_of_the_scenario() -> None:
    options = Options(name="elected", leader_election=LeaderElectionOptions(id="elected", namespace="default"))
    results = perturb(Correct, STEPS, options=options, plans=["reference", "crash-stored:1"])
    results.check()
    for result in results:
        assert not any(state.all(LEASES) for state in result.run.states)
        assert all(write.subject.resource != LEASES for write in result.run.writes)
    posts = [line for line in results.results[0].run.trace if f"POST {LEASES}" in line.text]
    assert [line.lane for line in posts] == ["wrote"]


def request_for(name: str, method: str = "PUT") -> Outgoing:
    path = "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
    body = b'{"metadata": {"name": "%s"}}' % name.encode()
    return Outgoing(method, path if method == "POST" else f"{path}/{name}", (), body, is_watch=False)


def test_leases_of_an_election_are_those_used_before_the_first_step() -> None:
    elections = Elections()
    assert elections.concern(request_for("leader", "POST"), -1)
    assert elections.concern(request_for("shard-0", "POST"), -1)
    later = {name: elections.concern(request_for(name), 0) for name in ("leader", "shard-1", "leader-1", "a", "shard")}
    assert later == {"leader": True, "shard-1": True, "leader-1": False, "a": False, "shard": False}
    assert ObjectRef(LEASES, "kube-node-lease", "node") in elections


def pod(name: str, node: str, address: str, *, image: str = "app:1") -> dict[str, Any]:
    metadata = {"name": name, "generateName": "shop-", "namespace": "default", "uid": name, "creationTimestamp": "t"}
    spec = {"nodeName": node, "containers": [{"name": "app", "image": image}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running", "podIP": address}}


def slice_of(*addresses: str) -> dict[str, Any]:
    labels = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
    metadata = {"name": "shop-slice", "generateName": "shop-", "namespace": "default", "uid": "slice", "labels": labels}
    return {"metadata": metadata, "endpoints": [{"addresses": [address]} for address in addresses]}


def shop(*pods: dict[str, Any], endpoints: dict[str, Any]) -> ClusterState:
    objects = {ObjectRef("pods", "default", each["metadata"]["name"]): each for each in pods}
    return ClusterState(objects | {ObjectRef("endpointslices.discovery.k8s.io", "default", "shop-slice"): endpoints})


def test_pods_of_a_workload_are_alike_whatever_names_nodes_and_addresses_they_got() -> None:
    first = shop(pod("shop-b", "n1", "1", image="new"), pod("shop-c", "n2", "2"), endpoints=slice_of("1", "2"))
    second = shop(pod("shop-x", "n1", "1"), pod("shop-z", "n2", "2", image="new"), endpoints=slice_of("2", "1"))
    assert normalized(first, Masks()) == normalized(second, Masks())
    third = shop(pod("shop-b", "n1", "1"), pod("shop-c", "n2", "2"), endpoints=slice_of("1", "2"))
    assert normalized(first, Masks()) != normalized(third, Masks())


class AdoptsLater(Reconciler[Greeting], owns=[ConfigMap], name="adopts-later"):
    """Creates a ConfigMap without an owner, and adds the owner then."""

    def reconcile(self, greeting: Greeting) -> None:
        config = ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text})
        if self.client.find(ConfigMap, object_name(config)) is None:
            self.client.create(config)
        self.client.apply(config, owner=greeting)


def test_object_that_is_adopted_later_is_not_ownerless() -> None:
    perturb(AdoptsLater, STEPS[:1], plans=["reference", "crash-stored:1"]).check()


def named(kind: str, name: str, *, uid: str, owner: tuple[str, str] = ("", ""), generated: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": uid}
    if owner[0]:
        metadata["ownerReferences"] = [{"kind": "Deployment", "name": owner[0], "uid": owner[1], "apiVersion": "v1"}]
    if generated:
        metadata["generateName"] = generated
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def workload(suffix: str) -> ClusterState:
    top, middle = f"worker-{suffix}", f"worker-{suffix}-{suffix}"
    return ClusterState({
        ObjectRef("deployments.apps", "default", top): named("Deployment", top, uid=f"1{suffix}"),
        ObjectRef("replicasets.apps", "default", middle): named(
            "ReplicaSet", middle, uid=f"2{suffix}", owner=(top, f"1{suffix}")
        ),
        ObjectRef("pods", "default", f"{middle}-x"): named(
            "Pod", f"{middle}-x", uid=f"3{suffix}", owner=(middle, f"2{suffix}"), generated=f"{middle}-"
        ),
    })  # fmt: skip


def test_names_that_derive_from_a_random_name_are_equal() -> None:
    masks = Masks()
    masks.learn(workload("a"), workload("b"))
    assert normalized(workload("c"), masks) == normalized(workload("d"), masks)


def namespace(name: str, **annotations: str) -> ClusterState:
    metadata = {"name": name, "uid": "u", "annotations": annotations}
    return ClusterState({ObjectRef("namespaces", "", name): {"kind": "Namespace", "metadata": metadata}})


def test_copies_of_an_object_in_annotations_do_not_count() -> None:
    copy = {"kopf.zalando.org/last-handled-configuration": "{}"}
    bare = namespace("shop")
    del bare[ObjectRef("namespaces", "", "shop")]["metadata"]["annotations"]
    assert normalized(namespace("shop", **copy), Masks()) == normalized(bare, Masks())
    assert normalized(namespace("default", **copy), Masks()) == {}
    assert len(normalized(namespace("default", team="red"), Masks())) == 1


def test_annotations_with_dots_can_be_ignored() -> None:
    masks = Masks(["namespaces:metadata.annotations.example.com/count"])
    counts = [namespace("shop", **{"example.com/count": number}) for number in "12"]
    assert normalized(counts[0], masks) == normalized(counts[1], masks)


class Numbers(Reconciler[Greeting], owns=[Secret], name="numbers"):
    """Gives each ConfigMap with a label a Secret, named by the first free number, as long as there is a greeting."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, _: Greeting) -> None:
        numbers = {each.metadata.name: each.data["for"] for each in self.client.api_reader.list(Secret)}
        for config in self.client.api_reader.list(ConfigMap, label_selector="numbered"):
            name = config.metadata.name.encode()
            if name not in numbers.values():
                free = next(text for text in map("n-{}".format, range(9)) if text not in numbers)
                self.client.create(Secret(metadata=meta_for(config, name=free), data={"for": name}), owner=config)
                numbers[free] = name


def test_object_that_was_seen_late_is_served_late() -> None:
    metas = [ObjectMeta(name=name, namespace="default", labels={"numbered": ""}) for name in "wxyz"]
    w, x, y, z = (ConfigMap(metadata=meta) for meta in metas)
    # If the greeting is seen at once, z takes the number of x that is free again; else w, y and z have three numbers.
    steps = [create(greeting()), create(x), create(y), delete(x), create(z), create(w)]
    steps += [change(greeting(), {"spec": {"text": "goodbye"}}), delete(w)]
    results = perturb(Numbers, steps, plans=["reference", f"unobserved:{GREETINGS}:default/a:1"])
    names = [[each["metadata"]["name"] for each in result.run.states[-1].all("secrets")] for result in results]
    assert [sorted(each) for each in names] == [["n-0", "n-1"], ["n-1", "n-2"]]
    results.check()


class Expires(Reconciler[Greeting], owns=[ConfigMap], name="expires"):
    """Keeps a ConfigMap, until the greeting is two minutes old."""

    def reconcile(self, greeting: Greeting) -> Result | None:
        created = greeting.metadata.creation_timestamp
        assert created is not None
        if utc(self.clock) < created + timedelta(seconds=120):
            self.client.apply(ConfigMap(metadata=meta_for(greeting)), owner=greeting)
            return Result.until(created + timedelta(seconds=120), clock=self.clock)
        config = self.client.find(ConfigMap, object_name(greeting))
        if config is not None and self.client.is_current(greeting):
            self.client.delete(config, missing_ok=True)
        return None


class BeginsAnew(Expires, name="begins-anew"):
    """Deletes what it finds after a start, too."""

    def __init__(self, client: Client, recorder: EventRecorder | None = None) -> None:
        super().__init__(client, recorder)
        self._known: set[str] = set()

    def reconcile(self, greeting: Greeting) -> Result | None:
        config = self.client.find(ConfigMap, object_name(greeting))
        if config is not None and greeting.metadata.uid not in self._known:
            self.client.delete(config, missing_ok=True)
        self._known.add(greeting.metadata.uid)
        return super().reconcile(greeting)


@pytest.mark.parametrize(("operator", "number"), [(Expires, 0), (BeginsAnew, 1)])
def test_object_may_be_deleted_by_the_clock_when_the_reference_deletes_it(operator: type[Expires], number: int) -> None:
    """The second step ends at that time, and a little later after a restart."""
    steps = [create(greeting()), create(greeting(name="b")), advance(120)]
    results = perturb(operator, steps, plans=["reference", "down:2"])
    deletions = [each for each in results.results[0].run.changes if each.kind == "DELETED"]
    assert [each.step for each in deletions] == [2, 2], "the scenario does not show what it should"
    assert len(results.failed) == number
