"""Runs of other steps than the scenario's: what they find, and what they do not blame."""

from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    Node,
    NodeCondition,
    NodeStatus,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    Secret,
)
from clientgo.kubernetes.types.rbac_v1 import PolicyRule, Role
from clientgo.kubernetes.types.storage_v1 import StorageClass
from clientgo.manager import ControllerBuilder, Reconciler, create_or_update, set_owner_reference
from clientgo.meta import ObjectMeta, ObjectName, meta_for, new_controller_ref, object_name, replace
from clientgo.perturb import PlanSelection, ScenarioRun, create, perturb, run_scenario
from clientgo.perturb import steps as perturbsteps
from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.differences import state_differences
from clientgo.perturb.engine import Engine
from clientgo.perturb.kinds.hints import metadata_keys
from clientgo.perturb.kinds.lasting import asks_to_retain
from clientgo.perturb.kinds.order import is_order_of_service
from clientgo.perturb.kinds.outside import learn_outside, outside_differences
from clientgo.perturb.kinds.refusals import refuses
from clientgo.perturb.kinds.rehearsal import Moment
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.state import ClusterState, ObjectChange, ObjectRef
from clientgo.perturb.values import refusable
from tests.perturb.bench.cases import CASES
from tests.perturb.bench.inputs import COLOUR, ColourGrant
from tests.perturb.bench.kinds import Bucket
from tests.perturb.bench.lifecycles import PAUSED
from tests.perturb.bench.marked import TEAM
from tests.perturb.greetings import Greeting, GreetingSpec, greeting

pytest.importorskip("clientgo_apiserver")

BY_NAME = {case.name: case for case in CASES}

FOUND = [
    ("label-stays", "metadata", "grants.bench.example.com:default/a:labels.bench.example.com/team#2", "transition"),
    ("colour-once", "metadata", f"grants.bench.example.com:default/a:metadata.{COLOUR}#1", "transition"),
    ("claims-refused", "refused", "grants.bench.example.com:default/a:user#1", "status"),
    ("invalid-for-ever", "refused", "grants.bench.example.com:default/a:user#1", "transition"),
    ("degraded-for-ever", "transition", "buckets.bench.example.com:default/a:spec@1:end", "transition"),
    ("secret-is-late", "dependency", "secrets:default/access:late", "transition"),
    ("settings-unwatched", "dependency", "configmaps:default/settings:data.colour", "transition"),
    ("polls-while-missing", "dependency", "configmaps:default/settings:data.colour", "transition"),
    ("steals-children", "foreign", "configmaps:default/a", "foreign"),
    ("scales-back", "edit", "deployments.apps:default/a:scale", "second-writer"),
    ("all-labels", "edit", "configmaps:default/a:edit", "quiet"),
    ("compares-all", "webhook", "deployments.apps", "quiet"),
    ("only-owner", "edit", "configmaps:default/a:own", "second-writer"),
    ("always-now", "ticking", "", "quiet"),
    ("stays-cordoned", "delete-all", "", "left-behind"),
    ("outlives", "delete-all", "", "left-behind"),
    ("removed-unseen", "delete-all", "down", "outside"),
    ("finalizer-before-end", "delete-all", "crash-stored:1", "outside"),
    ("leaves-copy", "delete-all", "", "left-behind"),
    ("forgets-old-name", "crossed", "buckets.bench.example.com:default/a:secretName#1:crash-stored:2", "final-state"),
    ("volume-by-status", "interrupted", "2", "outside"),
    ("stays-paused", "metadata", f"grants.bench.example.com:default/a:metadata.{PAUSED}#1", "transition"),
    ("ready-for-ever", "edit", "configmaps:default/a:delete", "status"),
    ("hides-fixed-size", "transition", "buckets.bench.example.com:default/a:size#1", "transition"),
    ("asks-once", "transition", "sites.bench.example.com:default/web:image#1:end", "transition"),
    ("settings-unwatched-until-deletion", "dependency", "configmaps:default/settings:data.colour", "transition"),
    ("host-stays", "transition", "sites.bench.example.com:default/a:hosts#1", "outside"),
    ("waits-for-ever", "restart", "2", "final-state"),
    ("token-of-the-process", "restart", "1", "final-state"),
    ("ready-by-old-status", "slow-pods", "", "status"),
    ("fights-autoscaler", "edit", "deployments.apps:default/a:scale", "second-writer"),
    ("bad-blocks-others", "malformed", "configmaps:default/a:bench.example.com/ttl", "transition"),
    ("clears-taints", "delete-all", "", "left-behind"),
    ("keeps-all", "transition", "sites.bench.example.com:default/a:spec@1:end", "transition"),
    ("ends-as-created", "transition", "tasks.bench.example.com:default/a:size#1", "transition"),
    ("stays-quiet", "interrupted", "3", "left-behind"),
    ("error-swallowed", "outage", "1", "final-state"),
    ("logs-failed-parts", "outage", "1:configmaps", "final-state"),
    ("by-count", "edit", "configmaps:default/a-0:delete", "second-writer"),
    ("asks-autoscaler", "edit", "deployments.apps:default/a:scale", "second-writer"),
    ("unwatched", "edit", "configmaps:default/a:delete", "second-writer"),
    ("only-its-pull-secret", "edit", "serviceaccounts:default/builder:beside", "left-behind"),
    ("only-its-pull-secret", "edit", "serviceaccounts:default/builder:before", "second-writer"),
    ("former-copy-stays", "transition", "grants.bench.example.com:default/a:user#2", "transition"),
    ("record-before-finalizer", "interrupted", "1", "outside"),
    ("binds-first-team", "metadata", f"namespaces:blue:labels.{TEAM}#1", "transition"),
    ("stays-paused-and-resumed", "metadata", f"grants.bench.example.com:default/a:metadata.{PAUSED}#1", "transition"),
]


