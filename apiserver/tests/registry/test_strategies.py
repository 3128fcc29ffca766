"""Strategies: what each kind resets, prepares, validates and warns of before an object is stored."""

import copy
from typing import Any

import pytest

from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.users import User
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.registry.strategies.kinds import STRATEGIES, strategy_of
from clientgo_apiserver.registry.strategies.services import ServiceStrategy
from clientgo_apiserver.registry.strategies.strategy import (
    CustomStatusStrategy,
    CustomStrategy,
    StatusStrategy,
    Strategy,
)
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.storage.store import Store

REGISTRY = builtin_registry()
NOW = "2024-01-01T00:00:00Z"


class StrategicWrite(Write):
    @property
    def strategy(self) -> Strategy:
        return strategy_of(self.resource, self.subresource)

    def reset(self, new: Object, old: Object) -> Object:
        return self.strategy.reset_fields(self, new, old)

    def created(self, new: Object) -> Object:
        return self.strategy.prepare_for_create(self, new)

    def updated(self, new: Object, old: Object) -> Object:
        return self.strategy.prepare_for_update(self, new, old)


def write_to(resource: Resource, subresource: str) -> StrategicWrite:
    request = HTTPRequest("PUT", "/", user=User("jane", ("dev",)))
    return StrategicWrite(resource, "", "", subresource, "test", False, "Warn", request, NOW)


def write(plural: str, subresource: str = "", group: str = "", version: str = "v1") -> StrategicWrite:
    resource = REGISTRY.find(group, version, plural)
    assert resource is not None
    return write_to(resource, subresource)


def custom(subresource: str = "", *, status: bool = True) -> StrategicWrite:
    kind = ("example.com", "v1", "foos", "Foo", "foo", "FooList")
    return write_to(Resource(*kind, namespaced=True, custom=True, status=status), subresource)


NAMESPACES, DEPLOYMENTS = write("namespaces"), write("deployments", group="apps")
CLAIMS, JOBS = write("persistentvolumeclaims"), write("jobs", group="batch")
REQUESTS = write("certificatesigningrequests", group="certificates.k8s.io")
APPROVAL = write_to(REQUESTS.resource, "approval")


def obj(
    *, generation: int = 1, labels: Object | None = None, annotations: Object | None = None, **remainder: Any
) -> Object:
    meta: Object = {"name": "a", "generation": generation, "resourceVersion": "5"}
    pieces = {"labels": labels, "annotations": annotations}
    return {"metadata": {**meta, **{name: value for name, value in pieces.items() if value is not None}}, **remainder}


@pytest.mark.parametrize(
    ("item", "strategy"),
    [
        (write("configmaps"), Strategy),
        (write("pods", "status"), StatusStrategy),
        (write("services"), ServiceStrategy),
        (write("replicationcontrollers", "status"), StatusStrategy),
        (custom(), CustomStrategy),
        (custom("scale"), CustomStrategy),
        (custom("status"), CustomStatusStrategy),
    ],
)
def test_kinds_without_a_strategy_of_their_own_have_a_general_one(
    item: StrategicWrite, strategy: type[Strategy]
) -> None:
    assert type(item.strategy) is strategy


def test_every_strategy_belongs_to_a_resource_or_subresource_that_is_served() -> None:
    for group, plural, subresource in STRATEGIES:
        resources = REGISTRY.of_storage((group, plural))
        assert resources
        assert not subresource or any(item.name == subresource for item in resources[0].subresources)


@pytest.mark.parametrize(
    ("item", "change", "counted"),
    [
        pytest.param(write("pods"), {"spec": {"a": 2}}, True, id="spec"),
        pytest.param(write("pods"), {"status": {"a": 2}}, False, id="status"),
        pytest.param(write("configmaps"), {"data": {"a": "2"}}, False, id="kind without generation"),
        pytest.param(write("pods", "status"), {"spec": {"a": 2}}, False, id="write of the status"),
        pytest.param(custom(), {"spec": {"a": 2}}, True, id="custom"),
        pytest.param(custom(), {"data": 1}, True, id="other field of a custom kind"),
        pytest.param(custom(), {"status": {"a": 2}}, False, id="custom status"),
        pytest.param(custom(status=False), {"status": {"a": 2}}, True, id="status that is no subresource"),
        pytest.param(custom("status"), {"spec": {"a": 2}}, False, id="write of a custom status"),
        pytest.param(custom(), {"spec": {"a": True}}, True, id="true is not 1"),
    ],
)
def test_generation_counts_changes_of_what_users_ask_for(item: StrategicWrite, change: Object, counted: bool) -> None:
    old = obj(generation=3, spec={"a": 1})
    new = item.updated({**old, **change}, old)
    assert new["metadata"]["generation"] == (4 if counted else 3)


