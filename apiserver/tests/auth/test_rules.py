"""RBAC rules alone: which requests a rule covers, and which rules bindings grant to a user."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.api.users import User, service_account
from clientgo_apiserver.auth.authorization import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    Rules,
    covers_path,
    covers_resource,
)
from clientgo_apiserver.storage.store import Store

Object = dict[str, Any]

JANE = User("jane", ("dev",))
RBAC: Object = {"apiVersion": "rbac.authorization.k8s.io/v1"}
READ: Object = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def subject(kind: str, name: str, namespace: str = "") -> Object:
    return {"kind": kind, "name": name, **({"namespace": namespace} if namespace else {})}


def bind(store: Store, role: str, *subjects: Object, kind: str = "ClusterRole", namespace: str = "") -> None:
    meta = {"name": f"bind-{role}", **({"namespace": namespace} if namespace else {})}
    spec = {"subjects": list(subjects), "roleRef": {"kind": kind, "name": role}}
    bound = "RoleBinding" if namespace else "ClusterRoleBinding"
    store.put(ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS, {**RBAC, "kind": bound, "metadata": meta, **spec})


def role(store: Store, name: str, *rules: Object, namespace: str = "") -> None:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    kind = "Role" if namespace else "ClusterRole"
    store.put(ROLES if namespace else CLUSTER_ROLES, {**RBAC, "kind": kind, "metadata": meta, "rules": list(rules)})


def granted(store: Store, user: User = JANE, namespace: str = "") -> list[str]:
    return [grant.source for grant in Rules(store).grants(user, namespace)]


@pytest.mark.parametrize(
    ("change", "verb", "group", "resource", "name", "covered"),
    [
        pytest.param({}, "get", "", "pods", "a", True, id="exact"),
        pytest.param({}, "list", "", "pods", "a", False, id="other verb"),
        pytest.param({}, "get", "apps", "pods", "a", False, id="other group"),
        pytest.param({}, "get", "", "secrets", "a", False, id="other resource"),
        pytest.param({}, "get", "", "pods/log", "a", False, id="subresource is another resource"),
        pytest.param({"verbs": ["*"]}, "anything", "", "pods", "", True, id="all verbs"),
        pytest.param({"apiGroups": ["*"]}, "get", "apps", "pods", "", True, id="all groups"),
        pytest.param({"resources": ["*"]}, "get", "", "pods/log", "", True, id="all resources and subresources"),
        pytest.param({"resources": ["*/log"]}, "get", "", "pods/log", "", True, id="subresource of any resource"),
        pytest.param({"resources": ["*/log"]}, "get", "", "pods/exec", "", False, id="other subresource of any"),
        pytest.param({"resources": ["*/"]}, "get", "", "pods", "", False, id="empty subresource of any"),
        pytest.param({"resources": ["pods/*"]}, "get", "", "pods/log", "", False, id="any subresource of one"),
        pytest.param({"resourceNames": ["a"]}, "get", "", "pods", "a", True, id="listed name"),
        pytest.param({"resourceNames": ["a"]}, "get", "", "pods", "b", False, id="other name"),
        pytest.param({"resourceNames": ["a"]}, "get", "", "pods", "", False, id="listed names but none requested"),
        pytest.param({"verbs": []}, "get", "", "pods", "a", False, id="no verbs"),
    ],
)
def test_rule_covers_a_resource_by_verb_group_resource_and_name(
    change: Object, verb: str, group: str, resource: str, name: str, *, covered: bool
) -> None:
    assert covers_resource({**READ, **change}, verb, group, resource, name) is covered


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/ping", False),
        ("/healthz/*", "/healthz/ping", True),
        ("/healthz/*", "/healthz/", True),
        ("/healthz/*", "/healthz", False),
        ("/healthz*", "/healthz", True),
        ("*", "/anything", True),
        ("/a*z", "/abz", False),
    ],
)
def test_rule_covers_a_path_or_all_with_its_beginning(pattern: str, path: str, *, covered: bool) -> None:
    assert covers_path({"verbs": ["get"], "nonResourceURLs": [pattern]}, "get", path) is covered
    assert not covers_path({"verbs": ["put"], "nonResourceURLs": [pattern]}, "get", path)


@given(st.lists(st.sampled_from(["get", "list", "*"])), st.sampled_from(["get", "list"]))
def test_rule_without_paths_or_resources_covers_nothing(verbs: list[str], verb: str) -> None:
    assert not covers_path({"verbs": verbs}, verb, "/healthz")
    assert not covers_resource({"verbs": verbs, "apiGroups": ["*"]}, verb, "", "pods", "a")


def test_service_account_without_namespace_is_of_the_bindings_namespace() -> None:
    store, robot = Store(), service_account("default", "robot")
    role(store, "reader", READ)
    bind(store, "reader", subject("ServiceAccount", "robot"), namespace="default")
    bind(store, "reader", subject("ServiceAccount", "robot"))
    assert granted(store, robot) == []
    assert len(granted(store, robot, "default")) == 1
    assert granted(store, service_account("kube-system", "robot"), "default") == []


def test_user_named_twice_is_granted_each_rule_once() -> None:
    store = Store()
    role(store, "reader", READ)
    bind(store, "reader", subject("User", "jane"), subject("Group", "dev"))
    assert len(granted(store)) == 1
