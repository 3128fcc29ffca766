"""Privilege escalation and impersonation."""

from typing import Any

import pytest

from apiserver.tests.guarded import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, ROLES, Guarded, rule, user
from apiserver.tests.inprocess import CONFIG_MAPS, FOOS, MERGE, foo
from clientgo_apiserver.http.messages import REPEATED, read_headers

GROUP = "rbac.authorization.k8s.io"


@pytest.fixture
def writer(guarded: Guarded) -> Guarded:
    """A server with requests of bob, who may write roles and bindings and read ConfigMaps."""
    rights = rule("create get list patch update", "roles rolebindings clusterroles clusterrolebindings", GROUP)
    guarded.role("rbac-writer", rights, rule("get list", "configmaps"), cluster=True)
    guarded.bind("ClusterRole", "rbac-writer", user("bob"), cluster=True)
    guarded.acting = "bob"
    return guarded


def body(name: str, *rules: Any, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def binding(name: str, kind: str = "ClusterRole") -> dict[str, Any]:
    reference = {"apiGroup": GROUP, "kind": kind, "name": name}
    return {"metadata": {"name": "b"}, "roleRef": reference, "subjects": [user("bob")]}


def test_role_beyond_its_writers_permissions_is_rejected(writer: Guarded) -> None:
    more = body("r", rule("get delete watch", "configmaps"), rule("*", "pods/log", "", resourceNames=["p"]))
    refused = writer.refused(403, "POST", ROLES, more)
    assert refused["message"] == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "bob" (groups=["team" "system:authenticated"]) is'
        " attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["delete" "watch"]}\n'
        '{APIGroups:[""], Resources:["pods/log"], ResourceNames:["p"], Verbs:["*"]}'
    )


def test_role_within_its_writers_permissions_is_accepted(writer: Guarded) -> None:
    writer.ok("POST", ROLES, body("r", rule("list get", "configmaps", resourceNames=["c"])))
    writer.refused(403, "PATCH", f"{ROLES}/r", {"rules": [rule("get", "secrets")]}, MERGE)
    paths = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    assert (
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
        in (writer.refused(403, "POST", CLUSTER_ROLES, body("m", paths))["message"])
    )


def test_finalizers_of_stronger_role_can_be_removed(writer: Guarded) -> None:
    writer.acting = "admin"
    writer.ok("POST", ROLES, {**body("r", rule("*", "*")), "metadata": {"name": "r", "finalizers": ["a/b"]}})
    writer.acting = "bob"
    writer.ok("PATCH", f"{ROLES}/r", {"metadata": {"finalizers": None}}, MERGE)
    writer.refused(403, "PATCH", f"{ROLES}/r", {"metadata": {"labels": {"a": "b"}}}, MERGE)


def test_aggregation_rule_needs_cluster_admin(writer: Guarded) -> None:
    aggregation = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    refused = writer.refused(403, "POST", CLUSTER_ROLES, body("r", aggregationRule=aggregation))
    assert refused["message"].endswith("must have cluster-admin privileges to use an aggregationRule")


def test_binding_needs_the_permissions_of_its_role(writer: Guarded) -> None:
    refused = writer.refused(403, "POST", BINDINGS, binding("view"))
    assert "is attempting to grant RBAC permissions not currently held" in refused["message"]
    writer.ok("POST", ROLES, body("small", rule("get", "configmaps")))
    writer.ok("POST", BINDINGS, binding("small", "Role"))
    missing = writer.refused(404, "POST", CLUSTER_BINDINGS, binding("no-such"))
    assert missing["message"] == 'clusterrolebindings.rbac.authorization.k8s.io "no-such" not found'


@pytest.mark.parametrize(("verb", "url"), [("escalate", ROLES), ("bind", BINDINGS)])
def test_escalate_and_bind_lift_the_restriction(guarded: Guarded, verb: str, url: str) -> None:
    rights = rule("create", "roles rolebindings", GROUP)
    special = rule(verb, "roles clusterroles", GROUP, resourceNames=["view", "strong"])
    guarded.role("writer", rights, special)
    guarded.bind("Role", "writer", user("bob"))
    guarded.acting = "bob"
    guarded.ok("POST", url, body("strong", rule("*", "*")) if verb == "escalate" else binding("view"))
    guarded.refused(403, "POST", url, body("other", rule("*", "*")) if verb == "escalate" else binding("edit"))


