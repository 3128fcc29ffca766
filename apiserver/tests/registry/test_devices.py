"""Validation of dynamic resource allocation: claims, templates, classes and slices of devices."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube

Object = dict[str, Any]
ROOT = "/apis/resource.k8s.io/v1"
CLAIMS, TEMPLATES = f"{ROOT}/namespaces/default/resourceclaims", f"{ROOT}/namespaces/default/resourceclaimtemplates"
CLASSES, SLICES = f"{ROOT}/deviceclasses", f"{ROOT}/resourceslices"
EXACT: Object = {"deviceClassName": "gpu"}
OPAQUE: Object = {"opaque": {"driver": "a.b", "parameters": {"x": 1}}}


def claim(*requests: Object, **fields: Any) -> Object:
    return {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [*requests], **fields}}}


def exact(**fields: Any) -> Object:
    return claim({"name": "r", "exactly": {**EXACT, **fields}})


def selected(expression: str) -> Object:
    return exact(selectors=[{"cel": {"expression": expression}}])


def device_slice(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "generation": 0, "resourceSliceCount": 1}
    nodes = {} if "nodes" in spec else {"allNodes": True}
    spec = {"driver": "a.b", "pool": pool, **nodes, **spec.pop("nodes", {}), **spec}
    return {"metadata": {"name": "a"}, "spec": {**spec, **({"devices": [*devices]} if devices else {})}}


def fields_of(status: Object) -> list[str]:
    return [cause["field"].removeprefix("spec.").removeprefix("devices.") for cause in status["details"]["causes"]]


REQUEST = "requests[0]"
SELECTOR = "requests[0].exactly.selectors[0].cel.expression"


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (claim({"name": "A", "exactly": EXACT}), [f"{REQUEST}.name"]),
        (claim({"exactly": EXACT}), [f"{REQUEST}.name"]),
        (claim(*[{"name": "r", "exactly": EXACT}] * 2), ["requests[1]"]),
        (claim(*[{"name": f"r{number}", "exactly": EXACT} for number in range(33)]), ["requests"]),
        (claim({"name": "r"}), [REQUEST]),
        (claim({"name": "r", "exactly": EXACT, "firstAvailable": [{"name": "s", **EXACT}]}), [REQUEST]),
        (claim({"name": "r", "firstAvailable": [{"name": "s"}]}), [f"{REQUEST}.firstAvailable[0].deviceClassName"]),
        (claim({"name": "r", "firstAvailable": [{"name": "s", **EXACT}] * 2}), [f"{REQUEST}.firstAvailable[1]"]),
        (exact(deviceClassName=""), [f"{REQUEST}.exactly.deviceClassName"]),
        (exact(deviceClassName="A"), [f"{REQUEST}.exactly.deviceClassName"]),
        (exact(count=-1), [f"{REQUEST}.exactly.count"]),
        (exact(allocationMode="All", count=2), [f"{REQUEST}.exactly.count"]),
        (exact(allocationMode="Some"), [f"{REQUEST}.exactly.allocationMode"]),
        (exact(selectors=[{}]), [f"{REQUEST}.exactly.selectors[0].cel"]),
        (exact(tolerations=[{"operator": "Exists", "value": "x"}]), [f"{REQUEST}.exactly.tolerations[0].value"]),
        (exact(tolerations=[{"operator": "Like"}]), [f"{REQUEST}.exactly.tolerations[0].operator"]),
        (exact(tolerations=[{"key": "a", "effect": "Go"}]), [f"{REQUEST}.exactly.tolerations[0].effect"]),
        (selected(""), [SELECTOR]),
        (selected("1 +"), [SELECTOR]),
        (selected("device.driver"), [SELECTOR]),
        (selected("device.nothing == 1"), [SELECTOR]),
        (selected("true " + "&& true" * 2000), [SELECTOR]),
        (claim({"name": "r", "exactly": EXACT}, constraints=[{"requests": ["r"]}]), ["constraints[0]"]),
        (claim({"name": "r", "exactly": EXACT}, constraints=[{"requests": ["q"], "matchAttribute": "a"}]),
         ["constraints[0].requests[0]", "constraints[0].matchAttribute"]),
        (claim({"name": "r", "exactly": EXACT}, config=[{"requests": ["r/s"], **OPAQUE}]), ["config[0].requests[0]"]),
        (claim({"name": "r", "exactly": EXACT}, config=[{}]), ["config[0].opaque"]),
        (claim({"name": "r", "exactly": EXACT}, config=[{"opaque": {"driver": "", "parameters": [1]}}]),
         ["config[0].opaque.driver", "config[0].opaque.parameters"]),
    ],
)  # fmt: skip
def test_invalid_claim_is_rejected_and_so_is_its_template(kube: Kube, obj: Object, fields: list[str]) -> None:
    assert fields_of(kube.refused(422, "POST", CLAIMS, obj)) == fields
    template = {"metadata": {"name": "a"}, "spec": {"spec": obj["spec"]}}
    status = kube.refused(422, "POST", TEMPLATES, template)
    assert [field.removeprefix("spec.devices.") for field in fields_of(status)] == fields


VALID = [
    exact(),
    exact(allocationMode="All", tolerations=[{"key": "a", "operator": "Exists"}]),
    selected('device.driver == "a.b" && device.attributes["a.b"].model == "x"'),
    selected('device.capacity["a.b"].memory.compareTo(quantity("1Gi")) >= 0'),
    selected('device.attributes["a.b"].large'),
    claim(
        {"name": "r", "firstAvailable": [{"name": "s", **EXACT}]},
        constraints=[{"requests": ["r/s"], "matchAttribute": "a.b/model"}],
        config=[{"requests": ["r"], **OPAQUE}],
    ),
]


@pytest.mark.parametrize("obj", VALID)
def test_valid_claim_is_accepted_and_its_spec_is_immutable(kube: Kube, obj: Object) -> None:
    kube.ok("POST", CLAIMS, obj)
    kube.ok("PATCH", f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    change = {"spec": {"devices": {"requests": [{"name": "other", "exactly": EXACT}]}}}
    assert fields_of(kube.refused(422, "PATCH", f"{CLAIMS}/a", change, MERGE)) == ["spec"]
    kube.ok("POST", TEMPLATES, {"metadata": {"name": "a"}, "spec": {"spec": obj["spec"]}})
    kube.refused(422, "PATCH", f"{TEMPLATES}/a", {"spec": {"spec": change["spec"]}}, MERGE)


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ({"selectors": [{}]}, ["selectors[0].cel"]),
        ({"selectors": [{"cel": {"expression": "device."}}]}, ["selectors[0].cel.expression"]),
        ({"config": [{}]}, ["config[0].opaque"]),
        ({"extendedResourceName": "cpu"}, ["extendedResourceName"]),
        ({"extendedResourceName": "example.com/gpu", "config": [OPAQUE]}, []),
    ],
)
def test_class_is_validated(spec: Object, fields: list[str]) -> None:
    response = Kube().send("POST", CLASSES, {"metadata": {"name": "a"}, "spec": spec})
    assert (response.status, fields_of(response.json()) if fields else []) == (422 if fields else 201, fields)


RESULT: Object = {"request": "r", "driver": "a.b", "pool": "p", "device": "d"}


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        ({"allocation": {"devices": {"results": [RESULT]}}}, []),
        ({"allocation": {"devices": {"results": [{**RESULT, "request": "q"}]}}}, ["request"]),
        ({"allocation": {"devices": {"results": [{"request": "r"}]}}}, ["driver", "pool", "device"]),
        ({"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}, ["reservedFor"]),
        ({"devices": [{"driver": "a.b", "pool": "p", "device": "d"}]}, ["devices[0]"]),
        ({"allocation": {}, "reservedFor": [{}]}, ["resource", "name", "uid"]),
    ],
)
def test_status_of_a_claim_is_validated(kube: Kube, status: Object, fields: list[str]) -> None:
    kube.ok("POST", CLAIMS, exact())
    response = kube.send("PATCH", f"{CLAIMS}/a/status", {"status": status}, MERGE)
    causes = [cause["field"].rpartition(".")[2] for cause in response.json().get("details", {}).get("causes", [])]
    assert (causes, response.status) == (fields, 422 if fields else 200)


def test_allocation_is_not_changed(kube: Kube) -> None:
    kube.ok("POST", CLAIMS, exact())
    url, result = f"{CLAIMS}/a/status", {"devices": {"results": [RESULT]}}
    kube.ok("PATCH", url, {"status": {"allocation": result}}, MERGE)
    other = {"devices": {"results": [{**RESULT, "device": "other"}]}}
    kube.refused(422, "PATCH", url, {"status": {"allocation": other}}, MERGE)
    kube.ok("PATCH", url, {"status": {"allocation": None}}, MERGE)


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (device_slice({"name": "d", "attributes": {"model": {"string": "x"}, "a.b/v": {"version": "1.0.0"}}}), []),
        (device_slice(driver=""), ["driver"]),
        (device_slice(pool={"name": "P/", "resourceSliceCount": 0, "generation": -1}),
         ["pool.name", "pool.name", "pool.resourceSliceCount", "pool.generation"]),
        (device_slice(nodes={"x": 1}), ["spec"]),
        (device_slice(nodes={"nodeName": "a", "allNodes": True}), ["spec"]),
        (device_slice(nodes={"allNodes": False}), ["allNodes", "spec"]),
        (device_slice({"name": "D"}), ["devices[0].name"]),
        (device_slice({"name": "d"}, {"name": "d"}), ["devices[1]"]),
        (device_slice({"name": "d", "nodeName": "n"}), ["devices[0]"]),
        (device_slice({"name": "d"}, perDeviceNodeSelection=True, nodes={}), ["devices[0]"]),
        (device_slice({"name": "d", "attributes": {"a": {}}}), ["devices[0].attributes[a]"]),
        (device_slice({"name": "d", "attributes": {"a-b": {"int": 1}}}), ["devices[0].attributes"]),
        (device_slice({"name": "d", "attributes": {"a": {"version": "1"}}}), ["devices[0].attributes[a].version"]),
        (device_slice({"name": "d", "attributes": {"a": {"int": 1, "bool": True}}}), ["devices[0].attributes[a]"]),
        (device_slice({"name": "d", "taints": [{"key": "a"}]}), ["devices[0].taints[0].effect"]),
        (device_slice({"name": "d", "consumesCounters": [{}]}),
         ["devices[0].consumesCounters[0].counterSet", "devices[0].consumesCounters[0].counters"]),
        (device_slice(sharedCounters=[{"name": "c", "counters": {"A": {"value": "1"}}}]),
         ["sharedCounters[0].counters"]),
        (device_slice({"name": "d", "bindingConditions": ["a"]}), ["devices[0].bindingFailureConditions"]),
    ],
)  # fmt: skip
def test_slice_is_validated(obj: Object, fields: list[str]) -> None:
    response = Kube().send("POST", SLICES, obj)
    causes = [cause["field"].removeprefix("spec.") for cause in response.json().get("details", {}).get("causes", [])]
    assert (causes, response.status) == (fields, 422 if fields else 201)


ONE_OF = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"default": "1Gi", "validValues": ["1Gi", "10Gi"]}, ""),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "9Gi", "step": "2Gi"}}, ""),
        ({"default": "1Gi"}, ""),
        ({"default": "1Gi", "validValues": ["1Gi"], "validRange": {"min": "1Gi"}},
         f"requestPolicy: Forbidden: {ONE_OF}"),
        ({"validValues": ["1Gi"]}, "requestPolicy.default: Required value: required when validValues is defined"),
        ({"validRange": {"min": "1Gi"}}, "requestPolicy.default: Required value: required when validRange is defined"),
        ({"default": "20Gi", "validValues": ["20Gi"]},
         'validValues[0]: Invalid value: "20Gi": option is larger than capacity value: 10Gi'),
        ({"default": "2Gi", "validValues": ["1Gi"]}, 'Invalid value: "2Gi": default value is not valid according to'),
        ({"default": "1Gi", "validValues": ["2Gi", "1Gi"]},
         'validValues[1]: Invalid value: "1Gi": values must be sorted'),
        ({"default": "1Gi", "validValues": ["1Gi", "1Gi"]}, 'validValues[1]: Duplicate value: "1073741824"'),
        ({"default": "1Gi", "validRange": {"min": "2Gi"}}, 'Invalid value: "1Gi": default is less than min: 2Gi'),
        ({"default": "5Gi", "validRange": {"min": "1Gi", "max": "4Gi"}}, '"5Gi": default is more than max: 4Gi'),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "max": "20Gi"}}, "max is larger than capacity value: 10Gi"),
        ({"default": "2Gi", "validRange": {"min": "1Gi", "step": "2Gi"}},
         "not a multiple of a given step (2Gi) from (1Gi)"),
        ({"default": "1Gi", "validRange": {"min": "1Gi", "step": "10Gi"}},
         "one step 11Gi is larger than capacity value"),
    ],
)  # fmt: skip
def test_what_requests_may_take_of_a_capacity_is_validated(policy: Object, message: str) -> None:
    capacity = {"memory": {"value": "10Gi", "requestPolicy": policy}}
    obj = device_slice({"name": "d", "allowMultipleAllocations": True, "capacity": capacity})
    response = Kube().send("POST", SLICES, obj)
    assert response.status == (422 if message else 201)
    assert message in response.json().get("message", "")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("10.9.8.7/24", ""),
        ("2001:db8::1/64", ""),
        ("10.9.8.7", "must be a valid address in CIDR form"),
        ("10.9.8/24", "must be a valid address in CIDR form"),
        ("10.9.8.7/255.0.0.0", "must be a valid address in CIDR form"),
        ("010.9.8.7/24", 'must be in canonical form (\\"10.9.8.7/24\\")'),
        ("2001:DB8:0::1/64", 'must be in canonical form (\\"2001:db8::1/64\\")'),
    ],
)
def test_addresses_of_a_network_interface_are_canonical(kube: Kube, address: str, reason: str) -> None:
    kube.ok("POST", CLAIMS, exact())
    url, device = f"{CLAIMS}/a/status", {name: RESULT[name] for name in ("driver", "pool", "device")}
    status = {
        "allocation": {"devices": {"results": [RESULT]}},
        "devices": [{**device, "networkData": {"ips": [address]}}],
    }
    response = kube.send("PATCH", url, {"status": status}, MERGE)
    assert response.status == (422 if reason else 200)
    assert reason in response.body.decode()
