"""Flow schemas: which one a request belongs to, and what their status says."""

import pytest

from apiserver.tests.inprocess import Kube, Object
from clientgo_apiserver.api.users import User
from clientgo_apiserver.auth.authorization import Attributes
from clientgo_apiserver.auth.flows import flow_uids

API = "/apis/flowcontrol.apiserver.k8s.io/v1"
BOB = User("bob", groups=("system:authenticated", "devs"))
ACCOUNT = User("system:serviceaccount:ns:a", groups=("system:serviceaccounts",))
ANY: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
LEVEL: Object = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}


def add_schema(kube: Kube, name: str, level: str, precedence: int, subject: Object, **rules: Object) -> str:
    rule = {"subjects": [subject], **{field: [value] for field, value in rules.items()}}
    reference = {"priorityLevelConfiguration": {"name": level}, "matchingPrecedence": 10 + precedence}
    created = kube.ok(
        "POST", f"{API}/flowschemas", {"metadata": {"name": name}, "spec": {**reference, "rules": [rule]}}
    )
    return str(created["metadata"]["uid"])


def of_user(name: str) -> Object:
    return {"kind": "User", "user": {"name": name}}


def test_request_belongs_to_the_most_important_schema_that_matches_and_has_a_level(kube: Kube) -> None:
    level = kube.ok("POST", f"{API}/prioritylevelconfigurations", {"metadata": {"name": "p"}, "spec": LEVEL})
    add_schema(kube, "dangling", "missing", 1, of_user("*"), resourceRules=ANY)
    narrow = add_schema(kube, "narrow", "p", 2, of_user("bob"), resourceRules={**ANY, "resources": ["pods/log"]})
    wide = add_schema(kube, "wide", "p", 3, {"kind": "Group", "group": {"name": "devs"}}, resourceRules=ANY)
    store, uid = kube.api.state.store, level["metadata"]["uid"]
    assert flow_uids(store, Attributes(BOB, "get", resource="pods", subresource="log", namespace="n")) == (narrow, uid)
    assert flow_uids(store, Attributes(BOB, "get", resource="pods", namespace="n")) == (wide, uid)
    kube.ok("DELETE", f"{API}/flowschemas/narrow")
    assert flow_uids(store, Attributes(BOB, "get", resource="pods", subresource="log", namespace="n")) == (wide, uid)


@pytest.mark.parametrize(
    ("subject", "rules", "attributes", "belongs"),
    [
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "*"}}, {"resourceRules": ANY},
         Attributes(ACCOUNT, "get", resource="pods", namespace="n"), True),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "b"}}, {"resourceRules": ANY},
         Attributes(ACCOUNT, "get", resource="pods", namespace="n"), False),
        (of_user("bob"), {"resourceRules": {**ANY, "clusterScope": False}},
         Attributes(BOB, "get", resource="nodes"), False),
        (of_user("bob"), {"nonResourceRules": {"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}},
         Attributes(BOB, "get", path="/healthz/etcd"), True),
        (of_user("bob"), {"nonResourceRules": {"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}},
         Attributes(BOB, "get", path="/healthz"), False),
    ],
)  # fmt: skip
def test_rules_of_a_schema_name_users_and_requests(
    kube: Kube, subject: Object, rules: Object, attributes: Attributes, belongs: bool
) -> None:
    kube.ok("POST", f"{API}/prioritylevelconfigurations", {"metadata": {"name": "p"}, "spec": LEVEL})
    schema = add_schema(kube, "one", "p", 1, subject, **rules)
    add_schema(kube, "last", "p", 2, of_user("nobody"), resourceRules=ANY)
    assert (flow_uids(kube.api.state.store, attributes)[0] == schema) is belongs


def test_schema_without_its_priority_level_is_dangling(kube: Kube) -> None:
    def condition() -> tuple[str, str]:
        (dangling,) = kube.ok("GET", f"{API}/flowschemas/a")["status"]["conditions"]
        return dangling["status"], dangling["message"]

    reference = 'This FlowSchema references the PriorityLevelConfiguration object named "p"'
    add_schema(kube, "a", "p", 1, of_user("bob"), resourceRules=ANY)
    assert condition() == ("True", f"{reference} but there is no such object")
    kube.ok("POST", f"{API}/prioritylevelconfigurations", {"metadata": {"name": "p"}, "spec": LEVEL})
    assert condition() == ("False", f"{reference} and it exists")
