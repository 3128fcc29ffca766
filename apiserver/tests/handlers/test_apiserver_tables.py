from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.scheme import Column
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.handlers.tables import partial_metadata, partial_metadata_list, render
from clientgo_apiserver.http.status import ApiFailure
from clientgo_apiserver.printers.values import human_duration
from clientgo_apiserver.registry.builtin import builtin_registry
from clientgo_apiserver.resources import Resource

NOW = 1_700_000_000.0  # 2023-11-14T22:13:20Z
CLOCK = FakeClock(time=NOW)
COLUMNS = (
    Column("Deployment", "string", ".spec.deploymentName"),
    Column("Replicas", "integer", ".spec.replicas"),
    Column("Ready", "boolean", ".status.ready", description="Whether it is."),
    Column("Load", "number", ".status.load", priority=1),
    Column("Age", "date", ".metadata.creationTimestamp"),
)
FOO: dict[str, Any] = {
    "apiVersion": "samplecontroller.k8s.io/v1alpha1",
    "kind": "Foo",
    "metadata": {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "2023-11-14T22:08:20Z"},
    "spec": {"deploymentName": "d", "replicas": 2},
    "status": {"ready": True, "load": 2},
}


def foo(columns: tuple[Column, ...] = COLUMNS) -> Resource:
    return Resource(
        "samplecontroller.k8s.io", "v1alpha1", "foos", "Foo", "foo", "FooList", True, columns=columns, custom=True
    )


def cells(resource: Resource, obj: dict[str, Any]) -> list[Any]:
    table = render(resource, [obj], list_meta={}, clock=CLOCK)
    row: list[Any] = table["rows"][0]["cells"]
    assert len(row) == len(table["columnDefinitions"])
    return row


def printed(group: str, plural: str, **obj: Any) -> dict[str, Any]:
    resource = next(item for item in builtin_registry().resources() if (item.group, item.plural) == (group, plural))
    obj.setdefault("metadata", {"name": "a", "creationTimestamp": "2023-11-14T22:08:20Z"})
    columns = render(resource, [], list_meta={})["columnDefinitions"]
    return dict(zip([column["name"] for column in columns], cells(resource, obj), strict=True))


def test_custom_resource_has_its_definitions_columns_after_the_name() -> None:
    table = render(foo(), [FOO], list_meta={"resourceVersion": "7"}, clock=CLOCK)
    assert (table["kind"], table["apiVersion"], table["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        {"resourceVersion": "7"},
    )
    assert [column["name"] for column in table["columnDefinitions"]] == [
        *("Name", "Deployment", "Replicas", "Ready", "Load", "Age")
    ]
    assert table["columnDefinitions"][0]["format"] == "name"
    described = [column["description"] for column in table["columnDefinitions"]]
    assert described[1] == "Custom resource definition column (in JSONPath format): .spec.deploymentName"
    assert described[3] == "Whether it is."
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 0, 1, 0]
    assert table["rows"][0]["cells"] == ["a", "d", 2, True, 2.0, "5m"]


def test_custom_resource_without_columns_shows_name_and_age() -> None:
    assert cells(foo(()), FOO) == ["a", "5m"]


def test_absent_values_are_null_cells() -> None:
    assert cells(foo(), {"metadata": {"name": "a"}}) == ["a", None, None, None, None, None]


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", 3, "3"),
        ("string", True, "true"),
        ("string", 1.5, "1.5"),
        ("string", 2.0, "2"),
        ("string", 1e6, "1e+06"),
        ("string", 123456789.5, "1.234567895e+08"),
        ("string", -0.00001, "-1e-05"),
        ("string", ["x", "y"], '["x","y"]'),
        ("string", {"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ("integer", 2.7, 2),
        ("integer", "2", None),
        ("integer", True, None),
        ("number", 3, 3.0),
        ("boolean", "true", None),
        ("date", "2023-11-14T22:13:18Z", "2s"),
        ("date", "yesterday", "<invalid>"),
        ("date", 3, None),
    ],
)
def test_cells_follow_the_columns_type(kind: str, value: Any, cell: Any) -> None:
    resource = foo((Column("C", kind, ".spec.v"),))
    assert cells(resource, {"metadata": {"name": "a"}, "spec": {"v": value}})[1] == cell


