"""`clientgo explain`: its flags, and its errors in one line."""

from pathlib import Path

import pytest

from tests.cli.projects import clientgo

Capture = pytest.CaptureFixture[str]


def test_field_of_a_built_in_kind_is_explained(tmp_path: Path, capsys: Capture) -> None:
    assert clientgo(tmp_path, "explain", "deployment.spec.strategy") == 0
    assert "FIELD: strategy <DeploymentStrategy>\n" in capsys.readouterr().out


def test_flags_choose_the_version_and_all_fields(tmp_path: Path, capsys: Capture) -> None:
    assert clientgo(tmp_path, "explain", "hpa.spec", "--api-version", "autoscaling/v1", "--recursive") == 0
    output = capsys.readouterr().out
    assert "VERSION:    v1\n" in output
    assert "  scaleTargetRef\t<CrossVersionObjectReference> -required-\n    apiVersion\t<string>\n" in output


def test_kind_of_a_crd_file_is_explained(tmp_path: Path, capsys: Capture) -> None:
    crd = Path(__file__).parents[2] / "artifacts/crd/samplecontroller.k8s.io_foos.yaml"
    assert clientgo(tmp_path, "explain", "foo.spec", "--crd", str(crd)) == 0
    assert "FIELD: spec <Object> -required-\n" in capsys.readouterr().out


def test_unknown_field_is_an_error_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    assert clientgo(tmp_path, "explain", "deployment.spec.stratgy") == 1
    error = 'clientgo explain: field "stratgy" not found in Deployment.spec: did you mean strategy?\n'
    assert capsys.readouterr().err == error
