"""Webhook configurations of a project, installed so that the server calls this machine."""

import json
import stat
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from apiserver.tests.webhookserver import allow, deny, patch, serving
from clientgo.envtest import BundledServer, Environment, Webhooks, server_from
from clientgo.envtest.crds import install, read_crds
from clientgo.envtest.webhooks import WebhookInstall, is_leftover
from clientgo.errors import ApiError, ConfigError
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.meta.yamlio import to_yaml
from clientgo.pki import CertificateAuthority
from clientgo.rest import RESTClient
from tests.definitions import custom_kind

pytestmark = pytest.mark.integration

Object = dict[str, Any]
EXISTING = {"USE_EXISTING_CLUSTER": "true"}


def configuration(kind: str, path: str, **more: Any) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    hook = {
        "name": "hook.example.com",
        "clientConfig": {"service": {"namespace": "system", "name": "webhook-service", "path": path}},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }
    api_version = "admissionregistration.k8s.io/v1"
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": kind.lower()}, "webhooks": [hook]}


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    documents = [
        configuration("MutatingWebhookConfiguration", "/mutate"),
        configuration("ValidatingWebhookConfiguration", "/validate"),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "webhook-service"}},
    ]
    folder = tmp_path / "webhook"
    folder.mkdir()
    (folder / "manifests.yaml").write_text("---\n".join(map(to_yaml, documents)), encoding="utf-8")
    return folder


@pytest.mark.feature("B-CR-13", "A-68")
def test_the_server_calls_the_local_port_and_trusts_its_certificate(manifests: Path) -> None:
    environment = Environment(webhooks=Webhooks([manifests]), server=BundledServer())
    with environment as config:
        webhooks = environment.webhooks
        assert webhooks is not None
        pair = ((webhooks.cert_dir / "tls.crt").read_bytes(), (webhooks.cert_dir / "tls.key").read_bytes())
        with serving(webhooks.port, pair) as hook, closing(Clientset(config)) as clientset:
            hook.answers["/mutate"] = lambda review: patch(
                review, {"op": "add", "path": "/data", "value": {"by": "hook"}}
            )
            hook.answers["/validate"] = allow
            built = clientset.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="c")))
            assert (built.data["by"], hook.paths()) == ("hook", ["/mutate", "/validate"])
            hook.answers["/validate"] = lambda review: deny(review, message="not today")
            with pytest.raises(ApiError, match="denied the request: not today"):
                clientset.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="d")))
    assert not webhooks.cert_dir.exists()
    assert environment.webhooks is None


CONVERSION = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "system", "name": "webhook-service", "path": "/convert"}},
    },
}


def definition(folder: Path, conversion: Object, **labels: str) -> Path:
    """Write a CRD file whose kind is converted in this way."""
    crd = custom_kind("Test", "example.com", "v1", "v2", schema={"type": "object"}, conversion=conversion)
    crd["metadata"]["labels"] = labels
    file = folder / "crd.yaml"
    file.write_text(to_yaml(crd), encoding="utf-8")
    return file


@pytest.fixture
def cluster(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # load_config reads the process' environment
) -> Iterator[RESTClient]:
    """A server that environments with USE_EXISTING_CLUSTER use."""
    path = tmp_path / "kubeconfig"
    with Environment(server=BundledServer(kubeconfig=path)) as running, closing(RESTClient(running)) as client:
        monkeypatch.setenv("KUBECONFIG", str(path))
        yield client


def stored(client: RESTClient, path: str) -> Any:
    return json.loads(client.raw("GET", path))


def test_webhooks_are_removed_from_an_existing_cluster(cluster: RESTClient, manifests: Path) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with Environment(webhooks=Webhooks([manifests], port=9443), server=server_from(EXISTING)):
        [configured] = stored(cluster, path)["items"]
        assert configured["webhooks"][0]["clientConfig"]["url"] == "https://127.0.0.1:9443/validate"
    assert stored(cluster, path)["items"] == []


CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tests.example.com"


def test_crd_that_an_existing_cluster_had_gets_back_its_state(cluster: RESTClient, tmp_path: Path) -> None:
    install(cluster, read_crds([definition(tmp_path, {"strategy": "None"}, of="theirs")]))
    before = stored(cluster, CRD_PATH)
    hooks, crds = tmp_path / "none", [definition(tmp_path, CONVERSION, of="ours")]
    hooks.mkdir()
    environment = Environment(crd_paths=crds, webhooks=Webhooks([hooks]), server=server_from(EXISTING))
    with environment:
        during = stored(cluster, CRD_PATH)
        assert during["spec"]["conversion"]["webhook"]["clientConfig"]["url"].startswith("https://127.0.0.1:")
        assert during["metadata"]["labels"] == {"of": "ours"}
    after = stored(cluster, CRD_PATH)
    assert (after["spec"], after["metadata"]["labels"]) == (before["spec"], {"of": "theirs"})


