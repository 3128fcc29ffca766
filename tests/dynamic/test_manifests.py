"""Server-side apply and deletion of YAML with objects of several kinds."""

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clientgo.dynamic import DynamicClientset
from clientgo.dynamic.manifests import ManifestError, apply_yaml, create_yaml, delete_yaml
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ConfigError, NotFound
from clientgo.meta import GroupVersionResource
from clientgo.rest.client import RESTClient
from clientgo.rest.request import ForwardingRequester

pytestmark = pytest.mark.integration

ARTIFACTS = Path(__file__).parents[2] / "artifacts"
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
TEXT = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: later}, data: {a: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
apiVersion: v1
kind: Namespace
metadata: {name: later}
"""


@pytest.fixture
def clientset() -> Iterator[DynamicClientset]:
    with Environment(server=BundledServer(simulate=False)) as config, closing(DynamicClientset(config)) as built:
        yield built


def results(outcomes: list[object]) -> list[str]:
    return [str(item).rpartition(": ")[2] for item in outcomes]


@pytest.mark.parametrize("write", [delete_yaml, lambda clientset, text: apply_yaml(clientset, text, field_manager="x")])
def test_only_a_created_object_may_have_a_generated_name(clientset: DynamicClientset, write: Any) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: run-}}"
    first, second = (create_yaml(clientset, text)[0] for _ in range(2))
    assert first.name.startswith("run-")
    assert first.name != second.name
    assert clientset.resource(CONFIG_MAPS, "default").get(first.name).metadata.generate_name == "run-"
    with pytest.raises(ConfigError, match=r"needs apiVersion, kind and metadata\.name"):
        write(clientset, text)


def test_objects_are_applied_in_order_and_the_second_time_unchanged(clientset: DynamicClientset) -> None:
    outcomes = apply_yaml(clientset, TEXT, field_manager="test")
    assert [(item.kind, item.name, str(item.result)) for item in outcomes] == [
        ("Namespace", "later", "created"), ("ConfigMap", "a", "created"), ("ConfigMap", "b", "created"),
    ]  # fmt: skip
    version = clientset.resource(CONFIG_MAPS, "later").get("a").metadata.resource_version
    assert results([*apply_yaml(clientset, TEXT, field_manager="test")]) == ["unchanged"] * 3
    assert clientset.resource(CONFIG_MAPS, "later").get("a").metadata.resource_version == version
    changed = TEXT.replace("a: b", "a: c")
    for dry_run in (True, False):
        outcomes = apply_yaml(clientset, changed, field_manager="test", dry_run=dry_run)
        assert results([*outcomes]) == ["unchanged", "configured", "unchanged"]


MAP = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"}}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "{apiVersion: v1, kind: ConfigMapList, items: [{metadata: {name: a}}, {metadata: {name: b}}]}", id="list"
        ),
        pytest.param(f"{MAP % 'a'}\n{MAP % 'b'}\n", id="JSON lines"),
        pytest.param(f" {MAP % 'a'}{MAP % 'b'}", id="JSON"),
        pytest.param(f"---\n{MAP % 'a'}\n---\n\n---\n{MAP % 'b'}\n---\n", id="empty documents"),
    ],
)
def test_objects_are_read_in_every_form_that_kubectl_reads(clientset: DynamicClientset, text: str) -> None:
    outcomes = create_yaml(clientset, text)
    assert [(item.kind, item.name, str(item.result)) for item in outcomes] == [
        ("ConfigMap", "a", "created"), ("ConfigMap", "b", "created"),
    ]  # fmt: skip


BARE = """
{apiVersion: v1, kind: Namespace, metadata: {name: bare}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: bare}}
"""


def test_object_that_sets_no_field_is_not_written_again(clientset: DynamicClientset) -> None:
    secrets = clientset.resource(GroupVersionResource("", "v1", "secrets"), "bare")
    apply_yaml(clientset, BARE, field_manager="test")
    written = secrets.get("s")
    for dry_run in (True, False):
        outcomes = apply_yaml(clientset, BARE, field_manager="test", dry_run=dry_run)
        assert results([*outcomes]) == ["unchanged", "unchanged"]
    assert secrets.get("s") == written


def test_object_that_sets_no_field_any_more_is_written(clientset: DynamicClientset) -> None:
    labelled = BARE.replace("namespace: bare}", "namespace: bare, labels: {a: b}}")
    apply_yaml(clientset, labelled, field_manager="test")
    outcomes = apply_yaml(clientset, BARE, field_manager="test")
    assert results([*outcomes]) == ["unchanged", "configured"]
    assert clientset.resource(GroupVersionResource("", "v1", "secrets"), "bare").get("s").metadata.labels == {}


def test_objects_are_deleted_in_reverse_order(clientset: DynamicClientset) -> None:
    apply_yaml(clientset, TEXT, field_manager="test")
    assert [item.name for item in delete_yaml(clientset, TEXT)] == ["b", "a", "later"]
    assert results([*delete_yaml(clientset, TEXT)])[:2] == ["absent", "absent"]


def test_custom_resources_follow_their_definition(clientset: DynamicClientset, tmp_path: Path) -> None:
    foo = "apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: f}\n"
    (tmp_path / "a.yaml").write_text(foo + "spec: {deploymentName: d, replicas: 1}\n")
    for file in (ARTIFACTS / "crd").glob("*foos.yaml"):
        (tmp_path / file.name).write_text(file.read_text())
    for expected in ("created", "unchanged"):
        assert set(results([*apply_yaml(clientset, tmp_path, field_manager="test")])) == {expected}


class Lagging(ForwardingRequester):
    """Server whose discovery shows a new version at the third look."""

    def __init__(self, requester: RESTClient) -> None:
        super().__init__(requester)
        self.looks = 0
        self._raw = requester.raw

    def raw(self, method: str, path: str) -> bytes:
        if path.endswith("/v2"):
            self.looks += 1
            if self.looks < 3:
                raise NotFound("not yet")
        return self._raw(method, path)


GADGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Gadget, plural: gadgets}, versions: [VERSIONS]}
"""
VERSION = "{name: %s, served: true, storage: %s, schema: {openAPIV3Schema: {type: object}}}"
V1, V2 = VERSION % ("v1", "true"), VERSION % ("v2", "false")


