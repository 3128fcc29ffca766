"""Bundles and charts of projects that make their certificates themselves."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.projects import FOO, clientgo, read_files, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "foo"
    folder.mkdir()
    arguments = ("--domain", "c9g.io", "--project-name", "foo", "--certificates", "self-signed")
    assert clientgo(folder, "init", *arguments) == 0
    assert clientgo(folder, "create", "api", *FOO, "--resource", "--controller") == 0
    assert clientgo(folder, "create", "webhook", *FOO, "--defaulting") == 0
    return folder


def test_bundle_has_no_key_and_leaves_certificates_to_olm(project: Path, variables: Mapping[str, str]) -> None:
    run(project, variables, "make", "bundle", "IMG=registry.example.com/foo:0.2.0", "VERSION=0.2.0")
    manifests = read_files(project / "bundle/manifests")
    assert not any(yaml.safe_load(text)["kind"] == "Secret" for text in manifests.values())
    version = yaml.safe_load(manifests["foo.clusterserviceversion.yaml"])
    [deployment] = version["spec"]["install"]["spec"]["deployments"]
    assert "volumes" not in deployment["spec"]["template"]["spec"]


def test_chart_would_contain_the_key_and_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(project, "manifests") == 0
    assert clientgo(project, "certificates") == 0
    assert clientgo(project, "chart", "--version", "0.2.0", "--image", "foo") == 1
    assert (
        "it needs cert-manager, which clientgo upgrade --certificates=cert-manager selects" in capsys.readouterr().err
    )
    assert not (project / "dist/chart").exists()


@pytest.mark.parametrize("command", [("chart", "--image", "foo"), ("bundle", "--image", "foo")], ids=lambda it: it[0])
def test_missing_certificate_is_named_with_the_command_that_makes_it(
    project: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    assert clientgo(project, *command, "--version", "0.2.0") == 1
    expected = "config/certificates has no certificate of the webhooks: run clientgo certificates\n"
    assert capsys.readouterr().err.endswith(expected)