def test_repeated_headers_are_kept_apart() -> None:
    arguments = [(b"impersonate-group", b"a,b"), (b"accept", b"x"), (b"impersonate-group", b"c"), (b"accept", b"y")]
    assert read_headers(arguments) == {"impersonate-group": f"a,b{REPEATED}c", "accept": "x, y"}


def test_every_impersonated_group_needs_permission(guarded: Guarded) -> None:
    guarded.role(
        "actor", rule("impersonate", "users"), rule("impersonate", "groups", resourceNames=["g"]), cluster=True
    )
    guarded.bind("ClusterRole", "actor", user("bob"), cluster=True)
    guarded.acting = "bob"
    whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    used = guarded.send("POST", whoami, {}, impersonate_user="x", impersonate_group="g").json()
    assert used["status"]["userInfo"] == {"username": "x", "groups": ["g", "system:authenticated"]}
    refused = guarded.send("POST", whoami, {}, impersonate_user="x", impersonate_group=f"g{REPEATED}h").json()
    assert refused["message"].startswith('groups "h" is forbidden: User "bob" cannot impersonate resource "groups"')


def test_impersonated_uid_and_extra_fields_need_permission(guarded: Guarded) -> None:
    group = "authentication.k8s.io"
    whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    headers = {"impersonate_user": "x", "impersonate_uid": "u", "impersonate_extra_a%2fb": "v"}
    guarded.role("users", rule("impersonate", "users"), rule("impersonate", "userextras/a/b", group), cluster=True)
    guarded.bind("ClusterRole", "users", user("bob"), cluster=True)
    guarded.acting = "bob"
    refused = guarded.send("POST", whoami, {}, **headers).json()["message"]
    assert refused == (
        'uids.authentication.k8s.io "u" is forbidden: User "bob" cannot impersonate resource "uids" in API group'
        ' "authentication.k8s.io" at the cluster scope'
    )
    guarded.acting = "admin"
    user_info = guarded.send("POST", whoami, {}, **headers).json()["status"]["userInfo"]
    assert (user_info["uid"], user_info["extra"]) == ("u", {"a/b": ["v"]})
    assert guarded.send("GET", CONFIG_MAPS, impersonate_group="g").json()["message"] == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)}'
        " without impersonating a user name"
    )


def test_one_name_may_be_listed_and_watched_by_field(guarded: Guarded) -> None:
    guarded.role("one", rule("get list watch", "configmaps", resourceNames=["c"]))
    guarded.bind("Role", "one", user("bob"))
    guarded.acting = "bob"
    guarded.ok("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dc")
    guarded.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dc", authorization="Bearer bob").close()
    guarded.refused(403, "GET", CONFIG_MAPS)
    refused = guarded.refused(403, "GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Dother")
    assert refused["message"].startswith('configmaps "other" is forbidden: User "bob" cannot list resource')


