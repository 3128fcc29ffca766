"""Type checks of validating admission policies, as kube-controller-manager 1.36.2 reports them."""

import json
from typing import Any

import pytest

from clientgo.testing.clock import FakeClock
from clientgo_apiserver.inmemory import InMemoryServer

Object = dict[str, Any]

_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
_REPLICAS = {"name": "replicas", "expression": "object.spec.replicas"}
_INVALID = {"name": "invalid", "expression": "object.spec.missing"}


def request(server: InMemoryServer, method: str, path: str, body: Object | None = None) -> Object:
    content_type = "merge-patch+json" if method == "PATCH" else "json"
    headers = {"content-type": f"application/{content_type}"}
    reply = server.request(method, path, headers, b"" if body is None else json.dumps(body).encode())
    assert reply.status < 300, reply.body
    value: Object = json.loads(reply.body)
    return value


def status_of(*validations: Object, rule: Object = _RULE, server: InMemoryServer | None = None, **spec: Any) -> Object:
    server = server or InMemoryServer(FakeClock())
    spec |= {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [_REPLICAS, _INVALID],
        "validations": list(validations),
    }
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "spec": spec}
    request(server, "POST", _POLICIES, {**body, "metadata": {"name": "p"}})
    status: Object = request(server, "GET", f"{_POLICIES}/p")["status"]
    return status


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.replicas > 1",
        "object.spec.strategy.rollingUpdate.maxSurge == 1",  # a number or a text
        "object.metadata.creationTimestamp < timestamp('2030-01-01T00:00:00Z')",
        "variables.replicas > 1",
        "variables.invalid > 1",
    ],
)
def test_policy_whose_expressions_fit_has_no_warnings(expression: str) -> None:
    assert status_of({"expression": expression}) == {"observedGeneration": 1, "typeChecking": {}}


@pytest.mark.parametrize(
    ("expression", "column", "error"),
    [
        ("object.spec.replicas > '1'", 22, "found no matching overload for '_>_' applied to '(int, string)'"),
        ("oldObject.spec.size == 1", 15, "undefined field 'size'"),
        ("variables.replicas == 'x'", 20, "found no matching overload for '_==_' applied to '(int, string)'"),
        # A quantity is a number or a text without a type of its own, so that no expression sees the field.
        ("object.spec.template.spec.resources.limits['cpu'] == '1'", 36, "undefined field 'limits'"),
    ],
)
def test_expression_that_does_not_fit_has_a_warning(expression: str, column: int, error: str) -> None:
    [warning] = status_of({"expression": expression})["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    text = f"apps/v1, Kind=Deployment: ERROR: <input>:1:{column}: {error}\n | {expression}\n"
    assert warning["warning"].startswith(text)
    assert warning["warning"].endswith("^\n")


def test_message_expressions_are_checked() -> None:
    status = status_of({"expression": "true", "messageExpression": "'x' + object.spec.replicas"})
    [warning] = status["typeChecking"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].messageExpression"
    assert "found no matching overload for '_+_' applied to '(string, int)'" in warning["warning"]


@pytest.mark.parametrize(("kind", "count"), [("ConfigMap", 1), ("Missing", 0)])
def test_parameters_have_the_type_of_their_kind_if_it_is_served(kind: str, count: int) -> None:
    status = status_of({"expression": "params.data.limit > 1"}, paramKind={"apiVersion": "v1", "kind": kind})
    assert len(status["typeChecking"].get("expressionWarnings", [])) == count


def test_warning_names_each_kind_of_the_rules_in_order() -> None:
    rule = {**_RULE, "apiGroups": [""], "resources": ["statefulsets", "configmaps", "pods/status"]}
    [warning] = status_of({"expression": "object.spec.nodeName == ''"}, rule=rule)["typeChecking"]["expressionWarnings"]
    lines = [line for line in warning["warning"].splitlines() if "Kind=" in line]
    assert [line.partition(": ")[0] for line in lines] == ["/v1, Kind=ConfigMap", "apps/v1, Kind=StatefulSet"]


def test_kinds_of_wildcards_are_not_checked() -> None:
    status = status_of({"expression": "object.spec.x == 1"}, rule={**_RULE, "apiVersions": ["*"]})
    assert status["typeChecking"] == {}


def test_changed_policy_is_checked_again() -> None:
    server = InMemoryServer(FakeClock())
    assert status_of({"expression": "object.spec.replicas > 1"}, server=server)["typeChecking"] == {}
    request(server, "PATCH", f"{_POLICIES}/p", {"spec": {"validations": [{"expression": "object.spec.x > 1"}]}})
    status = request(server, "GET", f"{_POLICIES}/p")["status"]
    assert status["observedGeneration"] == 2
    assert len(status["typeChecking"]["expressionWarnings"]) == 1