def test_only_the_first_of_several_results_is_shown() -> None:
    resource = foo((Column("C", "string", ".spec.v[*]"),))
    assert cells(resource, {"metadata": {"name": "a"}, "spec": {"v": ["x", "y"]}})[1] == "x"


def test_rows_carry_metadata_the_object_or_nothing_as_asked() -> None:
    def row_object(include: str) -> Any:
        return render(foo(), [FOO], list_meta={}, include=include, clock=CLOCK)["rows"][0]["object"]

    assert row_object("Metadata") == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": FOO["metadata"],
    }
    assert row_object("Object") == FOO
    assert row_object("None") is None
    with pytest.raises(ApiFailure, match="must be 'Metadata', 'Object', 'None', or empty"):
        row_object("Some")


def test_partial_metadata_list_holds_each_objects_metadata() -> None:
    listed = partial_metadata_list([FOO], {"resourceVersion": "7"})
    assert (listed["kind"], listed["metadata"]) == ("PartialObjectMetadataList", {"resourceVersion": "7"})
    assert listed["items"] == [partial_metadata(FOO)]


def test_deployment_is_printed_as_kubectl_shows_it() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    status = {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}
    row = printed("apps", "deployments", spec=spec, status=status)
    assert list(row.items())[:5] == [
        *(("Name", "a"), ("Ready", "2/3"), ("Up-to-date", 3), ("Available", 1), ("Age", "5m"))
    ]
    assert (row["Containers"], row["Images"], row["Selector"]) == ("c,d", "i,j", "app=x")


@pytest.mark.parametrize(
    ("group", "plural", "obj", "rendered"),
    [
        ("", "configmaps", {"data": {"a": "1"}, "binaryData": {"b": ""}}, {"Data": 2, "Age": "5m"}),
        ("", "secrets", {"type": "Opaque", "data": {"a": "MQ=="}}, {"Type": "Opaque", "Data": 1}),
        ("", "namespaces", {"status": {"phase": "Active"}}, {"Status": "Active"}),
        ("", "serviceaccounts", {}, {"Name": "a"}),
        ("", "nodes", {"status": {"nodeInfo": {"osImage": "", "kernelVersion": ""}}}, {"OS-Image": "<unknown>"}),
        (
            "",
            "pods",
            {
                "spec": {"containers": [{}], "initContainers": [{"name": "side", "restartPolicy": "Always"}]},
                "status": {"initContainerStatuses": [{"name": "side", "started": True, "ready": True}]},
            },
            {"Ready": "1/2"},
        ),
        (
            "",
            "services",
            {"spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": [{"port": 80, "nodePort": 30080}]}},
            {"Cluster-IP": "10.0.0.1", "External-IP": "<none>", "Port(s)": "80:30080/TCP", "Selector": "<none>"},
        ),
        ("", "services", {"spec": {"type": "LoadBalancer"}}, {"External-IP": "<pending>", "Port(s)": "<none>"}),
        ("", "services", {"spec": {"type": "ExternalName", "externalName": "x.y"}}, {"External-IP": "x.y"}),
        (
            "",
            "nodes",
            {
                "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/control-plane": ""}},
                "spec": {"unschedulable": True},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            },
            {"Status": "Ready,SchedulingDisabled", "Roles": "control-plane", "Age": "<unknown>"},
        ),
        ("apps", "replicasets", {"spec": {"replicas": 2}, "status": {"replicas": 2}}, {"Desired": 2, "Ready": 0}),
        ("apps", "statefulsets", {"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}, {"Ready": "1/2"}),
        ("apps", "daemonsets", {"status": {"desiredNumberScheduled": 2}}, {"Desired": 2, "Node Selector": "<none>"}),
        ("batch", "jobs", {"spec": {"completions": 2}, "status": {"succeeded": 1}}, {"Completions": "1/2"}),
        ("batch", "jobs", {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}, {"Status": "Complete"}),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "me"}}, {"Holder": "me", "Age": "5m"}),
        ("apiextensions.k8s.io", "customresourcedefinitions", {}, {"Created At": "2023-11-14T22:08:20Z"}),
        ("rbac.authorization.k8s.io", "clusterroles", {}, {"Created At": "2023-11-14T22:08:20Z"}),
        (
            "rbac.authorization.k8s.io",
            "rolebindings",
            {
                "roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
            },
            {"Role": "Role/r", "ServiceAccounts": "n/s", "Users": ""},
        ),
        ("policy", "poddisruptionbudgets", {"spec": {"minAvailable": "50%"}}, {"Max Unavailable": "N/A"}),
        ("networking.k8s.io", "ingresses", {"spec": {"rules": [{"host": "h"}]}}, {"Hosts": "h", "Ports": "80"}),
    ],
)
def test_built_in_kinds_are_printed_from_their_fields(
    group: str, plural: str, obj: dict[str, Any], rendered: dict[str, Any]
) -> None:
    row = printed(group, plural, **obj)
    assert {name: row[name] for name in rendered} == rendered