@pytest.mark.parametrize(("name", "kind", "arguments", "oracle"), FOUND, ids=lambda value: str(value)[-20:])
def test_variation_finds_the_bug_and_does_not_blame_the_twin(name: str, kind: str, arguments: str, oracle: str) -> None:
    plan = f"{kind}:{arguments}" if arguments else kind
    selection, case = PlanSelection(plans=["reference", plan]), BY_NAME[name]
    [result] = run_scenario(case.scenario(case.broken), selection).failed
    assert (str(result.plan), result.findings[0].oracle) == (plan, oracle)
    run_scenario(case.scenario(case.correct), selection).check()


@pytest.mark.parametrize("name", ["job-for-first-size", "first-phase", "counts-up", "leaves-cordoned"])
def test_effects_that_are_not_undone_are_no_difference(name: str) -> None:
    case = BY_NAME[name]
    run_scenario(case.scenario(case.correct), PlanSelection(only=["transition", "delete-all"], limit=8)).check()


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("job-for-first-size-and-ends", "unobserved:tasks.bench.example.com:default/a:1"),
        ("leaves-cordoned-and-ends", "unobserved:buckets.bench.example.com:default/a:1"),
        ("ports-by-cache-again", "crash-before:1"),
        ("ports-by-cache-again", "unobserved:pools.bench.example.com:default/a:1"),
        ("volume-by-status", "down:1"),
        ("volume-by-status", "crash-before:1"),
    ],
    ids=["job", "eviction", "port", "deleted", "volumes-at-start", "volumes"],
)
def test_effect_of_a_state_that_was_not_seen_or_of_another_order_is_no_difference(name: str, plan: str) -> None:
    case = BY_NAME[name]
    run_scenario(case.scenario(case.correct), PlanSelection(plans=[plan])).check()


