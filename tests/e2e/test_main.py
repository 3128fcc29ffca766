"""The program: real processes, signals and mistakes."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.envtest.crds import install, read_crds
from clientgo.envtest.webhooks import free_port
from clientgo.rest import Config, RESTClient, load_config
from tests.e2e.clusters import kubeconfig_of, namespace
from tests.e2e.program import ROOT, Program

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Return the kubeconfig of a server with Foo's CRD."""
    path = tmp_path / "kubeconfig"
    environment = Environment(
        crd_paths=[ROOT / "artifacts" / "crd"], server=server_from(bundled=BundledServer(kubeconfig=path))
    )
    with environment:
        yield kubeconfig_of(environment, path)


def test_embedded_needs_no_cluster_and_reaches_a_synced_foo(tmp_path: Path) -> None:
    program = Program(["--embedded"], tmp_path)
    program.wait_for(r"export KUBECONFIG=(\S+)")
    program.wait_for(r'"synced" kind="Foo" namespace="default" name="example-foo".* available=1')
    path = tmp_path / ".embedded" / "kubeconfig"
    assert path.stat().st_mode & 0o777 == 0o600
    client = RESTClient(load_config(kubeconfig=path))
    assert b"example-foo" in client.raw("GET", "/apis/apps/v1/namespaces/default/deployments")
    client.close()
    code, output = program.end(signal.SIGINT)
    assert (code, "Traceback" in output) == (0, False)
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_gracefully(number: int, kubeconfig: Path, tmp_path: Path) -> None:
    program = Program([f"--kubeconfig={kubeconfig}"], tmp_path)
    program.wait_for("starting workers")
    began = SYSTEM_CLOCK.now()
    code, output = program.end(number)
    assert code == 0
    assert SYSTEM_CLOCK.now() - began < 10
    assert '"stopped"' in output
    assert "Traceback" not in output


def test_server_that_never_answers_does_not_delay_the_stop(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        program = Program([f"--master=http://127.0.0.1:{silent.getsockname()[1]}"], tmp_path)
        accepted, _ = silent.accept()
        code, output = program.end(signal.SIGTERM, seconds=10)
        accepted.close()
    assert (code, "Traceback" in output) == (0, False)


@pytest.mark.feature("A-28")
@pytest.mark.parametrize(
    ("text", "flags", "words"),
    [
        pytest.param(None, [], "does not exist", id="missing"),
        pytest.param("{not yaml: [", [], "YAML", id="not YAML"),
        pytest.param("kind: Config\ncurrent-context: nope\n", [], "nope", id="context without entry"),
        pytest.param("kind: Config\n", ["--context=other"], "other", id="unknown context"),
    ],
)
def test_unusable_kubeconfig_is_one_sentence(text: str | None, flags: list[str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    code, output = Program([f"--kubeconfig={path}", *flags], tmp_path).end()
    assert code == 1
    assert output.count("\n") == 1
    assert words in output
    assert "Traceback" not in output


@pytest.mark.requires("a known port")
def test_unreachable_server_is_logged_once_and_retried(tmp_path: Path) -> None:
    port = free_port()
    environment = Environment(
        crd_paths=[ROOT / "artifacts" / "crd"], server=server_from(bundled=BundledServer(port=port))
    )
    program = Program([f"--master=http://127.0.0.1:{port}"], tmp_path)
    program.wait_for("cannot be reached")
    with environment:
        program.wait_for("starting workers")
        code, output = program.end(signal.SIGTERM)
    assert code == 0
    assert output.count("cannot be reached") == 1
    assert "Traceback" not in output


@pytest.mark.requires("a cluster of its own")
def test_missing_crd_is_logged_once_and_retried(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with Environment(server=server_from(bundled=BundledServer(kubeconfig=path))) as config:
        program = Program([f"--kubeconfig={path}"], tmp_path)
        program.wait_for("install the CRD")
        install_crd(config)
        program.wait_for("starting workers")
        code, output = program.end(signal.SIGTERM)
    assert code == 0
    assert output.count("install the CRD") == 1


def install_crd(config: Config) -> None:
    client = RESTClient(config)
    install(client, read_crds([ROOT / "artifacts" / "crd"]))
    client.close()


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        pytest.param(401, "Unauthorized", "does not accept these credentials", id="401"),
        pytest.param(403, "Forbidden", "forbids to list foos", id="403"),
    ],
)
def test_rejected_credentials_are_reported_in_one_line(status: int, reason: str, words: str, tmp_path: Path) -> None:
    body = f'{{"kind":"Status","code":{status},"reason":"{reason}","message":"no"}}'.encode()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        program = Program([f"--master=http://127.0.0.1:{server.getsockname()[1]}"], tmp_path)
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            head = (
                f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            connection.sendall(head.encode() + body)
            code, output = program.end()
    assert code == 1
    assert output.count("\n") == 1
    assert words in output


def test_only_the_named_namespaces_are_looked_after(kubeconfig: Path, tmp_path: Path) -> None:
    config = load_config(kubeconfig=kubeconfig)
    with namespace(config, "one") as first, namespace(config, "two") as two, namespace(config, "three") as three:
        program = Program([f"--kubeconfig={kubeconfig}", f"--namespace={first}", f"--namespace={two}"], tmp_path)
        program.wait_for("starting workers")
        synced = '"synced" kind="Foo" namespace="{}" name="f"'
        client = RESTClient(config)
        for location in (three, first, two):
            foo = (
                b'{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"f"},'
                b'"spec":{"deploymentName":"f"}}'
            )
            client.raw("POST", f"/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{location}/foos", body=foo)
        client.close()
        program.wait_for(synced.format(two))
        code, output = program.end(signal.SIGTERM)
    assert code == 0
    assert synced.format(first) in output
    assert synced.format(three) not in output


def test_json_logs_are_json(kubeconfig: Path, tmp_path: Path) -> None:
    program = Program([f"--kubeconfig={kubeconfig}", "--log-format=json"], tmp_path)
    program.wait_for('"msg": "starting workers"')
    code, output = program.end(signal.SIGTERM)
    assert code == 0
    assert all(line.startswith('{"ts": "') for line in output.splitlines())
