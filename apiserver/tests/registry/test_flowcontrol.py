"""Validation of priority levels and flow schemas, with the words of a real server."""

from typing import Any

import pytest

from apiserver.tests.inprocess import MERGE, Kube

Object = dict[str, Any]
LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


def level(name: str = "a", kind: str = "Limited", **fields: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"type": kind, **fields}}


def queue(**fields: int) -> Object:
    return {"limitResponse": {"type": "Queue", "queuing": fields}}


def schema(precedence: int = 1000, level: str = "a", **rule: Any) -> Object:
    subjects = rule.pop("subjects", [{"kind": "User", "user": {"name": "*"}}])
    urls = rule or {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/x/*"]}]}
    spec: Object = {"matchingPrecedence": precedence, "priorityLevelConfiguration": {"name": level}}
    return {"metadata": {"name": "a"}, "spec": {**spec, "rules": [{"subjects": subjects, **urls}]}}


def resource_rule(**changes: Any) -> Object:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}
    return schema(resourceRules=[{**rule, **changes}])


def url_rule(verbs: list[Any], urls: list[Any]) -> Object:
    return schema(nonResourceRules=[{"verbs": verbs, "nonResourceURLs": urls}])


def subject(kind: str, **fields: Any) -> Object:
    return schema(subjects=[{"kind": kind, **fields}])


@pytest.mark.parametrize(
    ("obj", "fields"),
    [
        (level(), ["limited"]),
        (level(kind=""), ["type"]),
        (level(kind="Exempt"), ["type"]),
        (level("exempt", limited={"limitResponse": {"type": "Reject"}}), ["type"]),
        (level("exempt", "Exempt", limited={}), ["limited"]),
        (level("exempt", "Exempt", exempt={"lendablePercent": 101}), ["exempt.lendablePercent"]),
        (level(limited={}), ["limited.limitResponse.type"]),
        (level(limited={"limitResponse": {"type": "QUEUE"}}), ["limited.limitResponse.type"]),
        (level(limited={"limitResponse": {"type": "Queue"}}), ["limited.limitResponse.queuing"]),
        (level(limited={"limitResponse": {"type": "Reject", "queuing": {}}}), ["limited.limitResponse.queuing"]),
        (level(limited={**queue(), "nominalConcurrencyShares": -1}), ["limited.nominalConcurrencyShares"]),
        (level(limited={**queue(), "borrowingLimitPercent": -1}), ["limited.borrowingLimitPercent"]),
        (level(limited=queue(queues=-1, handSize=1, queueLengthLimit=-2)), ["queueLengthLimit", "queues", "handSize"]),
        (level(limited=queue(queues=10**7 + 1, handSize=1)), ["queues"]),
        (level(limited=queue(queues=2, handSize=3)), ["handSize"]),
        (level(limited=queue(queues=2**20, handSize=4)), ["handSize"]),
        (level(limited={**queue(), "limitResponse": {"type": "Reject"}}, exempt={}), ["exempt"]),
    ],
)
def test_invalid_priority_level_is_rejected(obj: Object, fields: list[str]) -> None:
    status = Kube().refused(422, "POST", LEVELS, obj)
    causes = [cause["field"] for cause in status["details"]["causes"]]
    assert [field for field, end in zip(causes, fields, strict=True) if not field.endswith(f".{end}")] == []


@pytest.mark.parametrize(
    ("obj", "field", "words"),
    [
        (schema(-1), "matchingPrecedence", "must be a positive value"),
        (schema(10001), "matchingPrecedence", "must not be greater than 10000"),
        (schema(1), "matchingPrecedence", "only the schema named 'exempt' may have matchingPrecedence 1"),
        (schema(level=""), "priorityLevelConfiguration.name", "must reference a priority level"),
        (schema(subjects=[]), "rules[0].subjects", "subjects must contain at least one value"),
        (schema(resourceRules=[]), "rules[0]", "at least one of resourceRules and nonResourceRules has to be"),
        (subject("Robot"), "rules[0].subjects[0].kind", 'supported values: "Group", "ServiceAccount", "User"'),
        (subject("Group"), "rules[0].subjects[0].group", "group is required when subject kind is 'Group'"),
        (subject("Group", group={}), "rules[0].subjects[0].group.name", "Required value"),
        (subject("User", user={"name": "a"}, group={"name": "b"}), "rules[0].subjects[0].group",
         "Forbidden: group is forbidden when subject kind is not 'Group'"),
        (subject("ServiceAccount", serviceAccount={"name": "*"}), "rules[0].subjects[0].serviceAccount.namespace",
         "must specify namespace for service account"),
        (resource_rule(verbs=["*", "get"]), "rules[0].resourceRules[0].verbs", "if '*' is present, must not specify"),
        (resource_rule(verbs=["fly"]), "rules[0].resourceRules[0].verbs", 'Unsupported value: ["fly"]'),
        (resource_rule(apiGroups=[]), "rules[0].resourceRules[0].apiGroups", "must supply at least one api group"),
        (resource_rule(namespaces=[]), "rules[0].resourceRules[0].namespaces", "not cluster scoped must supply"),
        (resource_rule(namespaces=["A"]), "rules[0].resourceRules[0].namespaces[0]",
         "must be '*' or a DNS-1123 label;"),
        (url_rule(["get"], ["a"]), "rules[0].nonResourceRules[0].nonResourceURLs[0]", "must start with slash"),
        (url_rule(["get"], ["/*/a"]), "rules[0].nonResourceRules[0].nonResourceURLs[0]", "can only do suffix matching"),
        (url_rule(["get"], []), "rules[0].nonResourceRules[0].nonResourceURLs", "must contain at least one value"),
    ],
)  # fmt: skip
def test_invalid_flow_schema_is_rejected(obj: Object, field: str, words: str) -> None:
    (cause,) = Kube().refused(422, "POST", SCHEMAS, obj)["details"]["causes"]
    assert (cause["field"], words in cause["message"]) == (f"spec.{field}", True)


