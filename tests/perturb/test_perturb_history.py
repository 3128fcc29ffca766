"""Remains of a history that are not blamed: marks, releases, defaults, records, serial numbers, and revisions."""

from dataclasses import replace as with_options
from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Reconciler
from clientgo.meta import ObjectMeta, is_controlled_by, meta_for, object_name, replace
from clientgo.perturb import PlanSelection, ScenarioRun, create, delete, perturb, run_scenario
from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.differences import state_differences
from clientgo.perturb.kinds.order import is_order_of_service
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.programs.gate import RequestTarget
from clientgo.perturb.record import OperatorWrite
from clientgo.perturb.state import ClusterState, ObjectChange, ObjectRef
from clientgo.perturb.values import alternatives
from tests.perturb.bench.cases import CASES
from tests.perturb.greetings import Greeting, greeting

pytest.importorskip("clientgo_apiserver")

BY_NAME = {case.name: case for case in CASES}
SELECTED, MARK = "greetings.example.com/selected", "greetings.example.com/seen"


class Marks(Reconciler[ConfigMap], name="marks"):
    """Records in each selected ConfigMap that it was seen."""

    def reconcile(self, config: ConfigMap) -> None:
        if config.metadata.labels.get(SELECTED) and MARK not in config.metadata.annotations:
            self.client.patch(config, {"metadata": {"annotations": {MARK: "yes"}}})


class Exposes(Reconciler[ConfigMap], owns=[ConfigMap], name="exposes"):
    """Creates a child for a selected ConfigMap, and keeps it for ever."""

    def reconcile(self, config: ConfigMap) -> None:
        if config.metadata.labels.get(SELECTED):
            child = ConfigMap(metadata=meta_for(config, f"{config.metadata.name}-child"))
            self.client.apply(child, owner=config, force=True)


class Hides(Exposes, name="hides"):
    """Deletes the child of a ConfigMap that is selected no more."""

    def reconcile(self, config: ConfigMap) -> None:
        super().reconcile(config)
        live = self.client.api_reader.find(ConfigMap, object_name(config))
        if live is not None and not live.metadata.labels.get(SELECTED):
            for child in self.client.list(ConfigMap):
                if is_controlled_by(child, config):
                    self.client.delete(child, missing_ok=True)


LABELLED = ConfigMap(metadata=ObjectMeta(name="a", namespace="default", labels={SELECTED: "yes"}))


def test_mark_in_an_object_that_is_not_selected_any_more_may_stay() -> None:
    perturb(Marks, [create(LABELLED)], only=["metadata"]).check()


def test_child_of_an_object_that_is_not_selected_any_more_is_a_finding() -> None:
    plan = f"metadata:configmaps:default/a:labels.{SELECTED}#2"
    [finding] = perturb(Exposes, [create(LABELLED)], plans=["reference", plan]).failed
    assert "configmaps default/a-child is there, and should not be" in finding.verdict
    perturb(Hides, [create(LABELLED)], only=["metadata"]).check()


