"""Insertion of generated schemas into a handwritten CRD."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.codegen.__main__ import main

HEAD = """\
# Kept by hand.
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: harbours.fleet.example.com   # the name
  annotations: {"x": 'y'}
spec:
  group: fleet.example.com
  names: {kind: Harbour, plural: harbours}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        # of version 1
        openAPIV3Schema:
"""
OLD = """\
          type: object   # open
          description: |
            several
            lines
"""
TAIL = """

      # behind it
      subresources:
        status: {}
    - name: v2   # unrelated
      served: false
      storage: false
      schema: {openAPIV3Schema: {type: object}}
# the end
"""
FLOW = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: harbours.fleet.example.com}
spec: {group: fleet.example.com, names: {kind: Harbour, plural: harbours}, scope: Cluster, versions: [{name: v1, served:
    true, storage: true, schema: {openAPIV3Schema: {}}}]}
"""


def patch(folder: Path, text: str, *more: str) -> int:
    (folder / "crd.yaml").write_text(text)
    inputs = ["--input-module", "tests.codegen.kinds.fleet", "--patch-schema", "crd.yaml"]
    return main([*inputs, "--root", str(folder), *more])


def schema_in(text: str) -> Any:
    return yaml.safe_load(text)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


@pytest.fixture
def generated(tmp_path: Path) -> Any:
    folder = tmp_path / "generated"
    assert main(["--input-module", "tests.codegen.kinds.fleet", "--crd-dir", "crd", "--root", str(folder)]) == 0
    return schema_in((folder / "crd/fleet.example.com_harbours.yaml").read_text())


@pytest.mark.feature("D-95")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(HEAD + OLD + TAIL, id="a block"),
        pytest.param(HEAD.rstrip() + " {}  # nothing yet" + TAIL, id="an empty mapping"),
        pytest.param(HEAD.rstrip() + TAIL, id="nothing"),
        pytest.param(FLOW, id="all on one line"),
    ],
)
def test_patch_replaces_the_schema_with_the_generated_one(tmp_path: Path, generated: Any, text: str) -> None:
    assert patch(tmp_path, text) == 0
    assert schema_in((tmp_path / "crd.yaml").read_text()) == generated


@pytest.mark.feature("D-95")
def test_patch_leaves_the_rest_of_the_file_unchanged(tmp_path: Path) -> None:
    assert patch(tmp_path, HEAD + OLD + TAIL) == 0
    text = (tmp_path / "crd.yaml").read_text()
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
    assert "several" not in text
    assert patch(tmp_path, text, "--verify") == 0


def test_verify_shows_the_patch_and_writes_nothing(tmp_path: Path, capsys: Any) -> None:
    assert patch(tmp_path, HEAD + OLD + TAIL, "--verify", "--max-description", "0") == 1
    response = capsys.readouterr()
    assert "--- a/crd.yaml" in response.out
    assert "-            several" in response.out
    assert "+              format: int32" in response.out
    assert "description" not in "".join(line for line in response.out.splitlines() if line.startswith("+"))
    assert (tmp_path / "crd.yaml").read_text() == HEAD + OLD + TAIL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: [", "crd.yaml:1: invalid YAML: ", id="no YAML"),
        pytest.param("kind: Other", "crd.yaml:1: no kind of the input found: give its module", id="another kind"),
        pytest.param(FLOW.replace(", schema: {openAPIV3Schema: {}}", ""),
                     "crd.yaml:4: the version has no schema: add `schema: {openAPIV3Schema: {}}` here",
                     id="no schema"),
        pytest.param(FLOW.replace("Cluster", "Clusters"),
                     'crd.yaml: spec.scope: Unsupported value: "Clusters": supported values: ',
                     id="error beside the schema"),
    ],
)  # fmt: skip
def test_file_that_cannot_be_patched_is_reported_and_unchanged(
    tmp_path: Path, capsys: Any, text: str, expected: str
) -> None:
    assert patch(tmp_path, text) == 2
    assert expected in capsys.readouterr().err
    assert (tmp_path / "crd.yaml").read_text() == text
