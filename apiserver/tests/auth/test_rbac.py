"""Authorization of requests and reviews by roles and bindings."""

import pytest

from apiserver.tests.guarded import CLUSTER_ROLES, Guarded, rule, user
from apiserver.tests.inprocess import CONFIG_MAPS, FOOS
from clientgo_apiserver.auth.serviceaccounts import ISSUER


@pytest.mark.parametrize(
    ("method", "url", "message"),
    [
        ("GET", "/api/v1/pods",
         'pods is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope'),
        (
            "GET",
            f"{FOOS}/a",
            'foos.samplecontroller.k8s.io "a" is forbidden: User "eve" cannot get resource "foos" in API group'
            ' "samplecontroller.k8s.io" in the namespace "default"',
        ),
        (
            "PUT",
            f"{FOOS}/a/status",
            'foos.samplecontroller.k8s.io "a" is forbidden: User "eve" cannot update resource "foos/status" in API'
            ' group "samplecontroller.k8s.io" in the namespace "default"',
        ),
        (
            "DELETE",
            "/api/v1/namespaces/default",
            'namespaces "default" is forbidden: User "eve" cannot delete resource "namespaces" in API group "" in the'
            ' namespace "default"',
        ),
        (
            "DELETE",
            "/apis/no.such/v1/namespaces/x/things",
            'things.no.such is forbidden: User "eve" cannot deletecollection resource "things" in API group "no.such"'
            ' in the namespace "x"',
        ),
        ("GET", "/metrics", 'forbidden: User "eve" cannot get path "/metrics"'),
        ("GET", "/api/v1/pods?watch=1",
         'pods is forbidden: User "eve" cannot watch resource "pods" in API group "" at the cluster scope'),
    ],
)  # fmt: skip
def test_user_without_role_is_rejected(guarded: Guarded, method: str, url: str, message: str) -> None:
    guarded.acting = "eve"
    status = guarded.refused(403, method, url)
    assert (status["message"], status["reason"]) == (message, "Forbidden")


def test_role_holds_in_its_namespace_for_its_verbs_and_resources(guarded: Guarded) -> None:
    guarded.role("reader", rule("get list", "configmaps"))
    guarded.bind("Role", "reader", user("bob"))
    guarded.acting = "bob"
    guarded.ok("GET", CONFIG_MAPS)
    guarded.refused(403, "GET", "/api/v1/configmaps")
    guarded.refused(403, "GET", "/api/v1/namespaces/kube-system/configmaps")
    guarded.refused(403, "POST", CONFIG_MAPS, {"metadata": {"name": "c"}})
    guarded.refused(403, "GET", "/api/v1/namespaces/default/secrets")
    guarded.acting = "eve"
    guarded.refused(403, "GET", CONFIG_MAPS)


def test_cluster_role_holds_as_far_as_its_binding(guarded: Guarded) -> None:
    guarded.role("reader", rule("list", "configmaps"), cluster=True)
    guarded.bind("ClusterRole", "reader", user("eve"))
    guarded.bind("ClusterRole", "reader", {**user("team"), "kind": "Group"}, cluster=True)
    guarded.acting = "eve"
    guarded.ok("GET", CONFIG_MAPS)
    guarded.refused(403, "GET", "/api/v1/configmaps")
    guarded.acting = "bob"
    guarded.ok("GET", "/api/v1/configmaps")


def test_anonymous_user_may_read_only_health_and_version(guarded: Guarded) -> None:
    guarded.acting = ""
    assert guarded.send("GET", "/readyz").body == b"ok"
    guarded.ok("GET", "/version")
    assert 'User "system:anonymous" cannot get path "/apis"' in guarded.refused(403, "GET", "/apis")["message"]
    guarded.acting = "eve"
    guarded.ok("GET", "/apis")


def test_binding_to_missing_role_is_named_in_the_error(guarded: Guarded) -> None:
    guarded.bind("ClusterRole", "gone", user("eve"), cluster=True)
    guarded.acting = "eve"
    message = guarded.refused(403, "GET", CONFIG_MAPS)["message"]
    assert message.endswith(': RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')


