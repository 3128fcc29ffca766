import json
from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import FOOS, Kube, foo
from clientgo.errors import ConfigError
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.jqpaths import values_at
from clientgo_apiserver.cluster.stages import Stage, StageController, read_stages, render

READY = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ready}
spec:
  resourceRef: {apiGroup: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  selector:
    matchExpressions:
    - {key: .status.availableReplicas, operator: DoesNotExist}
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  delay: {durationMilliseconds: 1000, jitterDurationMilliseconds: 3000}
  next:
    statusTemplate: |
      availableReplicas: {{ .spec.replicas }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: gone}
spec:
  resourceRef: {apiGroup: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  selector:
    matchLabels: {ends: "yes"}
    matchExpressions:
    - {key: .status.availableReplicas, operator: In, values: ["2"]}
  next: {delete: true}
"""


def kube_with(stages: str) -> Kube:
    kube = Kube()
    StageController(Internal(kube.api), read_stages(yaml.safe_load_all(stages))).start()
    return kube


def step(kube: Kube, seconds: float) -> None:
    kube.clock.step(seconds)
    kube.scheduler.run()


def test_stage_writes_the_status_of_a_custom_object_after_its_delay() -> None:
    kube = kube_with(READY)
    kube.ok("POST", FOOS, foo(replicas=2))
    step(kube, 0.9)
    assert "status" not in kube.ok("GET", f"{FOOS}/a")
    step(kube, 3)
    assert kube.ok("GET", f"{FOOS}/a")["status"] == {"availableReplicas": 2}


def test_stages_follow_each_other_until_the_object_is_deleted() -> None:
    kube = kube_with(READY)
    kube.ok("POST", FOOS, foo(replicas=2, labels={"ends": "yes"}))
    for _ in range(5):
        step(kube, 1)
    kube.refused(404, "GET", f"{FOOS}/a")


def test_stage_patches_and_changes_finalizers() -> None:
    stage = yaml.safe_load(READY.split("---")[0])
    template = "annotations: {seen: {{ .metadata.name }}, at: {{ Now }}}"
    stage["spec"]["selector"] = {
        "matchExpressions": [{"key": '.metadata.annotations["seen"]', "operator": "DoesNotExist"}]
    }
    stage["spec"]["next"] = {
        "finalizers": {"add": [{"value": "example.com/f"}]},
        "patches": [{"root": "metadata", "template": template}],
    }
    kube = kube_with(json.dumps(stage))
    kube.ok("POST", FOOS, foo())
    step(kube, 3)
    meta = kube.ok("GET", f"{FOOS}/a")["metadata"]
    assert (meta["annotations"]["seen"], meta["finalizers"]) == ("a", ["example.com/f"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"next": {"statusTemplate": "a: {{ Pod .x }}"}}, "template expression"),
        ({"delay": {"durationFrom": {}}}, "spec.delay.durationFrom is not supported"),
        ({"selector": {"matchExpressions": [{"key": ".a | length"}]}}, "path '.a | length' is not supported"),
        ({"resourceRef": {}}, "expected an object of kind Stage"),
    ],
)
def test_what_a_stage_cannot_do_is_an_error(change: dict[str, Any], message: str) -> None:
    stage = yaml.safe_load(READY.split("---")[0])
    stage["spec"] |= change
    with pytest.raises(ConfigError, match="stage 'ready'") as raised:
        Stage.read(stage)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".status.phase", ["Running"]),
        ('.metadata.labels["a.b/c"]', ["x"]),
        ('.status.conditions.[] | select( .type == "Ready" ) | .status', ["True"]),
        ('.status.conditions[] | select(.type != "Ready") | .status', ["False"]),
        (".spec.none.deeper", []),
        (".", [{"metadata": {"labels": {"a.b/c": "x"}}}]),
    ],
)
def test_values_at_a_path(path: str, expected: list[Any]) -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "False"}]
    obj: dict[str, Any] = {"metadata": {"labels": {"a.b/c": "x"}}}
    if path != ".":
        obj["status"] = {"phase": "Running", "conditions": conditions}
    assert values_at(obj, path) == expected


def test_template_is_yaml_with_values() -> None:
    assert render("a: {{ .x }}\nb: [{{ Now }}]", {"x": {"y": 1}}, "now") == {"a": {"y": 1}, "b": ["now"]}
