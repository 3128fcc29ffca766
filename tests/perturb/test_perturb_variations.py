"""Runs of other steps than the scenario's: what they find, and what they do not blame."""

from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Reconciler
from clientgo.meta import ObjectMeta
from clientgo.perturb import PlanSelection, ScenarioRun, create, perturb, run_scenario
from clientgo.perturb.compare import Masks, normalized, state_differences
from clientgo.perturb.kinds.hints import metadata_keys
from clientgo.perturb.kinds.lasting import asks_to_retain
from clientgo.perturb.kinds.order import is_order_of_service
from clientgo.perturb.oracles import ORACLES, Judged
from clientgo.perturb.state import ClusterState, ObjectChange, ObjectRef
from clientgo.perturb.values import refusable
from tests.perturb.bench.cases import CASES
from tests.perturb.bench.inputs import COLOUR, ColourGrant
from tests.perturb.greetings import Greeting, greeting

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
    pairs = zip(CLAIMS, addresses, strict=True)
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
    assert is_order_of_service(differences, run) is expected


def test_fields_in_any_order_have_the_same_values() -> None:
    masks = Masks(any_order=["claims:status.ip"])
    assert normalized(claims("1", "2"), masks) == normalized(claims("2", "1"), masks)
    assert normalized(claims("1", "2"), masks) != normalized(claims("2", "3"), masks)


def test_ignored_values_outside_are_no_difference() -> None:
    runs = [ScenarioRun(["create"], outside=[{"calls": calls, "records": ["a"]}]) for calls in (1, 2)]
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
