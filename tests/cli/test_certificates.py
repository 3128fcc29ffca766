"""Certificates of webhooks: from cert-manager, or made by the command."""

import re
import shutil
import subprocess
from argparse import Namespace
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.cli.certificates import LIFETIME, certificates
from clientgo.pki import dns_names
from clientgo.testing.clock import FakeClock
from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, rejected, run

FOLDER = "config/certificates"
HOST = "foo-webhook-service.foo-system.svc"
V1 = kind("samplecontroller", "v1", "Foo")
BAR = kind("samplecontroller", "v1alpha1", "Bar")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Project with two kinds, one in two versions, and every sort of webhook."""
    folder = new_project(tmp_path / "foo", "--certificates", "self-signed")
    for each in (FOO, V1, BAR):
        assert clientgo(folder, "create", "api", *each, "--resource", "--controller=false") == 0
    every = ("--defaulting", "--programmatic-validation", "--conversion")
    assert clientgo(folder, "create", "webhook", *V1, *every) == 0
    assert clientgo(folder, "create", "webhook", *BAR, "--programmatic-validation") == 0
    return folder


def make(folder: Path, clock: FakeClock, host: str = "") -> dict[str, bytes]:
    """Run the command and return the files."""
    assert certificates(Namespace(host=host), folder, clock=clock) == 0
    return {name: (folder / FOLDER / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")}


def test_certificate_is_for_the_service_and_is_kept_while_it_is_valid(project: Path) -> None:
    clock = FakeClock()
    files = make(project, clock)
    assert dns_names(files["tls.crt"]) == [HOST]
    assert (project / FOLDER / "tls.key").stat().st_mode & 0o077 == 0
    clock.step(LIFETIME.total_seconds() / 2)
    assert make(project, clock) == files


def test_new_certificate_is_trusted_beside_the_old_one(project: Path) -> None:
    clock = FakeClock()
    before = make(project, clock)
    clock.step(LIFETIME.total_seconds() * 0.7)
    after = make(project, clock)
    assert before["tls.crt"] != after["tls.crt"]
    assert after["ca.crt"].startswith(before["ca.crt"])
    assert after["ca.crt"].count(b"BEGIN CERTIFICATE") == 2


def test_other_service_gets_another_certificate(project: Path) -> None:
    before = make(project, FakeClock())
    after = make(project, FakeClock(), host="hooks.team-a.svc")
    assert dns_names(after["tls.crt"]) == ["hooks.team-a.svc"]
    assert after["tls.key"] != before["tls.key"]


def authorities(project: Path) -> dict[str, list[str]]:
    """Return the CA of each webhook, and of each CRD's conversion, in the rendered manifests, by the object's kind."""
    command = ["kubectl", "kustomize", "config/default"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60, check=True)
    objects: list[dict[str, Any]] = list(yaml.safe_load_all(done.stdout))
    [secret] = [obj for obj in objects if obj["kind"] == "Secret"]
    assert secret["metadata"]["name"] == "foo-webhook-server-cert"
    assert not any("cert-manager" in obj["apiVersion"] for obj in objects)
    trusted = dict[str, list[str]]()
    for obj in objects:
        clients = [webhook["clientConfig"] for webhook in obj.get("webhooks", ())]
        if "conversion" in obj.get("spec", {}):
            clients.append(obj["spec"]["conversion"]["webhook"]["clientConfig"])
        for client in clients:
            assert client["service"]["name"] == "foo-webhook-service"
            trusted.setdefault(obj["kind"], []).append(client["caBundle"].replace("\n", ""))
    return trusted


def configured(files: Mapping[str, bytes]) -> dict[str, list[str]]:
    """Return the same for a project with this certificate, and the webhooks of the fixture."""
    authority = b64encode(files["ca.crt"]).decode()
    return {
        "CustomResourceDefinition": [authority],
        "MutatingWebhookConfiguration": [authority],
        "ValidatingWebhookConfiguration": [authority] * 2,
    }


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_rendered_webhooks_and_definitions_trust_the_certificate(project: Path) -> None:
    assert clientgo(project, "manifests") == 0
    files = make(project, FakeClock())
    assert authorities(project) == configured(files)


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_webhooks_trust_the_certificate_under_names_of_the_user(project: Path) -> None:
    for path in (project / "webhooks").rglob("*.py"):
        path.write_text(re.sub(r'\bname="[mv](\w+)-.*"', r'name="\1.example.org"', path.read_text()))
    assert clientgo(project, "manifests") == 0
    assert "name: foo.example.org" in (project / "config/webhook/manifests.yaml").read_text()
    files = make(project, FakeClock())
    assert authorities(project) == configured(files)


def test_project_with_cert_manager_makes_no_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = foo_project(tmp_path / "foo")
    assert "come from cert-manager: clientgo upgrade --certificates=self-signed changes that" in rejected(
        project, capsys, "certificates"
    )


@pytest.mark.e2e
def test_upgrade_changes_the_origin_of_certificates(project: Path, variables: Mapping[str, str]) -> None:
    before = read_files(project)
    assert "clientgo.cli certificates" in run(project, variables, "make", "--dry-run", "deploy")
    assert clientgo(project, "upgrade", "--certificates", "cert-manager") == 0
    assert "../certmanager" in (project / "config/default/kustomization.yaml").read_text()
    assert (project / FOLDER).is_dir()
    assert "clientgo.cli certificates" not in run(project, variables, "make", "--dry-run", "deploy")
    shutil.rmtree(project / FOLDER)
    assert clientgo(project, "upgrade", "--certificates", "self-signed") == 0
    after = read_files(project)
    assert before.items() <= after.items()


def test_upgrade_keeps_the_origin_by_default(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        clientgo(project, "upgrade", "--help")
    assert "certificate (default: that of the project)" in " ".join(capsys.readouterr().out.split())
    assert clientgo(project, "upgrade") == 0
    assert "certificates: self-signed\n" in (project / "PROJECT").read_text()


def test_unknown_origin_in_the_project_file_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project / "PROJECT"
    file.write_text(file.read_text().replace("self-signed", "magic"))
    assert "invalid certificates 'magic': expected cert-manager or self-signed" in rejected(
        project, capsys, "certificates"
    )