def test_missing_roles_are_named_once(guarded: Guarded) -> None:
    for role, cluster in (("gone", True), ("lost", False), ("gone", False)):
        guarded.bind("ClusterRole", role, user("eve"), cluster=cluster)
    guarded.acting = "eve"
    message = guarded.refused(403, "GET", CONFIG_MAPS)["message"]
    missing = (f'clusterrole.rbac.authorization.k8s.io "{role}" not found' for role in ("gone", "lost"))
    assert message.endswith(f": RBAC: [{', '.join(missing)}]")


@pytest.mark.parametrize(
    ("method", "query", "expected"),
    [
        ("PUT", "", 'configmaps is forbidden: User "eve" cannot update'),
        ("OPTIONS", "", 'configmaps is forbidden: User "eve" cannot  resource'),
        ("GET", "?fieldSelector=metadata.name%3Da", 'configmaps "a" is forbidden: User "eve" cannot list'),
        ("DELETE", "?fieldSelector=metadata.name%3Da", 'configmaps is forbidden: User "eve" cannot deletecollection'),
    ],
)
def test_verb_and_name_are_those_of_a_real_server(guarded: Guarded, method: str, query: str, expected: str) -> None:
    guarded.acting = "eve"
    refused = guarded.send(method, f"{CONFIG_MAPS}{query}")
    assert refused.json()["message"].startswith(expected)
    assert ("X-Content-Type-Options", "nosniff") in refused.headers


def test_aggregated_roles_include_the_rules_of_selected_roles(guarded: Guarded) -> None:
    guarded.bind("ClusterRole", "view", user("eve"))
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    role = {"metadata": {"name": "foos", "labels": labels}, "rules": [rule("list", "foos", "samplecontroller.k8s.io")]}
    guarded.acting = "eve"
    guarded.refused(403, "GET", FOOS)
    guarded.acting = "admin"
    guarded.ok("POST", CLUSTER_ROLES, role)
    guarded.acting = "eve"
    guarded.ok("GET", FOOS)
    guarded.acting = "admin"
    guarded.ok("DELETE", f"{CLUSTER_ROLES}/foos")
    guarded.acting = "eve"
    guarded.refused(403, "GET", FOOS)


def test_impersonation_needs_permission(guarded: Guarded) -> None:
    assert guarded.send("GET", CONFIG_MAPS, impersonate_user="eve").status == 403
    assert guarded.send("GET", CONFIG_MAPS, impersonate_user="x", impersonate_group="system:masters").status == 200
    guarded.acting = "bob"
    refused = guarded.send("GET", CONFIG_MAPS, impersonate_user="eve").json()
    assert refused["message"] == (
        'configmaps is forbidden: User "bob" cannot impersonate-on:user-info:list resource "configmaps" in API group ""'
        ' in the namespace "default"'
    )


def test_impersonated_user_may_be_unauthenticated(guarded: Guarded) -> None:
    headers = {"impersonate_user": "eve", "impersonate_group": "system:unauthenticated"}
    review = guarded.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, **headers)
    assert (review.status, 'User \\"eve\\" cannot create' in review.body.decode()) == (403, True)


def test_constrained_impersonation_needs_permission_for_user_and_request(guarded: Guarded) -> None:
    group = "authentication.k8s.io"
    guarded.role("act", rule("impersonate:user-info", "users", group, resourceNames=["eve"]), cluster=True)
    guarded.bind("ClusterRole", "act", user("bob"), cluster=True)
    for name in ("bob", "eve"):
        guarded.role(f"lists-{name}", rule("impersonate-on:user-info:list list", "configmaps"))
        guarded.bind("Role", f"lists-{name}", user(name))
    guarded.acting = "bob"
    assert guarded.send("GET", CONFIG_MAPS, impersonate_user="eve").status == 200
    assert guarded.send("GET", CONFIG_MAPS, impersonate_user="other").status == 403
    assert guarded.send("DELETE", CONFIG_MAPS, impersonate_user="eve").status == 403


