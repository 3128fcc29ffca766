"""Values of wrong types anywhere in an object: a client's mistake is never an internal error."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.tests.fuzzinputs import CORE, outcome
from apiserver.tests.inprocess import Kube
from tests.models.budget import examples

Object = dict[str, Any]
Step = str | int
AUTHENTICATION, AUTHORIZATION = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"
ATTRIBUTES: Object = {
    "resourceAttributes": {
        "namespace": "default",
        "verb": "get",
        "group": "",
        "resource": "pods",
        "fieldSelector": {"requirements": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]},
        "labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]},
    },
    "extra": {"scopes": ["a"]},
    "groups": ["a"],
    "user": "a",
    "uid": "1",
}
NAMED: Object = {"name": "a", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]}
REQUEST: Object = {"name": "r", "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}]}}
SUBJECTS: list[Object] = [{"kind": "Group", "group": {"name": "g"}}]
QUEUE: Object = {"type": "Queue", "queuing": {"queues": 8, "handSize": 2, "queueLengthLimit": 1}}
URLS: Object = {"verbs": ["get"], "nonResourceURLs": ["/a"]}
OBJECTS: list[tuple[str, Object]] = [
    (f"{AUTHENTICATION}/tokenreviews", {"metadata": NAMED, "spec": {"token": "t", "audiences": ["a"]}}),
    (f"{AUTHORIZATION}/subjectaccessreviews", {"metadata": {}, "spec": ATTRIBUTES}),
    (f"{AUTHORIZATION}/selfsubjectaccessreviews",
     {"spec": {"nonResourceAttributes": {"path": "/a", "verb": "get"}}}),
    (f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews", {"spec": ATTRIBUTES}),
    (f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}),
    (f"{CORE}/pods/p/binding", {"metadata": NAMED, "target": {"kind": "Node", "name": "n"}}),
    (f"{CORE}/pods/p/eviction",
     {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 1, "preconditions": {"uid": "u"}}}),
    (f"{CORE}/serviceaccounts/s/token",
     {"spec": {"audiences": ["a"], "expirationSeconds": 600, "boundObjectRef": {"kind": "Pod", "name": "p"}}}),
    (f"{CORE}/secrets", {"metadata": NAMED, "type": "kubernetes.io/dockercfg", "data": {".dockercfg": "e30="}}),
    (f"{CORE}/secrets", {"metadata": NAMED, "type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": ""}}),
    ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
     {"metadata": NAMED, "spec": {"devices": {"requests": [REQUEST], "constraints": [{"matchAttribute": "a.b/c"}]}}}),
    ("/apis/resource.k8s.io/v1/resourceslices",
     {"metadata": NAMED, "spec": {"driver": "a.b", "allNodes": True, "pool": {"name": "p", "resourceSliceCount": 1},
      "devices": [{"name": "d", "attributes": {"a": {"version": "1.0.0"}}, "capacity": {"m": {"value": "1"}}}]}}),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
     {"metadata": NAMED, "spec": {"priorityLevelConfiguration": {"name": "a"},
      "distinguisherMethod": {"type": "ByUser"}, "rules": [{"subjects": SUBJECTS, "nonResourceRules": [URLS]}]}}),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
     {"metadata": NAMED, "spec": {"type": "Limited", "limited": {"limitResponse": QUEUE}}}),
    ("/apis/apiregistration.k8s.io/v1/apiservices",
     {"metadata": {"name": "v1.a.b"}, "spec": {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1,
      "versionPriority": 1, "caBundle": "AAAA", "service": {"name": "s", "namespace": "n", "port": 443}}}),
]  # fmt: skip
WRONG: st.SearchStrategy[Any] = st.sampled_from([
    None, True, False, 0, -1, 7, 2**63, 1.5, 1e300, "", "a", "A b", "kubernetes.io/tls ", "\u0000", "a/b/c/d", [],
    [None], [[]], [7], ["a", "a"], [{}], {}, {"": ""}, {"a": None}, {"a": 7}, {"a": []}, {"a": {"b": "c"}},
])  # fmt: skip


def positions(value: Any, above: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Yield the path of each value within an object."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in members:
        yield (*above, step)
        yield from positions(child, (*above, step))


def replaced(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """Return a copy of an object with another value at a path."""
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize(("url", "base"), OBJECTS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_value_of_a_wrong_type_anywhere_is_no_internal_error(
    kube: Kube, url: str, base: Object, data: st.DataObject
) -> None:
    kube.send("POST", f"{CORE}/serviceaccounts", {"metadata": {"name": "s"}})
    path = data.draw(st.sampled_from([*positions(base)]), "position")
    body = replaced(base, path, data.draw(WRONG, "value"))
    outcome(kube.send("POST", f"{url}?dryRun=All", body))
    outcome(kube.send("POST", f"{url}?dryRun=All&fieldValidation=Strict", body))