def test_event_shows_when_it_was_last_seen_and_what_it_is_about() -> None:
    row = printed(
        "",
        "events",
        type="Normal",
        reason="Synced",
        message=" done\n",
        involvedObject={"kind": "Foo", "name": "a"},
        source={"component": "sample-controller"},
        firstTimestamp="2023-11-14T22:03:20Z",
        lastTimestamp="2023-11-14T22:13:10Z",
        count=3,
    )
    assert (row["Last Seen"], row["First Seen"], row["Count"]) == ("10s", "10m", 3)
    assert (row["Object"], row["Message"], row["Source"]) == ("foo/a", "done", "sample-controller")


def test_event_of_the_new_group_shows_its_series() -> None:
    row = printed(
        "events.k8s.io",
        "events",
        note="n",
        regarding={"kind": "Foo", "name": "a"},
        eventTime="2023-11-14T22:03:20.000000Z",
        series={"count": 7, "lastObservedTime": "2023-11-14T22:13:19.500000Z"},
        reportingController="c",
        reportingInstance="i",
    )
    assert (row["Last Seen"], row["First Seen"], row["Count"], row["Source"]) == ("0s", "10m", 7, "c, i")
    assert (row["Object"], row["Message"]) == ("foo/a", "n")


@pytest.mark.parametrize(
    ("pod", "status"),
    [
        ({"status": {"phase": "Pending"}}, "Pending"),
        ({"status": {"phase": "Running"}, "metadata": {"name": "p", "deletionTimestamp": "x"}}, "Terminating"),
        ({"status": {"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]}},
         "ErrImagePull"),
        ({"status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}},
         "ExitCode:3"),
        (
            {
                "spec": {"initContainers": [{"name": "a"}, {"name": "b"}]},
                "status": {"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}, {"state": {}}]},
            },
            "Init:0/2",
        ),
    ],
)  # fmt: skip
def test_pods_status_says_what_holds_it_up(pod: dict[str, Any], status: str) -> None:
    assert printed("", "pods", **pod)["Status"] == status


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (179 * 60 + 59, "179m"),
        (3 * 3600, "3h"),
        (7 * 3600 + 59 * 60, "7h59m"),
        (8 * 3600 + 60, "8h"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400 + 3600, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (731 * 86400, "2y1d"),
        (2921 * 86400, "8y"),
    ],
)
def test_durations_are_written_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@given(
    st.sampled_from([(item.group, item.plural) for item in builtin_registry().resources() if "list" in item.verbs]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["conditions", "x"]), inner),
        max_leaves=4,
    ),
)
def test_empty_objects_of_every_kind_are_printed(location: tuple[str, str], junk: Any) -> None:
    # The schema is checked before a table is made, so fields are absent or null, never of another type.
    printed(*location, spec={}, status={}, extra=junk)
    printed(*location, spec=None, status=None)
    printed(*location)