def test_driver_has_a_generation_from_its_first_change_on() -> None:
    item, old = write("csidrivers", group="storage.k8s.io"), obj(spec={"a": 1})
    del old["metadata"]["generation"]
    assert "generation" not in item.updated({**old, "metadata": {"labels": {}}}, old)["metadata"]
    assert item.updated({**old, "spec": {"a": 2}}, old)["metadata"]["generation"] == 1


def test_annotations_of_deployments_are_counted_and_labels_are_not() -> None:
    old = obj(spec={})
    assert DEPLOYMENTS.updated(obj(spec={}, annotations={"a": "b"}), old)["metadata"]["generation"] == 2
    assert DEPLOYMENTS.updated(obj(spec={}, labels={"a": "b"}), old)["metadata"]["generation"] == 1
    pods = write("pods")
    assert pods.updated(obj(spec={}, annotations={"a": "b"}), old)["metadata"]["generation"] == 1


def test_update_keeps_the_status_and_update_of_the_status_keeps_the_rest() -> None:
    old = obj(spec={"a": 1}, status={"b": 1}, labels={"l": "1"}, annotations={"n": "1"})
    new = obj(spec={"a": 2}, status={"b": 2}, labels={"l": "2"}, annotations={"n": "2"})
    assert write("pods").reset(new, old) == {**new, "status": {"b": 1}}
    assert write("services", "status").reset(new, old) == {**new, "spec": {"a": 1}}
    stored = write("deployments", "status", "apps").reset(new, old)
    assert (stored["spec"], stored["status"]) == ({"a": 1}, {"b": 2})
    assert (stored["metadata"]["labels"], stored["metadata"]["annotations"]) == ({"l": "1"}, {"n": "2"})
    meta = {**new["metadata"], "managedFields": [{}], "resourceVersion": "4"}
    stored = custom("status").reset({**new, "metadata": meta}, old)
    assert stored["metadata"] == {**old["metadata"], "managedFields": [{}], "resourceVersion": "4"}


def test_removed_status_stays_and_new_custom_object_has_none() -> None:
    assert custom().reset(obj(), obj(status={"a": 1}))["status"] == {"a": 1}
    assert "status" not in custom("status").reset(obj(), obj(status={"a": 1}))
    assert "status" not in custom().created(obj(status={"a": 1}))
    assert custom(status=False).created(obj(status={"a": 1}))["status"] == {"a": 1}


def test_namespace_has_finalizers_that_only_finalize_changes() -> None:
    assert NAMESPACES.created(obj(spec={}))["spec"] == {"finalizers": ["kubernetes"]}
    assert NAMESPACES.created(obj(spec={"finalizers": ["x/y"]}))["spec"] == {"finalizers": ["x/y", "kubernetes"]}
    old, new = obj(spec={"finalizers": ["kubernetes"]}), obj(spec={"finalizers": []})
    assert NAMESPACES.reset(new, old)["spec"] == {"finalizers": ["kubernetes"]}
    assert write("namespaces", "finalize").reset(new, old)["spec"] == {"finalizers": []}


@pytest.mark.parametrize(
    ("meta", "spec", "ended"),
    [
        ({"deletionTimestamp": NOW}, {}, True),
        ({}, {}, False),
        ({"deletionTimestamp": NOW, "finalizers": ["x/y"]}, {}, False),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}, {}, False),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, {}, True),
        ({"deletionTimestamp": NOW}, {"finalizers": ["kubernetes"]}, False),
    ],
)
def test_update_that_removes_the_last_finalizer_ends_a_deletion(meta: Object, spec: Object, ended: bool) -> None:
    assert NAMESPACES.strategy.should_delete_during_update({"metadata": meta, "spec": spec}) is ended


