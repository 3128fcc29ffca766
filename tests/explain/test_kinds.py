"""Kinds found by name, group and version, and errors for those that are not."""

from pathlib import Path
from typing import Any

import pytest

from clientgo.errors import ClientGoError
from clientgo.explain import ExplainError, explain
from clientgo.explain.kinds import find
from clientgo.kubernetes.scheme import KINDS
from clientgo.meta import api_of
from tests.explain.explaining import Library

LIBRARY = f"{Library.__module__}:Library"


@pytest.mark.parametrize(
    ("target", "api_version", "kind", "fields"),
    [
        ("Deployment", "apps/v1", "Deployment", []),
        ("deployments.spec.replicas", "apps/v1", "Deployment", ["spec", "replicas"]),
        ("deploy.metadata", "apps/v1", "Deployment", ["metadata"]),
        ("deployments.apps.spec", "apps/v1", "Deployment", ["spec"]),
        ("netpol.networking.k8s.io", "networking.k8s.io/v1", "NetworkPolicy", []),
        ("po", "v1", "Pod", []),
        ("event", "v1", "Event", []),
        ("events.events.k8s.io.note", "events.k8s.io/v1", "Event", ["note"]),
        ("hpa.spec", "autoscaling/v2", "HorizontalPodAutoscaler", ["spec"]),
    ],
)
def test_built_in_kind_is_found_as_kubectl_finds_it(
    target: str, api_version: str, kind: str, fields: list[str]
) -> None:
    match, names = find(target)
    assert (match.api.api_version, match.api.kind, names) == (api_version, kind, fields)


def test_every_built_in_kind_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for cls in KINDS:
        api = api_of(cls)
        explain(api.plural, api_version=api.api_version)
        assert f"KIND:       {api.kind}\n" in capsys.readouterr().out


def test_api_version_chooses_among_versions_and_groups(crd_file: Path) -> None:
    assert find("hpa", "autoscaling/v1")[0].api.version == "v1"
    assert find("event", "events.k8s.io/v1")[0].api.group == "events.k8s.io"
    assert find("lib", "towns.example.com/v1beta1", [crd_file])[0].api.version == "v1beta1"


@pytest.mark.parametrize("target", ["Library", "libraries", "lib", "libraries.towns.example.com"])
def test_kind_of_a_file_has_its_preferred_version(target: str, crd_file: Path) -> None:
    assert find(target, crds=[crd_file])[0].api.api_version == "towns.example.com/v2"


def test_class_is_found_by_its_module() -> None:
    match, fields = find(f"{LIBRARY}.spec.city")
    assert (match.cls, fields) == (Library, ["spec", "city"])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "deploymen",
            'kind "deploymen" not found: did you mean deployment? For a kind that is not built in, give --crd',
        ),
        ("xyz.spec", 'kind "xyz" not found: For a kind that is not built in, give --crd FILE or MODULE:CLASS'),
        ("deployment.spec.stratgy", 'field "stratgy" not found in Deployment.spec: did you mean strategy?'),
        ("deployment.zzz", "expected one of apiVersion, kind, metadata, spec, status"),
        ("deployment.spec.replicas.x", "not found in Deployment.spec.replicas: its type integer has no fields"),
        (f"{LIBRARY}s", f'class "Librarys" not found in {Library.__module__}: expected Library'),
        ("no.such.module:Foo", "module no not found"),
        (int, "cannot explain <class 'int'>: expected the name of a kind, a dataclass or a Struct"),
    ],
)
def test_unknown_name_is_reported_with_the_nearest_ones(target: str | type[Any], message: str) -> None:
    with pytest.raises(ExplainError) as raised:
        explain(target)
    assert message in str(raised.value)
    assert isinstance(raised.value, ClientGoError)


def test_unknown_version_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ExplainError, match='kind "hpa" not found in API version "v3": expected autoscaling/v1 or aut'):
        explain("hpa", api_version="v3")


def test_file_without_a_definition_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "empty.yaml"
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(ExplainError, match=r"empty\.yaml:1: no CustomResourceDefinition"):
        explain("library", crds=[file])
    with pytest.raises(ExplainError, match=r"gone\.yaml: cannot read the file: No such file or directory"):
        explain("library", crds=[tmp_path / "gone.yaml"])