RIGHT = {
    "history-unseen": ("history-by-memory", "late:sites.bench.example.com:2:step"),
    "history": ("history-by-memory", "transition:sites.bench.example.com:default/a:spec@1:end"),
    "attempts": ("counts-first", "each-409"),
    "conditions": ("accepts-alone", "error-409:1"),
    "finished": ("runs-without-key", "transition:tasks.bench.example.com:default/a:size#1"),
    "bill-unseen": ("bills-once", "late:grants.bench.example.com:2:step"),
    "by-the-clock": ("alternates-by-count", "crash-before:1"),
    "autoscaler": ("autoscaler-later", "transition:sites.bench.example.com:default/a:replicas#1"),
    "addresses": ("addresses-once", "dependency:pods:default/one:late"),
    "former-names-unseen": ("request-stays", "late:configmaps:2:step"),
    "not-found": ("secret-first", "transition:buckets.bench.example.com:default/a:secretName#1"),
    "kept-choice": ("elects-once", "dependency:pods:default/one:late"),
    "names-by-generation": ("former-in-status", "transition:sites.bench.example.com:default/a:image#1"),
    "cannot-go-back": ("hides-larger-size", "transition:buckets.bench.example.com:default/a:size#1"),
    "exchanged-places": ("holds-former-lock", "transition:grants.bench.example.com:default/a:user#1:end"),
    "past-job": ("records-job-first", "transition:tasks.bench.example.com:default/a:note#1"),
    "default-of-creation": ("image-at-start", "late:configmaps:1:step"),
    "replicas-left": ("scales-by-status", "transition:pools.bench.example.com:default/a:tier#1"),
    "went-with-owner": ("adopts-for-ever", "late:configmaps:3:step"),
    "later-than-the-clock": ("restarts-after-status", "dependency:deployments.apps:default/app:late"),
    "templates-unseen": ("rolls-by-name", "late:configmaps:1:step"),
}
"""Bench cases and plans in which the state of the twin is another one, and right."""


@pytest.mark.parametrize(("name", "plan"), RIGHT.values(), ids=RIGHT)
def test_another_state_that_is_right_is_no_difference(name: str, plan: str) -> None:
    case = BY_NAME[name]
    run_scenario(case.scenario(case.correct), PlanSelection(plans=[plan])).check()


class CountsPods(Reconciler[Greeting], name="countspods"):
    """Writes the number of pods to the status."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Pod, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        count = str(len(self.client.list(Pod)))
        if greeting.status.text != count:
            self.client.update_status(replace(greeting, status=replace(greeting.status, text=count)))


def test_node_and_address_that_the_cluster_gives_a_pod_are_no_difference() -> None:
    spec = PodSpec(containers=(Container(name="app", image="app"),))
    pods = [Pod(metadata=ObjectMeta(name=name, namespace="default"), spec=spec) for name in ("p", "q")]
    perturb(CountsPods, [create(greeting()), *map(create, pods)], only=["dependency"]).check()


class CountsNodes(Reconciler[Greeting], name="counts-nodes"):
    """Reports the number of nodes, and never writes one."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Node, lambda node: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        status = replace(greeting.status, text=str(len(self.client.list(Node))))
        if status != greeting.status:
            self.client.update_status(replace(greeting, status=status))


def test_status_of_an_object_that_the_operator_never_writes_is_that_of_the_server() -> None:
    ready = NodeCondition(type="Ready", status="True", reason="Test", message="as the user says")
    node = Node(metadata=ObjectMeta(name="n"), status=NodeStatus(conditions=[ready]))
    perturb(CountsNodes, [create(node), create(greeting())], only=["dependency"]).check()


MARKED = {"annotations": {"example.com/grow": "true"}}
FAST = {
    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast", **MARKED},
    "provisioner": "example.com", "allowVolumeExpansion": True,
}  # fmt: skip
REQUESTS = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CLAIM = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
    "spec": {"storageClassName": "fast", **REQUESTS},
}  # fmt: skip


class Labels(Reconciler[ConfigMap], name="labels"):
    """Labels each ConfigMap."""

    def reconcile(self, config: ConfigMap) -> None:
        if "seen" not in config.metadata.labels:
            self.client.patch(config, {"metadata": {"labels": {"seen": "yes"}}})


@pytest.mark.parametrize("ignore", [[], ["persistentvolumes:*"]], ids=["compared", "ignored"])
def test_volume_that_is_provisioned_has_another_name_in_each_run(ignore: list[str]) -> None:
    config = ConfigMap(metadata=ObjectMeta(name="c", namespace="default"))
    perturb(Labels, [create(config), create(FAST), create(CLAIM)], only=["crash-before", "down"], ignore=ignore).check()


