"""Kinds whose class comes from the file of their CRD."""

from pathlib import Path

import pytest

from clientgo.dynamic import DynamicClientset, Unstructured
from clientgo.dynamic.crds import kind_from_crd
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ConfigError, NotFound
from clientgo.manager.client import DirectClient
from clientgo.meta import ObjectMeta, ObjectName, api_of

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %(plural)s.example.com}
spec:
  group: example.com
  scope: %(scope)s
  names: {kind: %(kind)s, plural: %(plural)s, listKind: %(list_kind)s}
  versions:
  - {name: v1beta1, served: true, storage: false, schema: &open {openAPIV3Schema: {type: object,
     x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v1, served: true, storage: true, schema: *open}
  - {name: v0, served: false, storage: false, schema: *open}
"""


def crd(kind: str, plural: str, *, scope: str = "Namespaced", list_kind: str = "") -> str:
    return CRD % {"kind": kind, "plural": plural, "scope": scope, "list_kind": list_kind or f"{kind}List"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "crds.yaml"
    path.write_text("---".join([crd("Backup", "backups"), crd("Site", "sites", scope="Cluster", list_kind="Sites")]))
    return path


@pytest.mark.integration
def test_objects_are_written_and_read_by_the_class(path: Path) -> None:
    backup = kind_from_crd(path, "Backup")
    with Environment(crd_paths=[path], server=BundledServer(simulate=False)) as config:
        clientset = DynamicClientset(config)
        client = DirectClient(clientset.requester)
        client.create(backup(metadata=ObjectMeta(name="a", namespace="default"), content={"spec": {"days": 7}}))
        [stored] = client.list(backup)
        assert (stored.kind, stored.api_version, stored["spec"]["days"]) == ("Backup", "example.com/v1", 7)
        client.delete(stored)
        with pytest.raises(NotFound, match="not found"):
            client.get(backup, ObjectName("default", "a"))
        site = kind_from_crd(path, "Site")
        client.apply(site(metadata=ObjectMeta(name="b"), content={"spec": {}}))
        assert [each.metadata.name for each in client.list(site)] == ["b"]
        clientset.close()


def test_class_is_that_of_the_stored_version_unless_another_is_given(path: Path) -> None:
    assert [api_of(kind_from_crd(path, "Backup", version=each)).version for each in ("", "v1beta1")] == [
        "v1",
        "v1beta1",
    ]
    assert api_of(kind_from_crd(path, "Site")).scope == "Cluster"
    assert kind_from_crd(str(path), "Backup") is kind_from_crd(path, "Backup")
    assert issubclass(kind_from_crd(path, "Backup"), Unstructured)


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        ("", "", "has no CRD of kind '': pass one of Backup, Site"),
        ("Other", "", "has no CRD of kind 'Other': pass one of Backup, Site"),
        ("Backup", "v0", "serves no version 'v0' of Backup: pass one of v1beta1, v1"),
    ],
)
def test_missing_or_ambiguous_kind_is_named(path: Path, kind: str, version: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        kind_from_crd(path, kind, version=version)


def test_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        kind_from_crd(tmp_path / "absent.yaml")
