"""CRDs with patches, as in kubebuilder projects for kustomize."""

from pathlib import Path

import pytest

from clientgo.envtest.crds import read_crds
from clientgo.errors import ConfigError
from clientgo.meta.yamlio import to_yaml
from tests.e2e.kubectl import CRD

NAME = CRD["metadata"]["name"]
CONVERSION = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
PATCH = {"kind": "CustomResourceDefinition", "metadata": {"name": NAME}, "spec": {"conversion": CONVERSION}}


def written(folder: Path, **files: object) -> Path:
    folder.mkdir()
    for name, document in files.items():
        (folder / f"{name}.yaml").write_text(to_yaml(document))
    return folder


@pytest.mark.feature("A-18")
def test_patch_is_merged_into_the_crd_of_its_name(tmp_path: Path) -> None:
    other = {**CRD, "metadata": {"name": "others.example.com"}}
    bases, patches = written(tmp_path / "bases", a=CRD, b=other), written(tmp_path / "patches", webhook=PATCH)

    for paths in ([bases, patches], [patches, bases]):
        patched, untouched = read_crds(paths)
        assert patched == {**CRD, "spec": {**CRD["spec"], "conversion": CONVERSION}}
        assert untouched == other


def test_patch_of_a_missing_crd_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_crds([written(tmp_path / "patches", webhook=PATCH)])
    assert str(caught.value) == f"CRD {NAME} of a patch not found: add its file to the paths"


@pytest.mark.parametrize("odd", [{"spec": None}, {"spec": []}, {"metadata": 5, "spec": {"versions": []}}, {}])
def test_invalid_crd_is_rejected_by_the_server(tmp_path: Path, odd: dict[str, object]) -> None:
    document = {"kind": "CustomResourceDefinition", **odd}

    assert read_crds([written(tmp_path / "odd", a=document)]) == [document]