class Grows(Reconciler[PersistentVolumeClaim], name="grows"):
    """Asks once for more, while the class of the claim has the mark, and records what there was before."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(StorageClass, lambda _: map(object_name, self.client.list(PersistentVolumeClaim)))

    def reconcile(self, claim: PersistentVolumeClaim) -> None:
        storage = self.client.find(StorageClass, ObjectName("", claim.spec.storage_class_name or ""))
        is_marked = storage is not None and storage.metadata.annotations.get("example.com/grow") == "true"
        if is_marked and "example.com/before" not in claim.metadata.annotations:
            grown = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
            self.client.patch(claim, {"metadata": {"annotations": {"example.com/before": "1Gi"}}, **grown})


@pytest.mark.parametrize("kind", ["metadata", "crash-before"])
def test_object_that_a_mark_of_another_one_releases_may_stay_as_it_was_changed(kind: str) -> None:
    perturb(Grows, [create(FAST), create(CLAIM)], only=[kind]).check()


class Inherits(Reconciler[Greeting], name="inherits"):
    """Writes what is in the namespace `team` to the status."""

    def setup(self, builder: ControllerBuilder) -> None:
        for cls in (Namespace, ConfigMap):
            builder.watches(cls, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        exists = self.client.find(Namespace, ObjectName("", "team")) is not None
        settings = self.client.find(ConfigMap, ObjectName("team", "settings"))
        text = settings.data["text"] if exists and settings is not None else ""
        if greeting.status.text != text:
            self.client.update_status(replace(greeting, status=replace(greeting.status, text=text)))


def test_namespace_that_is_created_again_has_the_user_s_objects() -> None:
    team = Namespace(metadata=ObjectMeta(name="team"))
    settings = ConfigMap(metadata=ObjectMeta(name="settings", namespace="team"), data={"text": "hello"})
    perturb(Inherits, [create(team, settings, greeting())], plans=["dependency:namespaces:team:deleted"]).check()


class StealsIn(Reconciler[Greeting], name="steals-in"):
    """Keeps a ConfigMap in the namespace that a greeting names, and takes over one that another controller owns."""

    def reconcile(self, greeting: Greeting) -> None:
        desired = ConfigMap(metadata=replace(meta_for(greeting), namespace=greeting.spec.text), data={"text": "a"})
        existing = self.client.find(ConfigMap, object_name(desired))
        owners = (new_controller_ref(greeting),)
        if existing is None:
            self.client.create(replace(desired, metadata=replace(desired.metadata, owner_references=owners)))
        elif existing.metadata.owner_references != owners:
            self.client.update(replace(existing, metadata=replace(existing.metadata, owner_references=owners)))


def test_object_of_another_controller_is_created_once_its_namespace_exists() -> None:
    steps = [create(Namespace(metadata=ObjectMeta(name="team"))), create(greeting("team"))]
    [result] = perturb(StealsIn, steps, only=["foreign"]).failed
    assert result.verdict.startswith("foreign:configmaps:team/a: foreign: configmaps team/a is taken over")
    # The namespace and the child come in one step: nothing can be created in between.
    together = [create(Namespace(metadata=ObjectMeta(name="team")), greeting("team"))]
    assert [str(each.plan) for each in perturb(StealsIn, together, only=["foreign"])] == ["reference"]


class Tenant(Reconciler[Greeting], name="tenant"):
    """Creates a namespace, which it never deletes."""

    def reconcile(self, greeting: Greeting) -> None:
        self.client.apply(Namespace(metadata=ObjectMeta(name=f"app-{greeting.metadata.name}")), force=True)


def test_namespaces_that_only_the_user_deletes_may_stay() -> None:
    team = Namespace(metadata=ObjectMeta(name="team"))
    perturb(Tenant, [create(team), create(greeting())], only=["delete-all"]).check()


def test_step_that_needs_what_a_hidden_event_brings_about_is_taken_once_it_is_seen() -> None:
    inside = ConfigMap(metadata=ObjectMeta(name="c", namespace="app-a"))
    steps = [create(greeting()), create(greeting(name="b")), create(inside)]
    plan = "unobserved:greetings.greetings.example.com:default/a:1"
    [_, result] = perturb(Tenant, steps, plans=["reference", plan])
    assert result.verdict == f"{plan}: ok"


class WithSettings(Reconciler[Bucket], owns=[Secret]):
    """Keeps a Secret with the user's settings, and reports each generation as ready."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Bucket)])

    def reconcile(self, bucket: Bucket) -> None:
        settings = self.client.find(ConfigMap, ObjectName("default", "settings"))
        data = {"plan": bucket.spec.plan, **(settings.data if settings else {})}
        self.client.apply(Secret(metadata=meta_for(bucket), string_data=data), owner=bucket, force=True)
        now = "2026-01-01T00:00:00Z"
        ready = {"type": "Ready", "status": "True", "reason": "Written", "message": "", "lastTransitionTime": now}
        status = {"observedGeneration": bucket.metadata.generation, "conditions": [ready]}
        self.client.patch_status(bucket, {"status": status})


