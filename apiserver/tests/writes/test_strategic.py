"""Patches of built-in kinds, above all strategic merge patches, with the results of kube-apiserver 1.36.2."""

from typing import Any

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, DEPLOYMENTS, JSON_PATCH, MERGE, STRATEGIC, Kube, Object, deployment
from clientgo.meta.jsonpath import parse

URL = f"{DEPLOYMENTS}/d"
NAMELESS = "the name of the object (d based on URL) was undeterminable: name must be provided"
NO_CONTAINERS = 'Deployment.apps "d" is invalid: spec.template.spec.containers: Required value'
NO_TEXT = ": unrecognized type: string"
UNKNOWN = "unknown patch type: merge in map: map[$patch:merge type:Recreate]"
INVALID = ' "" is invalid: patch: Invalid value: '


@pytest.fixture
def stored(kube: Kube) -> Kube:
    obj, ports = deployment(replicas=0), [("UDP", 53), ("TCP", 53), ("TCP", 80)]
    container: Object = {"name": "a", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    container["ports"] = [{"containerPort": port, "protocol": protocol} for protocol, port in ports]
    spec = {"containers": [container, {"name": "c", "image": "old"}], "affinity": {}}
    obj["spec"]["template"]["spec"] = {**spec, "tolerations": [{"key": "a", "operator": "Exists"}]}
    kube.ok("POST", DEPLOYMENTS, obj)
    return kube


def pod(**spec: Any) -> Object:
    return {"spec": {"template": {"spec": spec}}}


def containers(*items: Any) -> Object:
    return pod(containers=list(items))


def first(**fields: Any) -> Object:
    return containers({"name": "a", **fields})


def env(*items: Object) -> Object:
    return first(env=list(items))


def values_at(obj: Object, path: str) -> list[Any]:
    return parse(path).find(obj)


def strategy(**fields: Any) -> Object:
    return {"spec": {"strategy": fields}}


TEMPLATE = ".spec.template.spec"
ENV, NAMES = f"{TEMPLATE}.containers[0].env[*].name", f"{TEMPLATE}.containers[*].name"


@pytest.mark.parametrize(
    ("patch", "path", "values"),
    [
        pytest.param(first(ports=[{"containerPort": 53, "$patch": "delete"}]),
                     f"{TEMPLATE}.containers[0].ports[*].containerPort", [80], id="delete all of a key"),
        pytest.param(
            pod(nodeSelector={"$patch": "replace", "a": "b"}), f"{TEMPLATE}.nodeSelector", [], id="replace absent"
        ),
        pytest.param(
            {"metadata": {"annotations": {"$patch": "merge", "a": "b"}}}, ".metadata.annotations", [], id="merge absent"
        ),
        pytest.param(pod(affinity={"nodeAffinity": {"$patch": "replace"}}), f"{TEMPLATE}.affinity", [{}],
                     id="replace absent below"),
        pytest.param(containers({"name": "n", "image": "i", "env": [{"name": "A", "$patch": "delete"}]}), ENV, ["A"],
                     id="new item"),
        pytest.param(pod(initContainers=[{"name": "n", "image": "i", "env": [{"name": "A", "$patch": "delete"}]}]),
                     f"{TEMPLATE}.initContainers[0].env", [], id="new list"),
        pytest.param({"spec": {"replicas": 2**32 + 1}}, ".spec.replicas", [1], id="number cut to 32 bits"),
        pytest.param({"spec": {"replicas": 2.0}}, ".spec.replicas", [2], id="whole float"),
    ],
)  # fmt: skip
def test_strategic_patch_has_the_result_of_a_real_server(
    stored: Kube, patch: Object, path: str, values: list[Any]
) -> None:
    assert values_at(stored.ok("PATCH", URL, patch, STRATEGIC), path) == values


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        (containers({"name": "a", "$patch": "replace"}), 422, NO_CONTAINERS),
        (strategy(**{"$patch": "merge", "type": "Recreate"}), 500, UNKNOWN),
        (env({"name": "A", "$patch": "merge"}), 500, "merging lists cannot yet be specified in the patch"),
        ({"spec": {"$patch": 3}}, 500, "unknown patch type: %!s(int64=3) in map: map[$patch:3]"),
        (strategy(**{"$retainKeys": [], "type": "Recreate"}), 400, "invalid patch format of retainKeys"),
        (strategy(**{"$retainKeys": "type"}), 400, "invalid patch format of retainKeys"),
        (pod(nodeSelector={"$retainKeys": ["a"], "a": "b"}), 422,
         f'{INVALID}"map[spec:map[template:map[spec:map[nodeSelector:map[$retainKeys:[a] a:b]]]]]"{NO_TEXT}'),
        (first(**{"$setElementOrder/env": None}), 500, "expected a []interface {}, but received a %!s(<nil>)"),
        (pod(**{"$setElementOrder/foo": []}), 500,
         'unable to find api field in struct PodSpec for the json field "foo"'),
        ({"$setElementOrder/Kind": []}, 500, "expected slice or array type, but got: struct"),
        (pod(nodeSelector={}, **{"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
        ({"metadata": {"labels": {}, "$deleteFromPrimitiveList": []}}, 400, "invalid patch format of primitive list"),
        (containers({"$patch": "delete"}), 500, "map: map[$patch:delete] does not contain declared merge key: name"),
        (env({"name": None}, {"name": None}), 500, "map: map[] does not contain declared merge key: name"),
        (pod(**{"$deleteFromPrimitiveList/tolerations": [{"key": "a"}]}), 500,
         "cannot merge lists without merge key for struct"),
        ({"spec": {"replicas": 1.5}}, 422, f'{INVALID}"map[spec:map[replicas:1.5]]": cannot convert float64 to int32'),
        ({"$patch": "replace", "spec": {"replicas": "x"}}, 422,
         f'{INVALID}"map[spec:map[replicas:x]]": unrecognized type: int32'),
        ({"$patch": "delete"}, 400, NAMELESS),
    ],
)  # fmt: skip
def test_strategic_patch_is_rejected_as_by_a_real_server(stored: Kube, patch: Object, code: int, message: str) -> None:
    assert stored.refused(code, "PATCH", URL, patch, STRATEGIC)["message"] == message


@pytest.mark.parametrize("item", ["text", None, [{}]])
def test_items_of_other_types_are_an_error_that_shows_both_lists(stored: Kube, item: Any) -> None:
    message = stored.refused(500, "PATCH", URL, containers(item), STRATEGIC)["message"]
    assert message.startswith("list element types are not identical: [[map[env:[map[name:A value:1]")


@pytest.mark.parametrize(
    "patch",
    [
        pod(**{"$retainKeys": [{}]}),
        pod(**{"$setElementOrder/tolerations": [{"key": "a"}]}),
        env({"name": {}}, {"name": {}}),
    ],
)
def test_patch_on_which_a_real_server_panics_is_a_bad_request(stored: Kube, patch: Object) -> None:
    assert stored.refused(400, "PATCH", URL, patch, STRATEGIC)["reason"] == "BadRequest"


def test_directives_that_were_obeyed_are_not_in_the_error_of_a_patch(stored: Kube) -> None:
    patch = strategy(**{"$retainKeys": ["type"], "type": 5})
    message = stored.refused(422, "PATCH", URL, patch, STRATEGIC)["message"]
    assert message.startswith(f'{INVALID}"map[spec:map[strategy:map[type:5]]]": cannot convert int64 to ')


def test_error_of_a_patch_shows_what_its_items_of_one_name_have_become(stored: Kube) -> None:
    patch = containers({"name": "n"}, {"name": "n", "tty": 5, "env": [{"name": "A", "$patch": "delete"}]})
    message = stored.refused(422, "PATCH", URL, patch, STRATEGIC)["message"]
    assert "containers:[map[env:[] name:n tty:5] map[env:[map[$patch:delete name:A]] name:n tty:5]]" in message


def test_selector_of_a_disruption_budget_is_replaced(kube: Kube) -> None:
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b", "c": "d"}}}
    kube.ok("POST", budgets, {"apiVersion": "policy/v1", "metadata": {"name": "p"}, "spec": spec})
    patch = {"spec": {"selector": {"matchLabels": {"e": "f"}}}}
    patched = kube.ok("PATCH", f"{budgets}/p", patch, STRATEGIC)
    assert patched["spec"]["selector"] == {"matchLabels": {"e": "f"}}


def test_strategic_patch_of_a_scale_obeys_directives(stored: Kube) -> None:
    patch = {"spec": {"$patch": "replace", "replicas": 3}}
    assert stored.ok("PATCH", f"{URL}/scale", patch, STRATEGIC)["spec"] == {"replicas": 3}


@pytest.mark.parametrize(
    ("kind", "patch", "code", "message"),
    [
        (MERGE, {"metadata": None}, 400, NAMELESS),
        (MERGE, {"binaryData": {"b": "-"}, "metadata": None}, 422,
         '{"apiVersion":"v1","binaryData":{"b":"-"},"kind":"ConfigMap"}'),
    ],
)  # fmt: skip
def test_name_is_checked_after_the_other_fields(kube: Kube, kind: str, patch: Object, code: int, message: str) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "d"}})
    status = kube.refused(code, "PATCH", f"{CONFIG_MAPS}/d", patch, kind)
    assert message in status["message"].replace('\\"', '"')


