"""Oldest version of Kubernetes that a definition needs."""

from typing import Any

import pytest

from clientgo.codegen.crd.minimum import BASE, minimum_version


def definition(rule: str = "", *, selectable: bool = False, **rules: Any) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-validations": [{"rule": rule, **rules}] if rule else []}
    version: dict[str, Any] = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    if selectable:
        version["selectableFields"] = [{"jsonPath": ".spec.a"}]
    return {"spec": {"versions": [version]}}


@pytest.mark.parametrize(
    ("built", "version"),
    [
        (definition(), BASE),
        (definition("self.a == 'sort(' && self.b.startsWith('x')"), BASE),
        (definition("oldSelf.hasValue() || self.a == 1", optionalOldSelf=True), "1.30"),
        (definition(selectable=True), "1.31"),
        (definition("isIP(self.a)"), "1.31"),
        (definition("self.a.all(i, v, i < v)"), "1.33"),
        (definition("semver(self.a).major() > 1"), "1.34"),
        (definition("self.a.sort() == self.a"), "1.35"),
        (definition("self.a.includes(1)", selectable=True), "1.37"),
        (definition("self.a == 1", messageExpression="self.a.flatten()[0]"), "1.35"),
    ],
)
def test_features_decide_about_the_version(built: dict[str, Any], version: str) -> None:
    assert minimum_version(built) == version