def test_status_is_not_judged_by_what_the_operator_cannot_see() -> None:
    bucket = Bucket(ObjectMeta(name="a", namespace="default"))
    settings = ConfigMap(metadata=ObjectMeta(name="settings", namespace="default"), data={"colour": "red"})
    actions = [create(bucket), create(settings), perturbsteps.change(bucket, {"spec": {"plan": "large"}})]
    perturb(WithSettings, actions, plans=["reference", "late:configmaps:2:step"]).check()


def test_children_of_two_owners_may_exist_at_a_time() -> None:
    def children(*owners: str) -> ScenarioRun:
        run = ScenarioRun([], changes=[change(ObjectRef("tenants", "", name), {}, "user") for name in ("oil", "gas")])
        for number, owner in enumerate(owners):
            name = f"c-{number}"
            metadata = {"uid": name, "ownerReferences": [{"kind": "Tenant", "name": owner, "uid": owner}]}
            run.changes.append(change(ObjectRef("configmaps", "default", name), {"metadata": metadata}))
        return run

    def judged(run: ScenarioRun) -> list[str]:
        judged = Judged(run, children("oil"), Masks(), {}, is_blind=False)
        return [violation.text for violation in ORACLES["too-many"].check(judged)]

    assert judged(children("oil", "gas")) == []
    assert judged(children("oil", "oil")) == ["2 objects of configmaps exist at a time, the reference has at most 1"]


class AddsOwner(Reconciler[Greeting], owns=[ConfigMap], name="addsowner"):
    """Writes its text into the ConfigMap of its name, also that of another owner, and adds itself to the owners."""

    def reconcile(self, greeting: Greeting) -> None:
        def filled(config: ConfigMap) -> ConfigMap:
            return set_owner_reference(greeting, replace(config, data={"text": greeting.spec.text}))

        create_or_update(self.client, ConfigMap(metadata=meta_for(greeting)), filled)


def test_object_is_taken_over_by_an_operator_that_adds_itself_as_an_owner_and_writes_its_content() -> None:
    steps = [create(greeting()), perturbsteps.change(greeting(), {"spec": {"text": "goodbye"}})]
    [result] = perturb(AddsOwner, steps, plans=["reference", "foreign:configmaps:default/a"]).failed
    assert [each.oracle for each in result.findings] == ["foreign"]


class LabelsAsVerbs(Reconciler[Greeting], owns=[Role], name="labelsasverbs"):
    """Keeps a Role, whose rule must have a verb."""

    def reconcile(self, greeting: Greeting) -> None:
        rule = PolicyRule(api_groups=["greetings"], resources=["greetings"], verbs=[*greeting.spec.labels])
        self.client.apply(Role(metadata=meta_for(greeting), rules=[rule]), owner=greeting, force=True)


def test_empty_value_that_a_new_child_must_have_too_is_no_finding() -> None:
    labelled = replace(greeting(), spec=GreetingSpec(labels={"get": "true"}))
    perturb(LabelsAsVerbs, [create(labelled)], only=["transition"]).check()


