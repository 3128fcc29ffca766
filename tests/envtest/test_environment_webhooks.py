"""Webhook configurations of a project, installed so that the server calls this machine."""

import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.envtest import Environment
from clientgo.envtest.webhooks import WebhookInstall
from clientgo.errors import ApiError, ConfigError
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient
from tests.envtest.webhookserver import allow, deny, patch, serving

Object = dict[str, Any]


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
    (folder / "manifests.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return folder


@pytest.mark.feature("B-CR-13", "A-68")
def test_the_server_calls_the_local_port_and_trusts_its_certificate(manifests: Path) -> None:
    environment = Environment(bundled=True, webhook_paths=[manifests])
    with environment as config:
        webhooks = environment.webhooks
        assert webhooks is not None
        pair = ((webhooks.cert_dir / "tls.crt").read_bytes(), (webhooks.cert_dir / "tls.key").read_bytes())
        with serving(webhooks.port, pair) as hook, closing(Clientset(config)) as clientset:
            hook.answers["/mutate"] = lambda review: patch(
                review, {"op": "add", "path": "/data", "value": {"by": "hook"}}
            )
            hook.answers["/validate"] = allow
            made = clientset.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="c")))
            assert (made.data["by"], hook.paths()) == ("hook", ["/mutate", "/validate"])
            hook.answers["/validate"] = lambda review: deny(review, message="not today")
            with pytest.raises(ApiError, match="denied the request: not today"):
                clientset.core_v1.config_maps("default").create(ConfigMap(metadata=ObjectMeta(name="d")))
    assert not webhooks.cert_dir.exists()
    assert environment.webhooks is None


def test_an_existing_cluster_is_rid_of_them_in_the_end(
    manifests: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # load_config reads the process' environment
) -> None:
    path = tmp_path / "kubeconfig"
    configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with Environment(kubeconfig=path, bundled=True) as running, closing(RESTClient(running)) as client:
        monkeypatch.setenv("KUBECONFIG", str(path))
        existing = Environment(webhook_paths=[manifests], environ={"USE_EXISTING_CLUSTER": "true"}, webhook_port=9443)
        existing.start()
        assert b'"url":"https://127.0.0.1:9443/validate"' in client.raw("GET", configurations)
        existing.stop()
        assert b'"items":[]' in client.raw("GET", configurations)


def test_a_certificate_is_renewed_under_the_same_authority(manifests: Path) -> None:
    with closing(WebhookInstall([manifests], host="::1", port=1)) as install:
        before, authority = (install.cert_dir / "tls.crt").read_bytes(), install.ca
        install.renew()
        assert ((install.cert_dir / "tls.crt").read_bytes() != before, install.ca) == (True, authority)
        assert stat.S_IMODE((install.cert_dir / "tls.key").stat().st_mode) == 0o600


def test_conversion_webhooks_are_called_here_too(manifests: Path) -> None:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "s", "namespace": "n"}}}
    crd = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    with closing(WebhookInstall([manifests], host="::1", port=9443)) as install:
        local = install.local_crd(crd)["spec"]["conversion"]["webhook"]
        assert local["clientConfig"]["url"] == "https://[::1]:9443/convert"
        assert local["conversionReviewVersions"] == ["v1"]
        assert install.local_crd({"spec": {}}) == {"spec": {}}


def test_a_path_that_is_not_there_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing can be read from it"):
        Environment(bundled=True, webhook_paths=[tmp_path / "none"]).start()