@pytest.mark.parametrize(
    ("kind", "patch", "code", "message"),
    [
        (JSON_PATCH, [{"op": "remove", "path": 5}], 422,
         "the server rejected our request due to an error in our request"),
        (JSON_PATCH, {}, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON_PATCH, [5], 400, "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
        (MERGE, 5, 400, "Invalid JSON Patch"),
        (MERGE, ["a"], 422, "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value"),
    ],
)  # fmt: skip
def test_patch_without_validation_of_fields_is_decoded_when_it_is_applied(
    kube: Kube, kind: str, patch: Any, code: int, message: str
) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "d"}})
    status = kube.refused(code, "PATCH", f"{CONFIG_MAPS}/d?fieldValidation=Ignore", patch, kind)
    assert message in status["message"]


def test_path_of_a_json_patch_begins_after_its_first_slash(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "d"}, "data": {"a": "1"}})
    patch = [{"op": "add", "path": "ignored/data/b", "value": "2"}]
    assert kube.ok("PATCH", f"{CONFIG_MAPS}/d", patch, JSON_PATCH)["data"] == {"a": "1", "b": "2"}


def test_error_of_a_patched_object_is_the_first_one_of_its_sorted_members(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "d"}, "data": {"z": "1"}})
    status = kube.refused(422, "PATCH", f"{CONFIG_MAPS}/d", {"immutable": 5, "data": [{"x": None}]}, MERGE)
    assert "cannot unmarshal array into Go struct field ConfigMap.data" in status["message"]
    assert '"data":[{"x":null}],"immutable":5' in status["message"].replace('\\"', '"')