@pytest.mark.parametrize("plan", ["crash-before:1", "unobserved:tasks.bench.example.com:default/a:1"])
def test_object_that_is_deleted_by_the_clock_right_after_the_scenario_may_be_deleted_earlier(plan: str) -> None:
    case = BY_NAME["expires-once"]
    run_scenario(case.scenario(case.correct), PlanSelection(plans=[plan])).check()


def test_numbers_that_a_system_outside_gives_away_in_the_order_of_service_may_be_exchanged() -> None:
    case, selection = BY_NAME["ports-by-cache"], PlanSelection(plans=["unobserved:pools.bench.example.com:default/a:1"])
    run_scenario(case.scenario(case.correct), selection).check()


class Numbered(Reconciler[Greeting], owns=[ConfigMap], name="numbered"):
    """Leaves a ConfigMap for each text."""

    def reconcile(self, greeting: Greeting) -> None:
        metadata = ObjectMeta(name=f"text-{greeting.spec.text or 'none'}", namespace="default")
        self.client.apply(ConfigMap(metadata=metadata, data={"text": greeting.spec.text}), force=True)


def test_resources_that_stay_on_purpose_are_named() -> None:
    only = ["transition", "delete-all"]
    oracles = {finding.oracle for result in perturb(Numbered, [create(greeting())], only=only).failed
               for finding in result.findings}  # fmt: skip
    assert oracles == {"transition", "left-behind"}
    perturb(Numbered, [create(greeting())], only=only, lasting=["configmaps"]).check()


def change(ref: ObjectRef, obj: dict[str, Any], actor: str = "operator", kind: str = "ADDED") -> ObjectChange:
    return ObjectChange(1, kind, ref, None, {"metadata": {"uid": ref.name, "name": ref.name}, **obj}, actor, 0)


CLAIMS = [ObjectRef("claims", "default", name) for name in ("a", "b")]


def claims(*addresses: str) -> ClusterState:
    pairs = zip(CLAIMS[-len(addresses) :], addresses, strict=True)
    return ClusterState(
        {ref: {"metadata": {"uid": ref.name, "name": ref.name}, "status": {"ip": ip}} for ref, ip in pairs}
    )


@pytest.mark.parametrize(
    ("addresses", "further", "expected"),
    [(("2", "1"), (), True), (("2", "2"), (), False), (("2", "1"), ({"status": {"ip": "1"}},), False)],
    ids=["exchanged", "twice", "reassigned"],
)
def test_values_assigned_once_in_another_order_are_no_difference(
    addresses: tuple[str, str], further: tuple[dict[str, Any], ...], expected: bool
) -> None:
    before, after = claims("1", "2"), claims(*addresses)
    differences = list(state_differences(normalized(before, Masks()), normalized(after, Masks())))
    run = ScenarioRun([], changes=[change(ref, obj) for ref, obj in after.items()])
    run.changes += [change(CLAIMS[0], obj, kind="MODIFIED") for obj in further]
    reference = ScenarioRun([], changes=[change(ref, obj) for ref, obj in before.items()])
    run.states = [after]
    assert is_order_of_service(differences, run, reference, 0) is expected


@pytest.mark.parametrize(("actor", "expected"), [("operator", True), ("user", False)])
def test_specs_of_the_operators_objects_may_be_exchanged(actor: str, expected: bool) -> None:
    before, after = (
        ClusterState({ref: {**obj, "spec": obj["status"], "status": {}} for ref, obj in claims(*addresses).items()})
        for addresses in (("1", "2"), ("2", "1"))
    )
    differences = list(state_differences(normalized(before, Masks()), normalized(after, Masks())))
    run = ScenarioRun([], states=[after], changes=[change(ref, obj, actor) for ref, obj in after.items()])
    reference = ScenarioRun([], changes=[change(ref, obj, actor) for ref, obj in before.items()])
    assert is_order_of_service(differences, run, reference, 0) is expected


def test_object_whose_whole_life_is_not_seen_is_no_plan() -> None:
    case = BY_NAME["waits-for-itself"]
    plans = Engine(case.scenario(case.correct)).plans(["unobserved"])
    assert {plan.arguments[0] for plan in plans if plan.arguments} == {"buckets.bench.example.com"}


