"""Requests that ask for more than a server may do: each is answered as by a real one, and soon."""

from typing import Any

import pytest

from apiserver.tests.inprocess import DEFINITIONS, FOOS, Kube, definition, foo


def with_rule(rule: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": rule}]}
    return definition("bars", "Bar", schema=schema)


@pytest.mark.parametrize(
    "rule",
    [f"{'(' * 200}true{')' * 200}", " && ".join(["true"] * 2000), " || ".join(["self.a == 'x'"] * 500)],
    ids=["nested", "conjunction", "disjunction"],
)
def test_long_expression_is_accepted(rule: str) -> None:
    Kube().ok("POST", DEFINITIONS, with_rule(rule))


@pytest.mark.parametrize("rule", [f"{'(' * 300}true{')' * 300}", f"self{'.a' * 3000} == 1"], ids=["nested", "members"])
def test_expression_that_is_nested_too_deep_is_invalid(rule: str) -> None:
    Kube().refused(422, "POST", DEFINITIONS, with_rule(rule))


def test_object_that_is_larger_than_etcd_accepts_is_not_stored(kube: Kube) -> None:
    ports = [{"name": f"port-{number}-{'x' * 100}", "port": 1} for number in range(13_000)]
    failure = kube.refused(500, "POST", FOOS, foo("big", ports=ports))
    assert failure["message"] == "etcdserver: request is too large"
    kube.refused(404, "GET", f"{FOOS}/big")
