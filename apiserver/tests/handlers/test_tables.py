from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.tests.inprocess import DEFINITIONS, GROUP, Kube, definition
from clientgo.meta.scheme import Column
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.api.resources import Resource
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.handlers.tables import partial_metadata, partial_metadata_list, render
from clientgo_apiserver.registry.builtin import builtin_registry

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
    assert described[0].startswith("Name must be unique within a namespace. ")
    assert described[1] == "Custom resource definition column (in JSONPath format): .spec.deploymentName"
    assert described[3] == "Whether it is."
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 0, 1, 0]
    assert table["rows"][0]["cells"] == ["a", "d", 2, True, 2.0, "5m"]


def test_custom_resource_without_columns_shows_name_and_age() -> None:
    assert cells(foo(()), FOO) == ["a", "5m"]


def test_default_column_of_a_custom_kind_has_the_description_of_the_field(kube: Kube) -> None:
    kube.ok("POST", DEFINITIONS, definition("bars", "Bar"))
    url = f"/apis/{GROUP}/v1alpha1/bars"
    columns = kube.ok("GET", url, accept="application/json;as=Table;v=v1;g=meta.k8s.io")["columnDefinitions"]
    assert columns[1]["description"].startswith("CreationTimestamp is a timestamp representing the server time")


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
