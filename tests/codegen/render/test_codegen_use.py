"""Use of generated code: apply and extract, informers, schemes, foreign kinds, and the reference CRD."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import DEFINITIONS, FOOS, Kube
from clientgo.codegen.__main__ import main
from clientgo.kubernetes.applyconfigurations import for_kind as built_in_for_kind
from clientgo.kubernetes.scheme import KINDS as BUILT_IN_KINDS
from clientgo.kubernetes.scheme import SCHEME as BUILT_IN
from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.meta import GroupVersionKind, GroupVersionResource, ObjectMeta, Scheme, api_of, from_dict, to_dict
from clientgo.meta.applyconfiguration import ObjectMetaApplyConfiguration
from clientgo.meta.codec import encode_value
from controller.api.v1alpha1 import Foo, FooSpec
from generated.applyconfigurations import for_kind
from generated.applyconfigurations.samplecontroller_v1alpha1 import (
    FooApplyConfiguration,
    FooSpecApplyConfiguration,
    FooStatusApplyConfiguration,
)
from generated.clientset.fake import FakeClientset
from generated.clientset.scheme import SCHEME, add_to_scheme
from generated.informers import SharedInformerFactory
from tests.codegen.generating import CREDENTIALS, generate, importable

NAME = ObjectMetaApplyConfiguration(name="f", namespace="default")


@pytest.mark.feature("A-46", "D-19", "D-20", "C-35")
def test_apply_sends_set_fields_and_extract_returns_owned_fields() -> None:
    foos = FakeClientset().samplecontroller_v1alpha1.foos("default")
    foos.apply(
        FooApplyConfiguration(metadata=NAME, spec=FooSpecApplyConfiguration(deployment_name="d")), field_manager="a"
    )
    foo = foos.apply(
        FooApplyConfiguration(metadata=NAME, spec=FooSpecApplyConfiguration(replicas=2)), field_manager="b"
    )
    assert foo.spec == FooSpec("d", 2)
    mine = FooApplyConfiguration.extract(foo, "b")
    assert mine == FooApplyConfiguration(metadata=NAME, spec=FooSpecApplyConfiguration(replicas=2))
    assert foos.apply(mine, field_manager="b").spec == foo.spec


@pytest.mark.feature("A-46", "D-19", "D-20")
def test_extract_of_the_status_subresource_returns_only_the_status() -> None:
    kube = Kube()
    kube.ok("POST", FOOS, to_dict(Foo(ObjectMeta(name="f"), FooSpec("d"))))
    status = FooApplyConfiguration(metadata=NAME, status=FooStatusApplyConfiguration(available_replicas=0))
    body = encode_value({**status, "metadata": {"name": "f"}})
    kube.ok("PATCH", f"{FOOS}/f/status?fieldManager=a", body, "application/apply-patch+yaml")
    foo = from_dict(Foo, kube.ok("GET", f"{FOOS}/f"))
    assert foo.status.available_replicas == 0
    assert FooApplyConfiguration.extract(foo, "a", subresource="status") == status
    assert FooApplyConfiguration.extract(foo, "a") == FooApplyConfiguration(metadata=NAME)


@pytest.mark.feature("A-46")
def test_extract_returns_the_fields_owned_by_the_manager() -> None:
    kube = Kube()
    config = FooApplyConfiguration(metadata=NAME, spec=FooSpecApplyConfiguration(deployment_name="d"))
    body = encode_value({**config, "metadata": {"name": "f"}})
    kube.ok("PATCH", f"{FOOS}/f?fieldManager=me", body, "application/apply-patch+yaml")
    kube.ok("PATCH", f"{FOOS}/f?fieldManager=kubectl-edit", {"spec": {"replicas": 4}}, "application/merge-patch+json")
    foo = from_dict(Foo, kube.ok("GET", f"{FOOS}/f"))
    assert foo.spec.replicas == 4
    assert FooApplyConfiguration.extract(foo, "me") == config


@pytest.mark.feature("A-44", "D-14", "D-15", "D-18")
def test_for_resource_creates_the_informer_of_a_resource() -> None:
    factory = SharedInformerFactory(FakeClientset())
    informer = factory.for_resource(GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "foos"))
    assert informer is factory.samplecontroller.v1alpha1.foos.informer
    with pytest.raises(LookupError, match="no informer found for"):
        factory.for_resource(GroupVersionResource("samplecontroller.k8s.io", "v1alpha1", "bars"))


@pytest.mark.feature("D-21")
def test_for_kind_returns_the_apply_configuration_of_a_kind() -> None:
    assert for_kind(api_of(Foo).gvk) is FooApplyConfiguration
    assert for_kind(api_of(Deployment).gvk) is None
    result = built_in_for_kind(api_of(Deployment).gvk)
    assert result is not None
    assert result.kind is Deployment
    # Exactly the kinds that support apply have one.
    without = {gvk.kind for gvk in BUILT_IN.kinds() if built_in_for_kind(gvk) is None}
    assert without == {str(cls.__name__) for cls in BUILT_IN_KINDS if "apply" not in api_of(cls).verbs}


@pytest.mark.feature("A-45", "D-05", "A-07")
@pytest.mark.feature("D-02")
def test_add_to_scheme_registers_every_kind() -> None:
    scheme = Scheme(Deployment)
    add_to_scheme(scheme)
    assert scheme.class_of(GroupVersionKind("samplecontroller.k8s.io", "v1alpha1", "Foo")) is Foo
    assert SCHEME.class_of(api_of(Foo).gvk) is Foo
    assert SCHEME.class_of(api_of(Deployment).gvk) is None
    assert BUILT_IN.class_of(api_of(Deployment).gvk) is Deployment
    assert str(api_of(Foo).gvr) == "samplecontroller.k8s.io/v1alpha1, Resource=foos"


def test_crd_input_generates_types_clients_and_informers(tmp_path: Path) -> None:
    generate(tmp_path, "foo_c9g", more=("--from-crd", str(CREDENTIALS)), package="made_theirs")
    with importable(tmp_path, "made_theirs"):
        types = importlib.import_module("made_theirs.types.credentials_v1")
        fake = importlib.import_module("made_theirs.clientset.fake").FakeClientset()
        applies = importlib.import_module("made_theirs.applyconfigurations.credentials_v1")
        spec = types.CredentialSpec(secret_name="s", issuer_ref=types.CredentialSpecIssuerRef(name="ca"), is_ca=True)
        credentials = fake.credentials_v1.credentials("ns")
        built = credentials.create(types.Credential(metadata=ObjectMeta(name="c"), spec=spec))
        assert (built.spec.is_ca, built.spec.private_key, built.spec.dns_names) == (True, None, ())
        assert to_dict(built)["spec"] == {"issuerRef": {"name": "ca"}, "isCA": True, "secretName": "s"}
        applied = credentials.apply(
            applies.CredentialApplyConfiguration(
                metadata=ObjectMetaApplyConfiguration(name="c"),
                spec=applies.CredentialSpecApplyConfiguration(dns_names=("a.example.com",)),
            ),
            field_manager="me",
        )
        assert applied.spec.dns_names == ("a.example.com",)
        assert applies.CredentialApplyConfiguration.extract(applied, "me").spec.dns_names == ("a.example.com",)
        informers = importlib.import_module("made_theirs.informers").SharedInformerFactory(fake)
        assert informers.credentials.v1.credentials.kind is types.Credential


def test_openapi_input_generates_the_same_types_as_the_crd(tmp_path: Path) -> None:
    kube = Kube()
    kube.ok("POST", DEFINITIONS, yaml.safe_load(CREDENTIALS.read_text()))
    document = kube.ok("GET", "/openapi/v3/apis/credentials.example.net/v1")
    (tmp_path / "document.json").write_text(json.dumps(document))
    for source, package in (("--from-crd", "by_crd"), ("--from-openapi", "by_api")):
        path = CREDENTIALS if source == "--from-crd" else tmp_path / "document.json"
        assert main([source, str(path), "--output-package", package, "--root", str(tmp_path)]) == 0
    first, other = ((tmp_path / package / "types/credentials_v1.py").read_text() for package in ("by_crd", "by_api"))
    # Only the CRD has short names and categories.
    assert first.partition("class Credential(")[2] == other.partition("class Credential(")[2]
    for mark in ('short_names=("cred", "creds")', 'categories=("credentials",)'):
        assert mark in first
        assert mark not in other
    assert first.split("@api_type")[0].splitlines()[1:] == other.split("@api_type")[0].splitlines()[1:]


def test_openapi_input_of_the_core_group_generates_clients_with_served_verbs(tmp_path: Path) -> None:
    kind = {"version": "v1", "kind": "Binding"}
    schema = {"type": "object", "properties": {"metadata": {"type": "object"}},
              "x-kubernetes-group-version-kind": [kind]}  # fmt: skip
    document = Kube().ok("GET", "/openapi/v3/api/v1")
    document["paths"]["/api/v1/namespaces/{namespace}/bindings"] = {"post": {"x-kubernetes-group-version-kind": kind}}
    document["components"]["schemas"]["io.k8s.api.core.v1.Binding"] = schema
    (tmp_path / "core.json").write_text(json.dumps(document))
    options = ("--from-openapi", str(tmp_path / "core.json"), "--output-package", "made_core", "--root", str(tmp_path))
    assert main(options) == 0

    with importable(tmp_path, "made_core"):
        types = importlib.import_module("made_core.types.core_v1")
        fake = importlib.import_module("made_core.clientset.fake").FakeClientset()
        built = fake.core_v1.config_maps("ns").create(types.ConfigMap(metadata=ObjectMeta(name="a"), data={"y": "n"}))
        assert built.data == {"y": "n"}
        assert str(api_of(types.ConfigMap).gvr) == "v1, Resource=configmaps"
        assert api_of(types.Namespace).scope == "Cluster"
        assert "delete_collection" not in api_of(types.Namespace).verbs
        assert api_of(types.Binding).verbs == ("create",)
        assert not hasattr(fake.core_v1.bindings("ns"), "list")
        assert not hasattr(importlib.import_module("made_core.informers.core_v1"), "BindingInformer")


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        pytest.param("--from-crd", "a: [", "invalid YAML", id="no YAML"),
        pytest.param("--from-crd", "kind: Foo", "no CustomResourceDefinition of apiextensions", id="another kind"),
        pytest.param("--from-openapi", "{", "invalid JSON", id="no JSON"),
        pytest.param("--from-openapi", "{}", "no kind found: give the output of `kubectl get --raw", id="empty"),
    ],
)
def test_input_file_without_kinds_is_rejected(
    tmp_path: Path, capsys: Any, option: str, text: str, expected: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert main([option, str(path), "--output-package", "made", "--root", str(tmp_path)]) == 2
    assert expected in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [path]


def test_missing_input_and_duplicate_kinds_are_rejected(tmp_path: Path, capsys: Any) -> None:
    assert main(["--output-package", "made", "--root", str(tmp_path)]) == 2
    assert "no input: give --input-module, --from-crd or --from-openapi" in capsys.readouterr().err
    (copy := tmp_path / "copy.yaml").write_text(CREDENTIALS.read_text())
    twice = ["--from-crd", str(CREDENTIALS), "--from-crd", str(copy)]
    assert main([*twice, "--output-package", "made", "--root", str(tmp_path)]) == 2
    assert "Kind=Credential is already defined in credentials.yaml" in capsys.readouterr().err


REFERENCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "deploymentName": {"type": "string"},
                "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
            },
        },
        "status": {"type": "object", "properties": {"availableReplicas": {"type": "integer"}}},
    },
}


@pytest.mark.parametrize(("module", "subresources"), [("reference_foo", {"status": {}}), ("reference_foo_plain", None)])
@pytest.mark.feature("A-51", "A-19", "A-32")
def test_crd_of_the_reference_foo_matches_the_reference(module: str, subresources: Any, tmp_path: Path) -> None:
    generate(tmp_path, module)
    document = yaml.safe_load((tmp_path / "crd/samplecontroller.k8s.io_foos.yaml").read_text())
    assert document["metadata"]["name"] == "foos.samplecontroller.k8s.io"
    assert document["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved, experimental-only")
    assert (document["spec"]["group"], document["spec"]["scope"]) == ("samplecontroller.k8s.io", "Namespaced")
    assert {key: document["spec"]["names"][key] for key in ("kind", "plural")} == {"kind": "Foo", "plural": "foos"}
    (version,) = document["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version.get("subresources") == subresources
    # Ignore descriptions, and fields that every API server adds.
    schema = without_descriptions(version["schema"]["openAPIV3Schema"])
    for name in ("apiVersion", "kind", "metadata"):
        del schema["properties"][name]
    assert schema == REFERENCE


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: without_descriptions(v) for k, v in schema.items() if k != "description"}
    return schema
