"""CRDs with patches beside them, as kubebuilder's projects keep them for kustomize."""

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
def test_a_patch_is_put_into_the_crd_that_is_called_so(tmp_path: Path) -> None:
    other = {**CRD, "metadata": {"name": "others.example.com"}}
    bases, patches = written(tmp_path / "bases", a=CRD, b=other), written(tmp_path / "patches", webhook=PATCH)

    for paths in ([bases, patches], [patches, bases]):
        patched, untouched = read_crds(paths)
        assert patched == {**CRD, "spec": {**CRD["spec"], "conversion": CONVERSION}}
        assert untouched == other


def test_a_patch_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_crds([written(tmp_path / "patches", webhook=PATCH)])
    assert str(caught.value) == f"CRD {NAME} of a patch not found: add its file to the paths"


@pytest.mark.parametrize("odd", [{"spec": None}, {"spec": []}, {"metadata": 5, "spec": {"versions": []}}, {}])
def test_what_is_no_patch_is_left_to_the_server_to_refuse(tmp_path: Path, odd: dict[str, object]) -> None:
    document = {"kind": "CustomResourceDefinition", **odd}

    assert read_crds([written(tmp_path / "odd", a=document)]) == [document]
