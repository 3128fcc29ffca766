"""Object metadata as immutable values."""

import copy
import pickle
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from clientgo.meta import EMPTY_MAP, GroupVersionKind, GroupVersionResource, ListMeta, MicroTime, ObjectMeta
from clientgo.meta.listwatch import ListOptions


def test_metadata_cannot_be_changed() -> None:
    meta: Any = ObjectMeta(name="x")
    with pytest.raises(AttributeError):
        meta.name = "y"


def test_absent_lists_and_maps_read_as_empty_ones() -> None:
    meta = ObjectMeta()
    assert meta.labels.get("app") is None
    assert meta.labels.get("app", "none") == "none"
    assert "app" not in meta.annotations
    assert (meta.owner_references, meta.finalizers) == ((), ())
    with pytest.raises(KeyError):
        meta.labels["app"]


def test_empty_map_is_a_singleton() -> None:
    assert copy.deepcopy(EMPTY_MAP) is EMPTY_MAP
    assert pickle.loads(pickle.dumps(EMPTY_MAP)) is EMPTY_MAP
    assert (dict(EMPTY_MAP), len(EMPTY_MAP), repr(EMPTY_MAP)) == ({}, 0, "{}")
    assert EMPTY_MAP == {}


def test_the_empty_map_may_be_a_dataclass_default() -> None:
    @dataclass(frozen=True)
    class Spec:
        tags: Any = EMPTY_MAP

    assert Spec().tags is EMPTY_MAP


def test_metadata_uses_the_apis_names() -> None:
    meta = ObjectMeta(name="x", resource_version="5", deletion_grace_period_seconds=0)
    assert msgspec.json.encode(meta) == b'{"name":"x","resourceVersion":"5","deletionGracePeriodSeconds":0}'
    assert msgspec.json.encode(ListMeta(continue_="abc")) == b'{"continue":"abc"}'
    assert msgspec.json.encode(ObjectMeta()) == b"{}"


@pytest.mark.feature("A-56")
@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 6, UTC), "2026-01-02T03:04:05.000006Z"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00.000000Z"),
        (datetime(2026, 1, 2, 1, tzinfo=timezone(timedelta(hours=2))), "2026-01-01T23:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_micro_time_is_written_with_six_digits_in_utc(at: datetime, text: str) -> None:
    micro = MicroTime.of(at)
    assert micro == at
    assert micro.wire() == text


def test_groups_versions_kinds_and_resources_print_as_kubernetes_prints_them() -> None:
    assert str(GroupVersionKind("apps", "v1", "Deployment")) == "apps/v1, Kind=Deployment"
    assert GroupVersionKind("", "v1", "Pod").api_version == "v1"
    assert str(GroupVersionResource("apps", "v1", "deployments")) == "apps/v1, Resource=deployments"
    assert GroupVersionResource("apps", "v1", "deployments").group_resource == "deployments.apps"
    assert GroupVersionResource("", "v1", "pods").group_resource == "pods"
    assert GroupVersionResource("", "v1", "pods").api_version == "v1"


def test_list_options_become_a_query_without_empty_values() -> None:
    assert ListOptions().query() == {}
    assert ListOptions(retry_lagging=False).query() == {}  # for the client alone
    options = ListOptions(
        label_selector="a=b", limit=500, continue_="t", watch=True, allow_watch_bookmarks=True, timeout_seconds=300
    )
    assert options.query() == {
        "labelSelector": "a=b", "limit": "500", "continue": "t", "watch": "true", "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }  # fmt: skip