def test_answer_to_a_token_request_has_the_metadata_that_was_sent_and_its_owners(guarded: Guarded) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    guarded.ok("POST", accounts, {"metadata": {"name": "robot"}})
    metadata = guarded.ok("POST", f"{accounts}/robot/token", {"metadata": {"labels": {"a": "b"}}})["metadata"]
    assert (metadata["name"], metadata["labels"]) == ("robot", {"a": "b"})
    (entry,) = metadata["managedFields"]
    owned = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:expirationSeconds": {}}}
    assert (entry["subresource"], entry["fieldsV1"]) == ("token", owned)
    refused = guarded.refused(400, "POST", f"{accounts}/robot/token", {"spec": {"boundObjectRef": {}}})
    assert "cannot bind token" in refused["message"]


def test_service_account_token_is_valid_until_expiry_or_deletion_of_its_account(guarded: Guarded) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    guarded.ok("POST", accounts, {"metadata": {"name": "robot"}})
    guarded.role("reader", rule("list", "configmaps"))
    guarded.bind("Role", "reader", {"kind": "ServiceAccount", "name": "robot", "namespace": "default"})
    token = guarded.ok("POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 600}})["status"]["token"]
    other = guarded.ok("POST", f"{accounts}/robot/token", {})["status"]["token"]
    guarded.refused(422, "POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 5}})
    guarded.acting = token
    guarded.ok("GET", CONFIG_MAPS)
    who = guarded.ok("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]["userInfo"]
    assert who["username"] == "system:serviceaccount:default:robot"
    guarded.clock.step(601)
    guarded.refused(401, "GET", CONFIG_MAPS)
    guarded.acting = other[:-4] + "AAAA"
    guarded.refused(401, "GET", CONFIG_MAPS)
    guarded.acting = "admin"
    guarded.ok("DELETE", f"{accounts}/robot")
    guarded.acting = other
    guarded.refused(401, "GET", CONFIG_MAPS)


def test_access_reviews_agree_with_requests(guarded: Guarded) -> None:
    guarded.role("reader", rule("list", "configmaps"))
    guarded.bind("Role", "reader", user("bob"))
    requested = {"verb": "list", "resource": "configmaps", "namespace": "default"}
    url = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    allowed = guarded.ok("POST", url, {"spec": {"user": "bob", "resourceAttributes": requested}})["status"]
    assert allowed == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "bind-reader/default" of Role "reader" to User "bob"',
    }
    assert guarded.ok("POST", url, {"spec": {"user": "eve", "resourceAttributes": requested}})["status"] == {
        "allowed": False
    }
    guarded.refused(422, "POST", url, {"spec": {"user": "eve"}})
    guarded.acting = "bob"
    guarded.refused(403, "POST", url, {"spec": {"user": "eve", "resourceAttributes": requested}})
    local = {"spec": {"resourceAttributes": requested}}
    assert guarded.ok("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", local)["status"]["allowed"]
    rules = guarded.ok(
        "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}
    )
    assert {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]} in rules["status"]["resourceRules"]


def test_token_review_identifies_the_user(guarded: Guarded) -> None:
    url = "/apis/authentication.k8s.io/v1/tokenreviews"
    status = guarded.ok("POST", url, {"spec": {"token": "bob"}})["status"]
    assert status == {
        "authenticated": True,
        "user": {"username": "bob", "groups": ["team", "system:authenticated"]},
        "audiences": [ISSUER],
    }
    assert "authenticated" not in guarded.ok("POST", url, {"spec": {"token": "nobody"}})["status"]


def test_review_has_no_metadata_but_its_managed_fields(guarded: Guarded) -> None:
    url = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    review = {"spec": {"user": "eve", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert list(guarded.ok("POST", url, review)["metadata"]) == ["managedFields"]
    refused = guarded.refused(422, "POST", url, {**review, "metadata": {"name": "x"}})
    fields = '{"f:spec":{"f:resourceAttributes":{".":{},"f:resource":{},"f:verb":{}},"f:user":{}}}}]}'
    assert refused["message"].endswith(f'"fieldsV1":{fields}: must be empty')