@pytest.mark.parametrize(
    ("address", "neighbours", "expected"),
    [("1", (), True), ("3", (), False), ("1", ("1",), False)],
    ids=["of-deleted", "of-none", "in-use"],
)
def test_value_that_another_object_had_in_the_reference_is_no_difference(
    address: str, neighbours: tuple[str, ...], expected: bool
) -> None:
    reference = ScenarioRun([], changes=[change(ref, obj) for ref, obj in claims("1", "2").items()])
    before, after = claims("2"), claims(address)
    added = {ObjectRef("claims", "default", "c"): claims(each)[CLAIMS[1]] for each in neighbours}
    state = ClusterState({**after, **added})
    run = ScenarioRun([], states=[state], changes=[change(ref, obj) for ref, obj in after.items()])
    differences = list(state_differences(normalized(before, Masks()), normalized(after, Masks())))
    assert is_order_of_service(differences, run, reference, 0) is expected


@pytest.mark.parametrize(("held", "expected"), [("1", True), ("3", False)], ids=["held-by-another", "held-by-none"])
def test_value_may_be_another_one_if_the_expected_one_was_in_use_when_it_was_assigned(
    held: str, expected: bool
) -> None:
    """The holder was being deleted, which the operator had not seen, and is gone now."""
    before, after = claims("1"), claims("2")
    reference = ScenarioRun([], changes=[change(ref, obj) for ref, obj in before.items()])
    holder = change(CLAIMS[0], claims(held, "2")[CLAIMS[0]])
    assigned = [change(ref, obj) for ref, obj in after.items()]
    run = ScenarioRun([], states=[after], changes=[holder, *assigned, change(CLAIMS[0], {}, kind="DELETED")])
    differences = list(state_differences(normalized(before, Masks()), normalized(after, Masks())))
    assert is_order_of_service(differences, run, reference, 0) is expected


def outside(record: object, uid: str = "a") -> Moment:
    state = ClusterState({CLAIMS[0]: {"metadata": {"uid": uid, "name": "a"}}})
    changes = [change(CLAIMS[0], state[CLAIMS[0]])]
    return Moment(ScenarioRun(["create"], states=[state], outside=[record], changes=changes), 0)


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ({"vol-1": {"of": "x"}, "vol-2": {"of": "y"}}, {"vol-1": {"of": "y"}, "vol-3": {"of": "x"}}, 0),
        ({"vol-1": {"of": "x"}}, {"vol-1": {"of": "x"}, "vol-2": {"of": "x"}}, 1),
        ({"x": 1, "y": 2}, {"x": 2, "y": 1}, 2),
        ({1: "x"}, {1: "y"}, 1),
    ],
    ids=["ids", "twice", "names", "numbers"],
)
def test_ids_outside_are_given_in_any_order(before: object, after: object, count: int) -> None:
    assert len(outside_differences(outside(before), outside(after), Masks())) == count


def test_uids_outside_are_those_of_the_objects() -> None:
    uids = [f"{digit * 8}-5f3c-4b1c-9a25-0d6f6cbb7a01" for digit in "01"]
    first, second = (outside({"tags": [uid]}, uid) for uid in uids)
    assert outside_differences(first, second, Masks()) == []
    assert outside_differences(first, outside({"tags": [uids[0]]}, uids[1]), Masks()) != []


def test_what_differs_outside_between_the_learning_runs_is_masked() -> None:
    first, second, other = (outside({"password": each, "count": len(each)}) for each in ("x", "y", "zz"))
    masks = Masks()
    learn_outside(first.run, second.run, masks)
    assert masks.lines() == ["outside:password"]
    assert outside_differences(first, other, masks) == [(("count",), 1, 2)]


