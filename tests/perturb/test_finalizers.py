"""Objects that the user deletes, and that finalizers hold: they are gone once the last one is removed."""

import pytest

pytest.importorskip("clientgo_apiserver")

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Reconciler, with_finalizer, without_finalizer
from clientgo.meta import ObjectMeta, object_name, replace
from clientgo.perturb import ScenarioRun, change, create, delete, perturb
from clientgo.perturb.compare import Masks
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef
from tests.perturb.greetings import Greeting, greeting

CONFIG = ConfigMap(metadata=ObjectMeta(name="config", namespace="default"))
REF = ObjectRef("configmaps", "default", "config")
HELD = "example.com/held"
ALL_GONE = [create(greeting()), create(CONFIG), delete(greeting()), delete(CONFIG)]


class Holds(Reconciler[Greeting], name="holds"):
    """Holds all ConfigMaps by a finalizer, and lets those go that are deleted, as long as there is a greeting."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, _: Greeting) -> None:
        for config in self.client.list(ConfigMap, namespace="default"):
            changed = with_finalizer if config.metadata.deletion_timestamp is None else without_finalizer
            self.client.patch_to(config, changed(config, HELD), optimistic_lock=True)


def test_object_that_is_never_gone_is_left_behind_in_the_undisturbed_run() -> None:
    [reference] = perturb(Holds, ALL_GONE)
    assert reference.verdict == "reference: left-behind: configmaps default/config is being deleted, and never gone"


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([*ALL_GONE, create(greeting())], id="another object is there"),
        pytest.param(
            [create(CONFIG), change(CONFIG, {"metadata": {"finalizers": ["example.com/user"]}}), delete(CONFIG)],
            id="finalizer of the user",
        ),
        pytest.param(
            [
                create(CONFIG, replace(CONFIG, metadata=replace(CONFIG.metadata, name="other"))),
                create(greeting()),
                delete(greeting()),
                change(CONFIG, {"metadata": {"finalizers": [HELD, "example.com/user"]}}),
                delete(CONFIG),
                delete(replace(CONFIG, metadata=replace(CONFIG.metadata, name="other"))),
            ],
            id="finalizer of the user at another object",
        ),
    ],
)
def test_object_that_somebody_else_may_let_go_is_not_left_behind(steps: list[object]) -> None:
    perturb(Holds, [create(greeting()), delete(greeting()), *steps], plans=["reference"]).check()  # type: ignore[list-item]


def _deletion(*actors: str) -> ScenarioRun:
    """Return a run in which the first actor asks for the deletion of an object, and the second one completes it."""
    meta: Object = {"name": "config", "namespace": "default", "uid": "1"}
    before: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    marked: Object = {**before, "metadata": {**meta, "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    run = ScenarioRun(["create", "delete"], states=[ClusterState({REF: before}), ClusterState({})])
    changes = [
        ("user", "ADDED", None, before),
        (actors[0], "MODIFIED", before, marked),
        (actors[1], "DELETED", marked, None),
    ]
    for revision, (actor, kind, old, new) in enumerate(changes):
        run.changes.append(ObjectChange(revision, kind, REF, old, new, actor, int(revision > 0), 0.0, is_blind=False))
    return run


@pytest.mark.parametrize(("asks", "count"), [("user", 0), ("operator", 1)])
def test_deletion_that_the_user_has_asked_for_is_not_the_operator_s(asks: str, count: int) -> None:
    run, reference = _deletion(asks, "operator"), _deletion(asks, "operator")
    reference.changes = reference.changes[:1]
    reference.states[1] = reference.states[0]
    judged = Judged(run, reference, Masks(), {}, is_blind=False)
    assert len(list(ORACLES["deleted"].check(judged))) == count
