"""Environments: a server with CRDs installed, and its cleanup."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.envtest.crds import install, read_crds, uninstall
from clientgo.errors import ConfigError, ConnectionFailed, NotFound
from clientgo.rest import Config, RESTClient, load_config
from clientgo.testing.clock import FakeClock

pytestmark = pytest.mark.integration

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"
FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/foos"


def ask(config: Config, path: str) -> bytes:
    with closing(RESTClient(config, max_retries=0)) as client:
        return client.raw("GET", path)


@pytest.mark.feature("B-CR-13", "A-68")
def test_the_kinds_of_its_crds_are_served_until_it_stops() -> None:
    with Environment(crd_paths=[CRDS], server=BundledServer()) as config:
        assert b'"FooList"' in ask(config, FOOS)
    with pytest.raises(ConnectionFailed):
        ask(config, FOOS)


def test_paths_may_be_text(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with Environment(
        crd_paths=[str(CRDS)], server=BundledServer(kubeconfig=str(kubeconfig), data_dir=str(tmp_path / "data"))
    ):
        assert kubeconfig.exists()


def test_kubeconfig_is_written_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    with Environment(server=BundledServer(kubeconfig=path)) as config:
        assert load_config(kubeconfig=path).host == config.host
    assert not path.exists()


def test_foreign_kubeconfig_is_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("kind: Config\nclusters: [{name: production}]\n", encoding="utf-8")
    environment = Environment(server=BundledServer(kubeconfig=path))
    with pytest.raises(ConfigError, match="contains another configuration"):
        environment.start()
    environment.stop()
    assert "production" in path.read_text(encoding="utf-8")
    assert environment.server is None


def test_port_in_use_is_an_error() -> None:
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        with pytest.raises(OSError, match="in use"):
            Environment(server=BundledServer(port=used.getsockname()[1])).start()


def test_existing_cluster_is_used_on_request(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # load_config reads the process' environment
) -> None:
    path = tmp_path / "kubeconfig"
    with Environment(server=BundledServer(kubeconfig=path)) as running:
        monkeypatch.setenv("KUBECONFIG", str(path))
        existing = Environment(crd_paths=[CRDS], server=server_from({"USE_EXISTING_CLUSTER": "true"}))
        assert existing.start().host == running.host
        existing.stop()
        assert b'"FooList"' in ask(running, FOOS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(None, "does not exist", id="missing"),
        pytest.param("a: [", "cannot be read as YAML", id="broken"),
        pytest.param('{"a": 1}\n{"b": "\\ud800"}', "invalid Unicode character escape code in line 2$", id="json"),
    ],
)
def test_unreadable_crds_are_reported_with_their_file(text: str | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "crd.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        Environment(crd_paths=[file])


def test_uninstall_names_a_crd_that_a_finalizer_keeps() -> None:
    [crd] = read_crds([CRDS])
    held = {**crd, "metadata": {**crd["metadata"], "finalizers": ["example.com/held"]}}
    with Environment(server=BundledServer()) as config, closing(RESTClient(config)) as client:
        install(client, [held])
        with pytest.raises(ConfigError, match=r"CRD foos\.samplecontroller\.k8s\.io still exists 10 s after"):
            uninstall(client, [crd], clock=FakeClock(auto=True))


def test_crds_are_brought_up_to_date_and_removed() -> None:
    crds = read_crds([CRDS])
    with Environment(crd_paths=[CRDS], server=BundledServer()) as config:
        client = RESTClient(config)
        install(client, crds)
        uninstall(client, crds)
        uninstall(client, crds)
        with pytest.raises(NotFound):
            client.raw("GET", FOOS)
        client.close()


def test_environment_can_be_stopped_before_its_start_and_twice() -> None:
    environment = Environment(server=BundledServer())
    environment.stop()
    environment.start()
    environment.stop()
    environment.stop()


def test_second_start_is_an_error_and_leaves_the_first_server() -> None:
    environment = Environment(server=BundledServer())
    for _ in range(2):
        config = environment.start()
        with pytest.raises(RuntimeError, match="the environment has been started: stop it before starting it again"):
            environment.start()
        assert ask(config, "/readyz") == b"ok"
        environment.stop()
        with pytest.raises(ConnectionFailed):
            ask(config, "/readyz")
