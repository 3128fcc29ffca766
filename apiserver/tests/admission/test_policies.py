"""Admission policies: which writes they match, what they reject and change, and the errors of their specs."""

# ruff: noqa: E501

from typing import Any

import pytest

from apiserver.tests.inprocess import CONFIG_MAPS, Kube

Object = dict[str, Any]

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
ANY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
ON_CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def validating(kube: Kube, *validations: Object, binding: Object | None = None, **spec: Any) -> None:
    constraints = {"resourceRules": [ON_CONFIG_MAPS]}
    full = {"matchConstraints": constraints, "validations": list(validations), **spec}
    kube.ok("POST", f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": full})
    bound = {"policyName": "p", "validationActions": ["Deny"], **(binding or {})}
    kube.ok("POST", f"{ADMISSION}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": bound})


def mutating(kube: Kube, *mutations: Object, binding: Object | None = None, **spec: Any) -> None:
    rule = {**ON_CONFIG_MAPS, "operations": ["CREATE"]}
    full = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": list(mutations),
        "reinvocationPolicy": "Never",
        **spec,
    }
    kube.ok("POST", f"{ADMISSION}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": full})
    bound = {"metadata": {"name": "b"}, "spec": {"policyName": "p", **(binding or {})}}
    kube.ok("POST", f"{ADMISSION}/mutatingadmissionpolicybindings", bound)


def config_map(name: str = "x", **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


@pytest.mark.parametrize(("reason", "code"), [(None, 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)])
def test_write_that_fails_a_validation_is_rejected(kube: Kube, reason: str | None, code: int) -> None:
    rule = {"expression": "!('bad' in object.data)", "messageExpression": "'no bad in ' + object.metadata.name"}
    validating(kube, {**rule, "reason": reason} if reason else rule)
    kube.ok("POST", CONFIG_MAPS, config_map("ok", good="1"))
    status = kube.refused(code, "POST", CONFIG_MAPS, config_map(bad="1"))
    messages = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no bad in x"
    assert status["message"] == f'configmaps "x" is forbidden: {messages}'
    assert (status["reason"], status["details"]["causes"]) == (reason or "Invalid", [{"message": messages}])


def test_variables_and_conditions_use_the_request_and_the_namespace(kube: Kube) -> None:
    validating(
        kube,
        {"expression": "variables.limit > variables.size || request.operation == 'DELETE'"},
        variables=[
            {"name": "limit", "expression": "namespaceObject.metadata.name == 'default' ? 2 : 9"},
            {"name": "size", "expression": "has(object.data) ? object.data.size() : 0"},
        ],
        matchConditions=[{"name": "named", "expression": "object == null || object.metadata.name.startsWith('x')"}],
    )
    kube.ok("POST", CONFIG_MAPS, config_map("free", a="1", b="2"))
    message = kube.refused(422, "POST", CONFIG_MAPS, config_map(a="1", b="2"))["message"]
    assert message.endswith("failed expression: variables.limit > variables.size || request.operation == 'DELETE'")
    kube.ok("POST", CONFIG_MAPS, config_map(a="1"))
    kube.ok("DELETE", f"{CONFIG_MAPS}/x")


@pytest.mark.parametrize(
    ("match", "denied"),
    [
        ({"resourceRules": [{**ON_CONFIG_MAPS, "resourceNames": ["y"]}]}, False),
        ({"resourceRules": [{**ON_CONFIG_MAPS, "resourceNames": ["x"]}]}, True),
        ({"resourceRules": [ANY], "excludeResourceRules": [ON_CONFIG_MAPS]}, False),
        ({"resourceRules": [ANY], "namespaceSelector": {"matchLabels": {"no": "such"}}}, False),
        ({"resourceRules": [ANY], "objectSelector": {"matchLabels": {"no": "such"}}}, False),
        ({"resourceRules": [{**ON_CONFIG_MAPS, "operations": ["DELETE"]}]}, False),
    ],
)
def test_policy_applies_to_what_it_matches(kube: Kube, match: Object, denied: bool) -> None:
    validating(kube, {"expression": "false"}, matchConstraints=match)
    assert (kube.send("POST", CONFIG_MAPS, config_map()).status == 422) == denied


def test_warnings_do_not_reject_the_write(kube: Kube) -> None:
    validating(kube, {"expression": "false", "message": "no"}, binding={"validationActions": ["Warn", "Audit"]})
    response = kube.send("POST", CONFIG_MAPS, config_map())
    messages = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no"
    assert (response.status, [text for name, text in response.headers if name == "Warning"]) == (
        201,
        [f'299 - "{messages}"'],
    )


def test_warning_that_no_header_can_contain_is_left_out(kube: Kube) -> None:
    validating(kube, {"expression": "1 ==\n 2"}, binding={"validationActions": ["Warn"]})
    response = kube.send("POST", CONFIG_MAPS, config_map())
    assert (response.status, [text for name, text in response.headers if name == "Warning"]) == (201, [])


@pytest.mark.parametrize(("policy", "code"), [("Fail", 422), ("Ignore", 201)])
def test_failure_policy_decides_about_errors(kube: Kube, policy: str, code: int) -> None:
    validating(kube, {"expression": "object.nosuch == 1"}, failurePolicy=policy)
    response = kube.send("POST", CONFIG_MAPS, config_map())
    assert response.status == code
    assert code == 201 or b"expression 'object.nosuch == 1' resulted in error: no such key: nosuch" in response.body


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"name": "limits", "parameterNotFoundAction": "Deny"}, 422),
        ({"selector": {"matchLabels": {"use": "yes"}}, "parameterNotFoundAction": "Deny"}, 422),
        ({"name": "missing", "parameterNotFoundAction": "Deny"}, 422),
        ({"name": "missing", "parameterNotFoundAction": "Allow"}, 201),
    ],
)
def test_parameters_are_objects_of_the_cluster(kube: Kube, reference: Object, code: int) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "limits", "labels": {"use": "yes"}}, "data": {"max": "1"}})
    rule = {"expression": "object.data.size() <= int(params.data.max)"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    validating(kube, rule, paramKind=kind, binding={"paramRef": reference})
    assert kube.send("POST", CONFIG_MAPS, config_map(a="1", b="2")).status == code


def test_authorizer_knows_what_the_user_may_do(kube: Kube) -> None:
    check = "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()"
    account = "authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('get').allowed()"
    validating(kube, {"expression": f"{check} && !{account} && authorizer.requestResource.check('create').allowed()"})
    response = kube.send("POST", CONFIG_MAPS, config_map())
    assert response.status in (201, 422)


def test_object_is_changed_by_mutations(kube: Kube) -> None:
    mutating(
        kube,
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {
                "expression": "Object{metadata: Object.metadata{labels: {'a': 'b'}}, data: Object.data{more: variables.m}}"
            },
        },
        {
            "patchType": "JSONPatch",
            "jsonPatch": {
                "expression": "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x/y'), value: object.data.more}]"
            },
        },
        variables=[{"name": "m", "expression": "'1' + object.metadata.name"}],
    )
    built = kube.ok("POST", CONFIG_MAPS, config_map(a="1"))
    assert (built["metadata"]["labels"], built["data"]) == ({"a": "b", "x/y": "1x"}, {"a": "1", "more": "1x"})


