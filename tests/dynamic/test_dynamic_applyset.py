"""Apply sets: what is no longer applied is deleted."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from clientgo.dynamic import DynamicClientset, Unstructured
from clientgo.dynamic.applyset import ID, KINDS, NAMESPACES, PART_OF, TOOLING
from clientgo.dynamic.manifests import ManifestError, apply_yaml
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ConfigError
from clientgo.meta import GroupVersionResource, ObjectMeta

pytestmark = pytest.mark.integration

MAPS = GroupVersionResource("", "v1", "configmaps")
SECRETS = GroupVersionResource("", "v1", "secrets")

SPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: later}}"
A = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: later}}"
B = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {mine: x}}}"
ROLE = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: []}"


@pytest.fixture
def clientset() -> Iterator[DynamicClientset]:
    with Environment(server=BundledServer(simulate=False)) as config, closing(DynamicClientset(config)) as built:
        yield built


def apply(clientset: DynamicClientset, *documents: str, name: str = "set", dry_run: bool = False) -> list[str]:
    outcomes = apply_yaml(clientset, "\n---\n".join(documents), field_manager="test", apply_set=name, dry_run=dry_run)
    return [f"{item.name} {item.result}" for item in outcomes]


def parent(clientset: DynamicClientset) -> ObjectMeta:
    return clientset.resource(SECRETS, "default").get("set").metadata


def test_parent_and_members_are_those_of_an_apply_set_of_kubectl(clientset: DynamicClientset) -> None:
    apply(clientset, SPACE, A, B, ROLE)
    meta = parent(clientset)
    assert meta.labels == {ID: "applyset-GzV5QNw0hpfp90Rc5ckxJmVoyyU-gDZeLYpJFDTwDHA-v1"}
    assert meta.annotations[KINDS] == "ConfigMap,Namespace,Role.rbac.authorization.k8s.io"
    assert meta.annotations[NAMESPACES] == "later"
    assert meta.annotations[TOOLING].startswith("clientgo/v")
    labels = clientset.resource(MAPS, "default").get("b").metadata.labels
    assert labels == {"mine": "x", PART_OF: meta.labels[ID]}


def test_what_is_no_longer_applied_is_deleted(clientset: DynamicClientset) -> None:
    clientset.resource(MAPS, "default").create(Unstructured(metadata=ObjectMeta(name="of-others")))
    assert apply(clientset, SPACE, A, B, ROLE) == ["later created", "a created", "b created", "r created"]
    assert apply(clientset, SPACE, B, dry_run=True) == ["later unchanged", "b unchanged", "a pruned", "r pruned"]
    assert apply(clientset, SPACE, B) == ["later unchanged", "b unchanged", "a pruned", "r pruned"]
    assert apply(clientset, SPACE, B) == ["later unchanged", "b unchanged"]
    assert parent(clientset).annotations[KINDS] == "ConfigMap,Namespace"
    assert "of-others" in [each.metadata.name for each in clientset.resource(MAPS, "default").list().items]
    assert apply(clientset, B) == ["b unchanged", "later pruned"]


def test_nothing_is_deleted_if_an_object_fails(clientset: DynamicClientset) -> None:
    apply(clientset, SPACE, A, B)
    with pytest.raises(ManifestError, match="1 of 2 objects failed"):
        apply(clientset, B, "{apiVersion: example.com/v1, kind: Missing, metadata: {name: m}}")
    assert "ConfigMap,Missing.example.com,Namespace" in parent(clientset).annotations[KINDS]
    assert apply(clientset, B) == ["b unchanged", "a pruned", "later pruned"]


def test_parent_may_be_in_a_namespace_of_the_set_and_a_config_map(clientset: DynamicClientset) -> None:
    outcomes = apply_yaml(
        clientset, f"{SPACE}\n---\n{A}", field_manager="test", apply_set="configmaps/set", namespace="later"
    )
    assert len(outcomes) == 2
    assert ID in clientset.resource(MAPS, "later").get("set").metadata.labels


@pytest.mark.parametrize(
    ("labels", "annotations", "message"),
    [
        ({}, {}, "Secret default/set is not the parent of an apply set: choose another name, or delete it"),
        ({ID: "right"}, {TOOLING: "kubectl/v1.36.0"}, "of Secret default/set belongs to kubectl/v1.36.0: choose"),
    ],
)
def test_parent_of_others_is_refused_before_any_write(
    clientset: DynamicClientset, labels: dict[str, str], annotations: dict[str, str], message: str
) -> None:
    if labels:
        apply(clientset)
        labels = dict(parent(clientset).labels)
        clientset.resource(SECRETS, "default").delete("set")
    meta = ObjectMeta(name="set", labels=labels, annotations=annotations)
    clientset.resource(SECRETS, "default").create(Unstructured(metadata=meta))
    with pytest.raises(ConfigError, match=message):
        apply(clientset, SPACE)
    with pytest.raises(ConfigError, match="invalid apply set 'pods/x': expected NAME, secrets/NAME or configmaps/NAME"):
        apply(clientset, SPACE, name="pods/x")
    assert "later" not in str(clientset.resource(GroupVersionResource("", "v1", "namespaces"), namespaced=False).list())