class Pins(Reconciler[Greeting], name="pins"):
    """Writes the text into the ConfigMap of the user that the spec's label names."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        for config in self.client.list(ConfigMap):
            is_selected = config.metadata.labels.get(SELECTED) == str(greeting.spec.copies)
            is_due = is_selected and config.data.get("text") != greeting.spec.text
            if is_due and self.client.is_current(greeting):
                self.client.patch(config, {"data": {"text": greeting.spec.text}})


def test_value_of_an_object_that_the_operator_leaves_alone_now_may_stay() -> None:
    metadata = replace(LABELLED.metadata, labels={SELECTED: "1"})
    config = ConfigMap(metadata=metadata, data={"text": "own"})
    perturb(Pins, [create(config), create(greeting())], only=["transition"]).check()


def test_default_that_the_server_chose_at_the_creation_may_stay() -> None:
    case = BY_NAME["scales-back"]
    scenario = with_options(case.scenario(case.correct), examples={"spec.image": ["site:2"]})  # not always pulled
    run_scenario(scenario, PlanSelection(only=["transition"], limit=20)).check()


def test_last_revision_is_kept_for_a_while() -> None:
    case = BY_NAME["keeps-all"]
    run_scenario(case.scenario(case.correct), PlanSelection(only=["transition", "unobserved"])).check()


def test_owners_and_finalizers_are_sets() -> None:
    ref = ObjectRef("configmaps", "default", "a")
    owners, finalizers = [{"name": "x", "uid": "1"}, {"name": "y", "uid": "2"}], ["e/x", "e/y"]
    states = [
        ClusterState({ref: {"metadata": {"uid": "a", "name": "a", "ownerReferences": o, "finalizers": f}}})
        for o, f in ((owners, finalizers), (owners[::-1], finalizers[::-1]), (owners[:1], finalizers))
    ]
    first, second, other = (normalized(state, Masks()) for state in states)
    assert first == second != other


def test_further_item_of_a_list_has_another_port() -> None:
    properties = {"name": {"type": "string"}, "port": {"type": "integer", "maximum": 65535}}
    schema = {
        "type": "object",
        "properties": {"p": {"type": "array", "items": {"type": "object", "properties": properties}}},
    }
    longer = [each.spec.get("p") for each in alternatives(schema, {"p": [{"name": "http", "port": 80}]}, {})]
    assert [{"name": "http", "port": 80}, {"name": "httpb", "port": 81}] in longer


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'[{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}]', 0),
        (b'[{"op": "remove", "path": "/data/absent"}]', 1),
    ],
    ids=["test", "other"],
)
def test_failed_test_of_a_json_patch_is_a_conflict(body: bytes, expected: int) -> None:
    target = RequestTarget("configmaps", "default", "a", "")
    write = OperatorWrite(1, "PATCH", target, 422, 0, 2, body, "the server rejected our request")
    run = ScenarioRun(["create"], writes=[write])
    assert len(list(ORACLES["rejected"].check(Judged(run, run, Masks(), {}, is_blind=False)))) == expected


TICKETS, COUNTER = (
    [ObjectRef("tickets", "default", name) for name in ("a", "b")],
    ObjectRef("configmaps", "default", "c"),
)


def numbered(numbers: tuple[int, int], following: str) -> ClusterState:
    objects: dict[ObjectRef, dict[str, Any]] = {
        ref: {"metadata": {"uid": ref.name, "name": ref.name}, "status": {"number": number}}
        for ref, number in zip(TICKETS, numbers, strict=True)
    }
    return ClusterState({**objects, COUNTER: {"metadata": {"uid": "c", "name": "c"}, "data": {"next": following}}})


@pytest.mark.parametrize(
    ("numbers", "following", "expected"),
    [((2, 3), "4", True), ((2, 2), "3", False), ((2, 3), "9", False)],
    ids=["gap", "twice", "other counter"],
)
def test_serial_numbers_may_have_gaps(numbers: tuple[int, int], following: str, expected: bool) -> None:
    before, after = numbered((1, 2), "3"), numbered(numbers, following)
    reference, run = (
        ScenarioRun(
            [], states=[state],
            changes=[ObjectChange(1, "ADDED", ref, None, obj, "operator", 0) for ref, obj in state.items()],
        )
        for state in (before, after)
    )  # fmt: skip
    differences = list(state_differences(normalized(before, Masks()), normalized(after, Masks())))
    assert is_order_of_service(differences, run, reference, 0) is expected


class CountsLive(Reconciler[Greeting], name="counts-live"):
    """Writes the number of ConfigMaps, which it asks the server for, to the status."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        configs = [each for each in self.client.api_reader.list(ConfigMap) if each.metadata.namespace == "default"]
        if greeting.status.text != (count := str(len(configs))):
            self.client.update_status(replace(greeting, status=replace(greeting.status, text=count)))


def test_object_is_seen_in_a_later_step_if_other_events_of_its_kind_were() -> None:
    first, second = (ConfigMap(metadata=ObjectMeta(name=name, namespace="default")) for name in ("a", "b"))
    steps = [create(greeting()), create(first), create(second), delete(first)]
    perturb(CountsLive, steps, plans=["reference", "unobserved:configmaps:default/a:1"]).check()