def test_token_is_bound_to_a_pod_and_to_its_audience(guarded: Guarded) -> None:
    account = "/api/v1/namespaces/default/serviceaccounts"
    pods, reviews = "/api/v1/namespaces/default/pods", "/apis/authentication.k8s.io/v1/tokenreviews"
    guarded.ok("POST", account, {"metadata": {"name": "robot"}})
    spec = {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]}
    pod = guarded.ok("POST", pods, {"metadata": {"name": "p"}, "spec": spec})
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    request = {"spec": {"audiences": ["shop"], "boundObjectRef": reference}}
    token = guarded.ok("POST", f"{account}/robot/token", request)["status"]["token"]
    status = guarded.ok("POST", reviews, {"spec": {"token": token, "audiences": ["shop", "bar"]}})["status"]
    assert (status["authenticated"], status["audiences"]) == (True, ["shop"])
    assert status["user"]["extra"]["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
    other = guarded.ok("POST", reviews, {"spec": {"token": token}})["status"]
    assert 'token audiences ["shop"] is invalid for the target audiences' in other["error"]
    guarded.refused(404, "POST", f"{account}/robot/token", {"spec": {"boundObjectRef": {**reference, "name": "q"}}})
    guarded.refused(409, "POST", f"{account}/robot/token", {"spec": {"boundObjectRef": {**reference, "uid": "q"}}})
    guarded.ok("DELETE", f"{pods}/p")
    gone = guarded.ok("POST", reviews, {"spec": {"token": token, "audiences": ["shop"]}})["status"]
    assert "authenticated" not in gone


def test_review_of_a_path_is_answered_by_the_roles(guarded: Guarded) -> None:
    guarded.role("scraper", {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, cluster=True)
    guarded.bind("ClusterRole", "scraper", {"kind": "ServiceAccount", "name": "prom", "namespace": "m"}, cluster=True)
    url = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

    def allowed(name: str, path: str) -> bool:
        spec = {"user": name, "groups": [], "nonResourceAttributes": {"verb": "get", "path": path}}
        return bool(guarded.ok("POST", url, {"spec": spec})["status"]["allowed"])

    assert allowed("system:serviceaccount:m:prom", "/metrics")
    assert not allowed("system:serviceaccount:m:prom", "/debug/queue")
    assert not allowed("eve", "/metrics")


@pytest.fixture
def owned(guarded: Guarded) -> Guarded:
    """A server with OwnerReferencesPermissionEnforcement; bob may write ConfigMaps, and there is a Foo."""
    guarded.ok("POST", FOOS, foo("a"))
    guarded.role("writer", rule("create get patch", "configmaps"))
    guarded.bind("Role", "writer", user("bob"))
    guarded.set_options(owner_references_permissions=True)
    guarded.acting = "bob"
    return guarded


def owner(kube: Guarded, *, blocking: bool = True, kind: str = "Foo") -> dict[str, Any]:
    kube.acting = "admin"
    uid = kube.ok("GET", f"{FOOS}/a")["metadata"]["uid"]
    kube.acting = "bob"
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": kind, "name": "a", "uid": uid,
        "blockOwnerDeletion": blocking,
    }  # fmt: skip


def grant(kube: Guarded, name: str, *rules: Any) -> None:
    kube.acting = "admin"
    kube.role(name, *rules)
    kube.bind("Role", name, user("bob"))
    kube.acting = "bob"


def test_blocking_owner_needs_permission_on_its_finalizers(owned: Guarded) -> None:
    config_map = {"metadata": {"name": "c", "ownerReferences": [owner(owned)]}}
    assert owned.refused(403, "POST", CONFIG_MAPS, config_map)["message"] == (
        'configmaps "c" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource'
        " you can't set finalizers on: , <nil>"
    )
    grant(owned, "finalizers", rule("update", "foos/finalizers", "samplecontroller.k8s.io"))
    owned.ok("POST", CONFIG_MAPS, config_map)
    owned.ok("PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "b"}}, MERGE)


def test_non_blocking_owner_needs_no_permission(owned: Guarded) -> None:
    config_map = {"metadata": {"name": "c", "ownerReferences": [owner(owned, blocking=False)]}}
    owned.ok("POST", CONFIG_MAPS, config_map)
    unknown = {"metadata": {"name": "d", "ownerReferences": [owner(owned, kind="Bar")]}}
    assert (
        "cannot find RESTMapping for APIVersion samplecontroller.k8s.io/v1alpha1 Kind Bar"
        in (owned.refused(403, "POST", CONFIG_MAPS, unknown)["message"])
    )


def test_change_of_owners_needs_delete_permission(owned: Guarded) -> None:
    owned.ok("POST", CONFIG_MAPS, {"metadata": {"name": "c"}})
    change = {"metadata": {"ownerReferences": [owner(owned, blocking=False)]}}
    assert owned.refused(403, "PATCH", f"{CONFIG_MAPS}/c", change, MERGE)["message"] == (
        'configmaps "c" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>'
    )
    grant(owned, "deleter", rule("delete", "configmaps"))
    owned.ok("PATCH", f"{CONFIG_MAPS}/c", change, MERGE)