def test_empty_values_in_a_status_are_as_good_as_absent() -> None:
    statuses: tuple[dict[str, Any], ...] = {"done": False, "items": [], "inner": {"count": 0}}, {}
    objects = ({"metadata": {"uid": "a", "name": "a"}, "status": status} for status in statuses)
    states = [ClusterState({CLAIMS[0]: obj}) for obj in objects]
    assert normalized(states[0], Masks()) == normalized(states[1], Masks())


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Unsupported"}, True),
        ({"phase": "Updated"}, False),
        ({"message": "a volume cannot shrink"}, True),
        ({"conditions": [{"type": "Ready", "status": "False", "reason": "Kept"}]}, True),
    ],
    ids=["phase", "claims", "message", "condition"],
)
def test_status_may_say_that_the_spec_is_not_carried_out(status: dict[str, Any], expected: bool) -> None:
    assert refuses({"status": status}, {"status": {"phase": "Ready"}}, {}) is expected
    assert not refuses({"status": status}, {"status": status})


@pytest.mark.parametrize(
    ("name", "plan", "count"),
    [
        ("claims-refused", "refused:grants.bench.example.com:default/a:user#1", 0),
        ("records-first", "refused:buckets.bench.example.com:default/a:plan#1", 1),
    ],
    ids=["reported", "retried"],
)
def test_rejected_write_that_the_status_reports_is_no_finding(name: str, plan: str, count: int) -> None:
    case = BY_NAME[name]
    [result] = run_scenario(case.scenario(case.correct), PlanSelection(plans=[plan])).results
    judged = Judged(result.run, result.run, Masks(), {}, is_blind=False)
    assert len(list(ORACLES["rejected"].check(judged))) == count


def test_fields_in_any_order_have_the_same_values() -> None:
    masks = Masks(any_order=["claims:status.ip"])
    assert normalized(claims("1", "2"), masks) == normalized(claims("2", "1"), masks)
    assert normalized(claims("1", "2"), masks) != normalized(claims("2", "3"), masks)


def test_keys_of_a_map_in_any_order_have_the_same_values() -> None:
    def pool(**numbers: int) -> ClusterState:
        obj = {"metadata": {"name": "p", "uid": "1"}, "status": {"indexes": numbers}}
        return ClusterState({ObjectRef("pools", "default", "p"): obj})

    masks = Masks(any_order=["pools:status.indexes.*"])
    assert normalized(pool(a=1, b=2), masks) == normalized(pool(a=2, b=1), masks)
    assert normalized(pool(a=1, b=2), masks) != normalized(pool(a=2, b=3), masks)


def test_ignored_values_outside_are_no_difference() -> None:
    runs = [outside({"calls": calls, "records": ["a"]}).run for calls in (1, 2)]
    judged = Judged(runs[1], runs[0], Masks(["outside:calls"]), {}, is_blind=False)
    assert list(ORACLES["outside"].check(judged)) == []
    judged = Judged(runs[1], runs[0], Masks(["outside:records"]), {}, is_blind=False)
    assert len(list(ORACLES["outside"].check(judged))) == 1


def test_keys_of_annotations_are_read_from_the_code() -> None:
    assert metadata_keys(ColourGrant) == (COLOUR,)
    assert metadata_keys([ColourGrant, Numbered]) == (COLOUR,)
    assert metadata_keys(lambda manager: manager.add_reconciler(ColourGrant)) == (COLOUR,)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [({"policy": "Retain"}, True), ({"keepData": True}, True), ({"keepData": False}, False), ({"a": "b"}, False)],
    ids=["value", "true", "false", "other"],
)
def test_spec_may_ask_to_retain_children(spec: dict[str, Any], expected: bool) -> None:
    run = ScenarioRun([], changes=[change(CLAIMS[0], {"spec": spec}, "user")])
    assert asks_to_retain(run, {"metadata": {}}) is expected


def test_refusable_values_fit_the_schema() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    fields = {
        "name": text, "mode": {**text, "enum": ["a"]}, "short": {**text, "maxLength": 3},
        "port": {**number, "minimum": 1}, "size": {**number, "minimum": 0}, "any": number,
    }  # fmt: skip
    spec = {"name": "a", "mode": "a", "short": "a", "port": 80, "size": 1, "any": 1}
    changed = refusable({"type": "object", "properties": fields}, spec)
    assert [each.text for each in changed] == ["name = 'Not valid!'", "port = 70000", "any = -1"]