def test_namespaces_and_definitions_wait_for_their_objects() -> None:
    waiting = NAMESPACES.strategy.terminating(NOW, obj(status={"phase": "Active"}))
    assert waiting is not None
    assert (waiting["metadata"]["deletionTimestamp"], waiting["status"]) == (NOW, {"phase": "Terminating"})
    assert NAMESPACES.strategy.terminating("later", waiting) is waiting
    definitions = write("customresourcedefinitions", group="apiextensions.k8s.io").strategy
    waiting = definitions.terminating(NOW, obj())
    assert waiting is not None
    assert waiting["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert definitions.terminating("later", waiting) is None
    assert DEPLOYMENTS.strategy.terminating(NOW, obj()) is None


def test_job_selects_its_pods_by_its_uid_unless_the_user_selects_them() -> None:
    spec: Object = {"template": {"metadata": {"labels": {"a": "b"}}}}
    job = {"metadata": {"name": "j", "uid": "u"}, "spec": spec}
    built = JOBS.created(job)
    labels = built["spec"]["template"]["metadata"]["labels"]
    assert labels["a"] == "b"
    assert built["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert labels["batch.kubernetes.io/controller-uid"] == labels["controller-uid"] == "u"
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "j"
    manual = {**job, "spec": {**spec, "manualSelector": True}}
    assert JOBS.created(manual) == manual


CLAIM = {"kind": "PersistentVolumeClaim", "name": "p"}
OTHER = {"kind": "Other", "name": "o"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"dataSource": CLAIM}, {"dataSource": CLAIM, "dataSourceRef": CLAIM}),
        ({"dataSourceRef": CLAIM}, {"dataSource": CLAIM, "dataSourceRef": CLAIM}),
        ({"dataSource": OTHER}, {}),
        ({"dataSourceRef": OTHER}, {"dataSource": OTHER, "dataSourceRef": OTHER}),
        ({"dataSourceRef": {**CLAIM, "namespace": "n"}}, {"dataSourceRef": {**CLAIM, "namespace": "n"}}),
    ],
)
def test_claim_has_both_fields_of_its_source(spec: Object, expected: Object) -> None:
    assert CLAIMS.created(obj(spec=spec))["spec"] == expected
    assert CLAIMS.updated(obj(spec=spec), obj(spec=spec))["spec"] == expected


def test_approval_changes_conditions_which_keep_the_time_of_their_last_transition() -> None:
    condition = {"type": "Approved", "status": "True"}
    registered = {**condition, "lastUpdateTime": "then", "lastTransitionTime": "then"}
    old = obj(spec={"request": "r"}, status={"certificate": "c"})
    new = obj(spec={"request": "other"}, status={"certificate": "other", "conditions": [condition]})
    reset = APPROVAL.reset(new, old)
    assert (reset["spec"], reset["status"]) == ({"request": "r"}, {"certificate": "c", "conditions": [condition]})
    (conditions,) = APPROVAL.updated(reset, old)["status"]["conditions"]
    assert (conditions["lastUpdateTime"], conditions["lastTransitionTime"]) == (NOW, NOW)
    (conditions,) = APPROVAL.updated(reset, obj(status={"conditions": [registered]}))["status"]["conditions"]
    assert (conditions["lastUpdateTime"], conditions["lastTransitionTime"]) == (NOW, "then")


@pytest.mark.parametrize("item", [write_to(REGISTRY.of_storage(key[:2])[0], key[2]) for key in STRATEGIES] + [custom()])
def test_no_strategy_changes_its_arguments(item: StrategicWrite) -> None:
    container = {"name": "c", "resources": {}}
    spec: Object = {"finalizers": [], "template": {"metadata": {}}, "ports": [], "type": "ClusterIP", "versions": []}
    spec |= {"containers": [container], "dataSource": CLAIM}
    old = obj(spec=spec, status={"conditions": [{"type": "A"}]})
    new = obj(spec={**spec, "containers": [{**container, "image": "i"}]}, status={"conditions": [{"type": "B"}]})
    new["metadata"]["uid"] = "u"
    before = copy.deepcopy((new, old))
    item.created(new)
    item.updated(item.reset(new, old), old)
    item.strategy.begin_create(Store(), new)
    item.strategy.begin_update(Store(), new, old)
    item.strategy.terminating(NOW, new)
    assert (new, old) == before