def test_custom_resources_follow_a_new_version_of_their_definition(clientset: DynamicClientset) -> None:
    assert isinstance(clientset.requester, RESTClient)
    lagging = Lagging(clientset.requester)
    apply_yaml(DynamicClientset(lagging), GADGETS.replace("VERSIONS", V1), field_manager="test")
    gadget = "---\n{apiVersion: example.com/v2, kind: Gadget, metadata: {name: g}}\n"
    text = GADGETS.replace("VERSIONS", f"{V1}, {V2}") + gadget
    assert results([*apply_yaml(DynamicClientset(lagging), text, field_manager="test")]) == ["configured", "created"]
    assert lagging.looks > 2


def test_failed_object_is_named_and_prevents_no_other(clientset: DynamicClientset) -> None:
    text = "{apiVersion: example.com/v1, kind: Missing, metadata: {name: m}}\n---\n" + TEXT.strip()
    with pytest.raises(ManifestError, match=r"1 of 4 objects failed:\ntext, document 1: Missing m: no match") as error:
        apply_yaml(clientset, text, field_manager="test")
    assert [str(item.result) for item in error.value.results] == ["created", "None", "created", "created"]


@pytest.mark.parametrize("text", ["a: [", "just text", "{apiVersion: v1, kind: ConfigMap}"])
def test_invalid_yaml_is_rejected_before_any_write(clientset: DynamicClientset, text: str) -> None:
    with pytest.raises(ConfigError, match="text"):
        apply_yaml(clientset, f"{TEXT}\n---\n{text}", field_manager="test")
    assert "later" not in str(clientset.resource(GroupVersionResource("", "v1", "namespaces"), namespaced=False).list())


def test_created_objects_that_exist_are_errors(clientset: DynamicClientset) -> None:
    assert results([*create_yaml(clientset, TEXT)]) == ["created"] * 3
    with pytest.raises(ManifestError, match="3 of 3 objects failed"):
        create_yaml(clientset, TEXT)


SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: %s, user: me}}"


def test_diff_shows_what_would_change_and_hides_the_values_of_secrets(clientset: DynamicClientset) -> None:
    apply_yaml(clientset, f"{TEXT}\n---\n{SECRET % 'old'}", field_manager="test")
    changed = f"{TEXT.replace('a: b', 'a: c')}\n---\n{SECRET % 'new'}"
    outcomes = apply_yaml(clientset, changed, field_manager="test", dry_run=True)
    diffs = {item.name: item.diff.splitlines() for item in outcomes}
    assert diffs["later"] == diffs["b"] == []
    assert diffs["a"][:2] == ["--- ConfigMap a", "+++ text, document 1"]
    assert [line for line in diffs["a"][2:] if line[0] in "+-"] == ["-  a: b", "+  a: c"]
    assert [line for line in diffs["s"][2:] if line[0] in "+-"] == [
        "-  password: '*** (before)'",
        "+  password: '*** (after)'",
    ]
    assert "  user: '***'" in "\n".join(diffs["s"])
    (created,) = apply_yaml(clientset, SECRET.replace("name: s", "name: t") % "x", field_manager="test", dry_run=True)
    assert "+kind: Secret" in created.diff


def test_streams_are_read(clientset: DynamicClientset) -> None:
    for stream in (io.StringIO(TEXT), io.BytesIO(TEXT.encode())):
        assert len(apply_yaml(clientset, stream, field_manager="test", dry_run=False)) == 3
    with pytest.raises(ConfigError, match="stream cannot be read as YAML: 'utf-8' codec"):
        apply_yaml(clientset, io.BytesIO(b"\xff"), field_manager="test")
