"""Discovery documents of a server."""

import pytest

from clientgo.errors import ConnectionFailed, NotFound
from clientgo.testing.kubernetes import FakeClientset
from clientgo.typed.discovery import ApiGroup, Discovery, ServedResource
from tests.typed.documents import Documents
from tests.typed.recorder import Recorder


@pytest.mark.feature("D-04")
def test_version_groups_and_resources_are_read() -> None:
    discovery = Discovery(Documents())
    assert discovery.version().git_version == "v1.35.0"
    assert discovery.groups() == [ApiGroup("", ("v1",)), ApiGroup("batch", ("v1", "v1beta1")), ApiGroup("empty", ())]
    assert discovery.groups()[1].api_versions == ("batch/v1", "batch/v1beta1")
    assert discovery.resources("v1") == [ServedResource("nodes", "Node", verbs=("get",))]
    assert discovery.resources("batch/v1") == []


def test_serves_reports_whether_a_kind_exists() -> None:
    discovery = Discovery(Documents())
    assert discovery.serves("v1", "Node")
    assert not discovery.serves("v1", "Foo")
    assert not discovery.serves("example.com/v1", "Foo")


def test_invalid_discovery_document_is_named_by_its_path() -> None:
    with pytest.raises(ConnectionFailed, match=r"^invalid response for /version, not from an API server: "):
        Discovery(Documents({"/version": ["a proxy's page"]})).version()


def test_discovery_document_nested_too_deep_is_an_invalid_response() -> None:
    class Deep:
        def raw(self, _method: str, _path: str) -> bytes:
            return b'{"kind":"APIResourceList","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    with pytest.raises(ConnectionFailed, match=r"^invalid response for /api/v1, not from an API server: "):
        Discovery(Deep()).resources("v1")


@pytest.mark.feature("D-04", "B-TST-06")
def test_fake_clientset_serves_the_kinds_it_knows() -> None:
    clientset = FakeClientset()
    discovery = clientset.discovery
    assert discovery.version().git_version.endswith("bundled")
    assert {"", "apps", "batch"} <= {group.name for group in discovery.groups()}
    assert discovery.group("autoscaling").versions == ("v2", "v1")
    served = {resource.name: resource for resource in discovery.resources("apps/v1")}
    assert (served["deployments"].kind, served["deployments"].namespaced) == ("Deployment", True)
    assert {"deletecollection", "update"} <= set(served["deployments"].verbs)
    assert served["deployments/status"].is_subresource
    assert not {resource.name: resource for resource in discovery.resources("v1")}["nodes"].namespaced
    for path in ("apps/v9", "nowhere.example.com/v1"):
        with pytest.raises(NotFound):
            discovery.resources(path)
    assert clientset.actions == []


@pytest.mark.feature("D-04")
def test_groups_share_the_requester_and_discovery_needs_raw_requests() -> None:
    clientset = FakeClientset()
    assert clientset.core_v1.pods("x")._requester is clientset.apps_v1.deployments("x")._requester
    clientset.requester = Recorder({})
    with pytest.raises(TypeError, match="does not support discovery"):
        _ = clientset.discovery