def json_patch(operation: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": f"[JSONPatch{{{operation}}}]"}}


def test_ignored_failure_of_a_mutation_leaves_the_others(kube: Kube) -> None:
    texts = (
        "op: 'add', path: '/data/b', value: '2'",
        "op: 'remove', path: '/x'",
        "op: 'add', path: '/data/c', value: '3'",
    )
    mutating(kube, *map(json_patch, texts), failurePolicy="Ignore")
    assert kube.ok("POST", CONFIG_MAPS, config_map(a="1"))["data"] == {"a": "1", "b": "2", "c": "3"}


def test_object_is_changed_for_each_parameter(kube: Kube) -> None:
    for name in ("b", "c"):
        kube.ok("POST", CONFIG_MAPS, config_map(name))
    patch = json_patch("op: 'add', path: '/data/' + params.metadata.name, value: '2'")
    reference = {"selector": {}, "parameterNotFoundAction": "Deny"}
    mutating(kube, patch, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, binding={"paramRef": reference})
    assert kube.ok("POST", CONFIG_MAPS, config_map(a="1"))["data"] == {"a": "1", "b": "2", "c": "2"}


def test_change_without_its_parameter_is_forbidden(kube: Kube) -> None:
    reference = {"name": "missing", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    mutating(kube, json_patch("op: 'remove', path: '/data'"), paramKind=kind, binding={"paramRef": reference})
    assert kube.refused(403, "POST", CONFIG_MAPS, config_map(a="1"))["reason"] == "Forbidden"


def test_atomic_fields_are_not_applied_in_part(kube: Kube) -> None:
    expression = "Object{metadata: Object.metadata{nosuch: Object.metadata.other{}}}"
    mutating(kube, {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
    status = kube.refused(403, "POST", CONFIG_MAPS, config_map())
    assert status["reason"] == "Invalid"
    assert status["message"].startswith(
        "policy 'p' with binding 'b' denied request: type mismatch: unexpected type name"
    )


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, ["matchConstraints", "validations", "auditAnnotations"]),
        ({"matchConstraints": {}, "validations": [{"expression": "true"}]}, ["matchConstraints.resourceRules"]),
        ({"validations": [{"expression": "1"}, {}]}, ["validations[0].expression", "validations[1].expression"]),
        ({"validations": [{"expression": "params.x == 1"}]}, ["validations[0].expression"]),
        ({"validations": [{"expression": "true", "messageExpression": "1"}]}, ["validations[0].messageExpression"]),
        ({"validations": [{"expression": "true", "reason": "x"}]}, ["validations[0].reason"]),
        ({"validations": [{"expression": "request.nosuch"}]}, ["validations[0].expression"]),
        ({"variables": [{"name": "if", "expression": "1"}]}, ["variables[0].name"]),
        ({"variables": [{"name": "a", "expression": "variables.b"}]}, ["variables[0].expression"]),
        ({"matchConditions": [{"name": "a", "expression": "x"}]}, ["matchConditions[0].expression"]),
        ({"failurePolicy": "x"}, ["failurePolicy"]),
        ({"paramKind": {"apiVersion": "a/b/c"}}, ["paramKind.apiVersion", "paramKind.kind"]),
        ({"matchConstraints": {"resourceRules": [{}]}}, [f"matchConstraints.resourceRules[0].{field}" for field in ("operations", "apiGroups", "apiVersions", "resources")]),
        ({"auditAnnotations": [{"key": "a b", "valueExpression": "1"}]}, ["auditAnnotations[0].key", "auditAnnotations[0].valueExpression"]),
    ],
)  # fmt: skip
def test_invalid_policy_is_rejected(kube: Kube, spec: Object, errors: list[str]) -> None:
    valid = {"matchConstraints": {"resourceRules": [ANY]}, "validations": [{"expression": "true"}]}
    body = {"metadata": {"name": "p"}, "spec": {**valid, **spec} if spec else {}}
    status = kube.refused(422, "POST", f"{ADMISSION}/validatingadmissionpolicies", body)
    assert [cause["field"] for cause in status["details"]["causes"]] == [f"spec.{field}" for field in errors]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, ["policyName", "validationActions"]),
        ({"policyName": "p", "validationActions": ["Deny", "Warn"]}, ["validationActions"]),
        ({"policyName": "p", "validationActions": ["x", "x"]}, ["validationActions[0]", "validationActions[1]", "validationActions[1]"]),
        ({"policyName": "p", "validationActions": ["Deny"], "paramRef": {}}, ["paramRef", "paramRef.parameterNotFoundAction"]),
    ],
)  # fmt: skip
def test_invalid_binding_is_rejected(kube: Kube, spec: Object, errors: list[str]) -> None:
    body = {"metadata": {"name": "b"}, "spec": spec}
    status = kube.refused(422, "POST", f"{ADMISSION}/validatingadmissionpolicybindings", body)
    assert [cause["field"] for cause in status["details"]["causes"]] == [f"spec.{field}" for field in errors]


