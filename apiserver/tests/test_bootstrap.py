from importlib.resources import files
from typing import Any

import pytest

from apiserver.tests.guarded import CLUSTER_BINDINGS, CLUSTER_ROLES, Guarded, rule, user
from apiserver.tests.inprocess import MERGE, Kube, names
from clientgo_apiserver.bootstrap import roles_and_bindings
from hack.server_data import role_lines


def test_cluster_begins_with_the_objects_of_a_real_one(guarded: Guarded) -> None:
    service = guarded.ok("GET", "/api/v1/namespaces/default/services/kubernetes")
    assert (service["spec"]["clusterIP"], service["metadata"]["labels"]["provider"]) == ("10.96.0.1", "kubernetes")
    assert service["spec"]["ports"][0]["targetPort"] == 6443
    admin = guarded.ok("GET", f"{CLUSTER_ROLES}/cluster-admin")["metadata"]
    assert admin["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    flows = guarded.ok("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
    assert {"exempt", "catch-all"} <= set(names(flows))
    assert guarded.ok("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")["value"] == 2000001000


def test_every_built_in_group_version_has_an_api_service(guarded: Guarded) -> None:
    listed = names(guarded.ok("GET", "/apis/apiregistration.k8s.io/v1/apiservices"))
    groups = guarded.api.state.registry.groups()
    expected = {f"{version}.{group}" for group, versions in groups.items() for version in versions}
    # A custom group gets its APIService from the aggregator, which has none itself.
    assert expected - set(listed) <= {"v1alpha1.samplecontroller.k8s.io", "v1.apiregistration.k8s.io"}


@pytest.mark.parametrize("member", ["uid", "resourceVersion", "creationTimestamp"])
def test_recorded_objects_have_no_identity_of_their_own(member: str) -> None:
    assert f"{member}:" not in (files("clientgo_apiserver") / "bootstrap.yaml").read_text(encoding="utf-8")


META: dict[str, Any] = {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}, "name": "a"}
LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
EDIT = "rbac.authorization.k8s.io/aggregate-to-edit"
REFERENCE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role"}


OBJECTS: list[dict[str, Any]] = [
    {"metadata": {**META, "labels": LABELS}, "rules": [{"nonResourceURLs": ["/api", "/version"], "verbs": ["get"]}]},
    {
        "metadata": {**META, "labels": LABELS | {EDIT: "true"}},
        "rules": [{"apiGroups": ["", "apps"], "resourceNames": ["x", "y"], "resources": ["a/b"], "verbs": ["*"]}],
    },
    {
        "metadata": {**META, "labels": LABELS},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {EDIT: "true"}}]},
        "rules": None,
    },
    {"metadata": {**META, "labels": LABELS}, "roleRef": {**REFERENCE, "name": "a"}},
    {
        "metadata": {**META, "labels": LABELS},
        "roleRef": {**REFERENCE, "name": "other"},
        "subjects": [
            {"kind": "ServiceAccount", "name": "b", "namespace": "kube-system"},
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:masters"},
        ],
    },
]


@pytest.mark.parametrize(
    "members",
    OBJECTS,
    ids=["URLs", "names of resources", "aggregated", "binding without subjects", "binding of another name"],
)
def test_written_roles_and_bindings_are_read_as_they_were(members: dict[str, Any]) -> None:
    kind = "RoleBinding" if "roleRef" in members else "Role"
    obj = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, **members}
    lines = [line.rstrip("\n") for line in role_lines(obj)]
    assert list(roles_and_bindings({kind: lines})) == [obj]


def test_server_without_authorization_begins_with_namespaces_only(kube: Kube) -> None:
    assert kube.ok("GET", CLUSTER_ROLES)["items"] == []
    assert "default" in names(kube.ok("GET", "/api/v1/namespaces"))


def test_changed_binding_counts_at_once(guarded: Guarded) -> None:
    guarded.role("reader", rule("list", "nodes"), cluster=True)
    guarded.bind("ClusterRole", "reader", user("eve"), cluster=True)
    guarded.acting = "eve"
    guarded.ok("GET", "/api/v1/nodes")
    guarded.acting = "admin"
    guarded.ok("PATCH", f"{CLUSTER_BINDINGS}/bind-reader", {"subjects": [user("bob")]}, MERGE)
    guarded.acting = "eve"
    guarded.refused(403, "GET", "/api/v1/nodes")