def test_crd_that_is_new_in_an_existing_cluster_stays_without_the_local_url(
    cluster: RESTClient, tmp_path: Path
) -> None:
    hooks, crds = tmp_path / "none", [definition(tmp_path, CONVERSION)]
    hooks.mkdir()
    with Environment(crd_paths=crds, webhooks=Webhooks([hooks]), server=server_from(EXISTING)):
        pass
    client_config = stored(cluster, CRD_PATH)["spec"]["conversion"]["webhook"]["clientConfig"]
    assert "url" not in client_config
    assert client_config["service"]["name"] == "webhook-service"


def test_webhook_configuration_that_an_existing_cluster_had_gets_back_its_state(
    cluster: RESTClient, manifests: Path
) -> None:
    theirs = configuration("ValidatingWebhookConfiguration", "/theirs")
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    cluster.raw("POST", path, body=json.dumps(theirs).encode())
    before = stored(cluster, path)["items"][0]["webhooks"]
    with Environment(webhooks=Webhooks([manifests]), server=server_from(EXISTING)):
        [during] = stored(cluster, path)["items"]
        assert "url" in during["webhooks"][0]["clientConfig"]
    [after] = stored(cluster, path)["items"]
    assert after["webhooks"] == before
    assert stored(cluster, path.replace("validating", "mutating"))["items"] == []


def test_what_a_killed_program_left_in_an_existing_cluster_is_not_restored(
    cluster: RESTClient, manifests: Path, tmp_path: Path
) -> None:
    def environment() -> Environment:
        crds, server = [definition(tmp_path, CONVERSION)], server_from(EXISTING)
        return Environment(crd_paths=crds, webhooks=Webhooks([manifests]), server=server)

    killed = environment()
    killed.start()  # and never stopped
    with environment():
        pass
    assert killed.webhooks is not None
    killed.webhooks.close()
    assert "url" not in stored(cluster, CRD_PATH)["spec"]["conversion"]["webhook"]["clientConfig"]
    for kind in ("validating", "mutating"):
        assert stored(cluster, f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations")["items"] == []


@pytest.mark.parametrize(
    "client_config",
    [
        {"service": {"namespace": "system", "name": "webhook-service"}},
        {"url": "https://127.0.0.1:9443/validate"},
        {"url": "https://127.0.0.1:9443/validate", "caBundle": b64encode(b"no certificate").decode()},
        {"url": "https://10.0.0.1/", "caBundle": b64encode(CertificateAuthority.create("theirs").certificate).decode()},
    ],
    ids=["service", "public certificate", "invalid bundle", "another authority"],
)
def test_configuration_of_somebody_else_is_no_leftover(client_config: Object) -> None:
    assert not is_leftover({"webhooks": [{"name": "hook.example.com", "clientConfig": client_config}]})


def test_environment_that_fails_to_start_restores_an_existing_cluster(cluster: RESTClient, tmp_path: Path) -> None:
    install(cluster, read_crds([definition(tmp_path, {"strategy": "None"}, of="theirs")]))
    broken = tmp_path / "broken"
    broken.mkdir()
    refused = configuration("ValidatingWebhookConfiguration", "/validate", sideEffects="Sometimes")
    (broken / "manifests.yaml").write_text(to_yaml(refused), encoding="utf-8")
    crds = [definition(tmp_path, CONVERSION, of="ours")]
    with pytest.raises(ApiError):
        Environment(crd_paths=crds, webhooks=Webhooks([broken]), server=server_from(EXISTING)).start()
    assert stored(cluster, CRD_PATH)["spec"]["conversion"] == {"strategy": "None"}


def test_certificate_is_renewed_under_the_same_authority(manifests: Path) -> None:
    with closing(WebhookInstall([manifests], host="::1", port=1)) as install:
        before, authority = (install.cert_dir / "tls.crt").read_bytes(), install.ca
        install.renew()
        assert ((install.cert_dir / "tls.crt").read_bytes() != before, install.ca) == (True, authority)
        assert stat.S_IMODE((install.cert_dir / "tls.key").stat().st_mode) == 0o600


def test_conversion_webhooks_are_called_locally(manifests: Path) -> None:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n"}}}
    crd = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    with closing(WebhookInstall([manifests], host="::1", port=9443)) as install:
        local = install.local_crd(crd)["spec"]["conversion"]["webhook"]
        assert local["clientConfig"]["url"] == "https://[::1]:9443/convert"
        assert local["conversionReviewVersions"] == ["v1"]
        assert install.local_crd({"spec": {}}) == {"spec": {}}


def test_missing_path_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        Environment(webhooks=Webhooks([tmp_path / "none"]), server=BundledServer()).start()