@pytest.mark.parametrize(
    ("mutation", "field"),
    [
        ({}, "patchType"),
        ({"patchType": "x"}, "patchType"),
        ({"patchType": "JSONPatch"}, "jsonPatch"),
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": "[1]"}}, "jsonPatch.expression"),
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{nosuch: 1}]"}}, "jsonPatch.expression"),
        ({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "1"}}, "applyConfiguration.expression"),
    ],
)  # fmt: skip
def test_invalid_mutation_is_rejected(kube: Kube, mutation: Object, field: str) -> None:
    constraints = {"resourceRules": [{**ANY, "operations": ["CREATE"]}]}
    spec = {"matchConstraints": constraints, "reinvocationPolicy": "Never", "mutations": [mutation]}
    body = {"metadata": {"name": "p"}, "spec": spec}
    status = kube.refused(422, "POST", f"{ADMISSION}/mutatingadmissionpolicies", body)
    assert [cause["field"] for cause in status["details"]["causes"]] == [f"spec.mutations[0].{field}"]


ASKING = " && ".join(["authorizer.path('/x').check('get').allowed()"] * 2)
SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


@pytest.mark.parametrize(("count", "code"), [(14, 201), (15, 422)])
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_expressions_of_a_policy_may_cost_ten_million_together(kube: Kube, count: int, code: int, policy: str) -> None:
    validating(kube, *[{"expression": ASKING}] * count, failurePolicy=policy)
    response = kube.send("POST", CONFIG_MAPS, config_map())
    assert response.status == (code if policy == "Fail" else 201)
    assert code == 201 or policy == "Ignore" or SPENT in response.json()["message"]


@pytest.mark.parametrize(("count", "code"), [(3, 201), (4, 422)])
def test_conditions_of_a_policy_may_cost_a_quarter_of_it(kube: Kube, count: int, code: int) -> None:
    conditions = [{"name": f"c{number}", "expression": ASKING} for number in range(count)]
    validating(kube, {"expression": "true"}, matchConditions=conditions)
    response = kube.send("POST", CONFIG_MAPS, config_map())
    assert response.status == code
    assert code == 201 or SPENT in response.json()["message"]


def test_mutations_of_a_policy_have_a_budget_too(kube: Kube) -> None:
    labels = f'Object{{metadata: Object.metadata{{labels: {{"a": string({ASKING})}}}}}}'
    mutating(kube, *[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": labels}}] * 15)
    assert SPENT in kube.refused(403, "POST", CONFIG_MAPS, config_map())["message"]