def test_valid_levels_and_schemas_are_accepted(kube: Kube) -> None:
    kube.ok("POST", LEVELS, level(limited={**queue(queues=64, handSize=8), "nominalConcurrencyShares": 0}))
    kube.ok("POST", LEVELS, level("exempt", "Exempt", exempt={}))
    kube.ok("PATCH", f"{LEVELS}/exempt", {"spec": {"exempt": {"lendablePercent": 5}}}, MERGE)
    for obj in (
        resource_rule(namespaces=[], clusterScope=True),
        resource_rule(verbs=["*"], namespaces=["kube-system"]),
    ):
        kube.ok("POST", SCHEMAS, obj)
        kube.ok("DELETE", f"{SCHEMAS}/a")


@pytest.mark.parametrize("name", ["exempt", "catch-all"])
def test_schema_of_every_cluster_keeps_its_spec(kube: Kube, name: str) -> None:
    kube.ok("POST", SCHEMAS, {**schema(), "metadata": {"name": name}})
    kube.ok("PATCH", f"{SCHEMAS}/{name}", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    refused = kube.refused(422, "PATCH", f"{SCHEMAS}/{name}", {"spec": {"matchingPrecedence": 5}}, MERGE)
    (cause,) = refused["details"]["causes"]
    assert cause["message"].startswith('Invalid value: {"PriorityLevelConfiguration":{"Name":"a"},"MatchingPrec')
    assert cause["message"].endswith(f"spec of '{name}' must equal the fixed value")


def test_types_of_conditions_are_not_repeated(kube: Kube) -> None:
    kube.ok("POST", SCHEMAS, schema())
    conditions = [{"type": "Dangling", "status": "False"}, {"type": "Dangling", "status": "True"}]
    kube.refused(422, "PATCH", f"{SCHEMAS}/a/status", {"status": {"conditions": conditions}}, MERGE)
