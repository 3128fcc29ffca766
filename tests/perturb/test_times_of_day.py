"""Operators that act at times of the day: what follows from the clock is not blamed."""

from datetime import timedelta

import pytest

from clientgo.clock import utc
from clientgo.errors import Conflict
from clientgo.kubernetes.types.apps_v1 import (
    Container,
    Deployment,
    DeploymentSpec,
    LabelSelector,
    PodSpec,
    PodTemplateSpec,
)
from clientgo.manager import Reconciler, Result
from clientgo.meta import ObjectMeta, replace
from clientgo.perturb import advance, create, perturb
from tests.perturb.greetings import Greeting, greeting

pytest.importorskip("clientgo_apiserver")

ASLEEP, AWAKE = 20, 50
LABELS = {"app": "web"}
WEB = Deployment(
    metadata=ObjectMeta(name="web", namespace="default"),
    spec=DeploymentSpec(
        replicas=3,
        selector=LabelSelector(match_labels=LABELS),
        template=PodTemplateSpec(
            metadata=ObjectMeta(labels=LABELS), spec=PodSpec(containers=[Container(name="a", image="a")])
        ),
    ),
)


class Sleeps(Reconciler[Greeting], expected=[Conflict], name="sleeps"):
    """Scales the Deployments of a namespace down and up at two minutes of each hour; the status has the last one."""

    def reconcile(self, greeting: Greeting) -> Result:
        now = utc(self.clock)
        hour = now.replace(minute=0, second=0, microsecond=0)
        times = sorted(hour + timedelta(hours=h, minutes=m) for h in (-1, 0, 1) for m in (ASLEEP, AWAKE))
        last = max(each for each in times if each <= now)
        created = greeting.metadata.creation_timestamp or now
        if last >= created and greeting.status.text != str(last):
            replicas = 0 if last.minute == ASLEEP else 3
            for each in self.client.api_reader.list(Deployment, namespace=greeting.metadata.namespace):
                if each.spec.replicas != replicas:
                    self.client.patch(each, {"spec": {"replicas": replicas}})
            self.client.update_status(replace(greeting, status=replace(greeting.status, text=str(last))))
        return Result.until(min(each for each in times if each > now), clock=self.clock)


def test_restart_right_before_a_time_of_the_day_changes_nothing() -> None:
    steps = [create(WEB), create(greeting()), advance(1920), advance(1800)]
    perturb(Sleeps, steps, only=["restart"], ignore=["greetings.greetings.example.com:status.text"]).check()


@pytest.mark.parametrize("how", ["late", "deleted"])
def test_pods_of_a_workload_that_is_created_after_that_time_run(how: str) -> None:
    steps = [create(WEB), create(greeting()), advance(600)]
    results = perturb(Sleeps, steps, plans=["reference", f"dependency:deployments.apps:default/web:{how}"])
    results.check()
    changes = results.results[0].run.changes
    assert any(each.kind == "DELETED" and each.ref.resource == "pods" for each in changes), "the scenario sleeps"
