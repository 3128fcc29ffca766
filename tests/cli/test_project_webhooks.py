"""A deployed project: `make run` serves its webhooks, and the bundled API server calls them by their Service."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.cli.running import called_webhooks
from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.admissionregistration_v1 import ValidatingWebhookConfiguration
from clientgo.meta.codec import from_dict
from clientgo.rest import RESTClient
from clientgo.rest.kubeconfigwriter import write_kubeconfig
from clientgo.webhook.injection import Targets
from clientgo.webhook.rotation import SelfSignedCertificates
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.state import WebhookEndpoint
from tests.cli.exampleprojects import REDIS, copy_project
from tests.cli.processes import free_port, in_background
from tests.cli.projects import FOO, clientgo, foo_project, rejected, run
from tests.e2e.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

CRD = "redisclusters.cache.example.com"
V1, V1ALPHA1 = "redisclusters.v1.cache.example.com", "redisclusters.v1alpha1.cache.example.com"
SYSTEM = "redis-system"

Object = dict[str, Any]


@contextmanager
def deployed_project(folder: Path, variables: Mapping[str, str]) -> Iterator[Kubectl]:
    """Run RedisCluster as `make deploy` does, with its roles, Service and names.

    The manager runs on this machine as its ServiceAccount. The API server is configured with the address behind its
    Service. Self-signed certificates replace cert-manager.
    """
    project = copy_project(REDIS, folder, variables)
    environment = Environment(server=BundledServer(secure=True, kubeconfig=folder / "admin", ready_seconds=0.1))
    with environment as server, closing(RESTClient(server)) as client:
        kubectl = Kubectl(environment, environ(folder / "admin"), "default")
        rendered = yaml.safe_load_all(kubectl.run("kustomize", str(project / "config/default")))
        objects = [item for item in rendered if not item["apiVersion"].startswith("cert-manager.io/")]
        kubectl.run("apply", "-n", SYSTEM, "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": objects})
        port, certs = free_port(), folder / "certs"
        service_addresses = {f"{SYSTEM}/redis-webhook-service": WebhookEndpoint(f"https://127.0.0.1:{port}")}
        assert isinstance(environment.server, EmbeddedServer)
        environment.server.run(lambda api: api.state.options.webhook_services.update(service_addresses))
        certificates = SelfSignedCertificates(
            client, certs, Targets(crds=(CRD,)), hosts=["127.0.0.1"], overlap_seconds=0.5
        )
        certificates.prepare()
        accounts = "system:serviceaccounts"
        account = environment.add_user(
            f"system:serviceaccount:{SYSTEM}:redis-controller-manager", accounts, f"{accounts}:{SYSTEM}"
        )
        write_kubeconfig(project / ".kubeconfig", account.host, token=account.token, ca=account.ca_data.encode())
        with running_manager(project, variables, port, certs):
            yield kubectl


def environ(kubeconfig: Path) -> Mapping[str, str]:
    return {**os.environ, "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}


@contextmanager
def running_manager(project: Path, variables: Mapping[str, str], port: int, certs: Path) -> Iterator[None]:
    """Run `make run` for the block, and check that no request was forbidden."""
    flags = f"--webhook-port={port} --webhook-cert-path={certs} --health-probe-bind-address=0"
    with in_background(project, variables, "make", "run", f"ARGS={flags}", sign="Starting workers") as log:
        yield
    assert "forbidden" not in log.read_text().lower()


@pytest.fixture(scope="module", autouse=True)
def _kubectl() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Iterator[Kubectl]:
    with deployed_project(tmp_path_factory.mktemp("redis"), variables) as kubectl:
        yield kubectl


def cluster_named(name: str, version: str, **spec: Any) -> Object:
    api_version = f"cache.example.com/{version}"
    return {"apiVersion": api_version, "kind": "RedisCluster", "metadata": {"name": name}, "spec": spec}


def read_as_v1alpha1(redis: Kubectl, name: str) -> Object:
    """Return a cluster in v1alpha1, and check that kubectl prints the deprecation warning."""
    output = redis.run("get", V1ALPHA1, name, "-o", "json")
    warning, _, text = output.partition("\n")
    assert warning == "Warning: cache.example.com/v1alpha1 RedisCluster is deprecated: use cache.example.com/v1"
    document: Object = json.loads(text)
    return document


@pytest.mark.feature("A-18")
@pytest.mark.feature("A-63")
def test_cluster_can_be_written_and_read_in_both_versions(redis: Kubectl) -> None:
    config = "# why\nsave 900 1\n"
    redis.apply(cluster_named("old", "v1alpha1", size=2, memory=64, config=config))

    new = redis.read(V1, "old")
    assert new["spec"].items() >= {"replicas": 2, "maxMemory": "64mb", "settings": ["save 900 1"]}.items()
    old = read_as_v1alpha1(redis, "old")
    assert old["spec"].items() >= {"size": 2, "memory": 64, "config": config, "storage": "1Gi"}.items()
    for field in ("uid", "creationTimestamp", "generation"):
        assert old["metadata"][field] == new["metadata"][field]

    redis.apply(cluster_named("new", "v1", replicas=1, maxMemory="1500kb", keepData=True))
    redis.run("patch", V1ALPHA1, "new", "--type=merge", "-p", '{"spec":{"size":2}}')
    new = redis.read(V1, "new")["spec"]
    # A write in v1alpha1 keeps the field that only v1 has.
    assert (new["replicas"], new["keepData"]) == (2, True)
    # Defaults are set in both versions.
    assert read_as_v1alpha1(redis, "new")["spec"]["image"] == new["image"] == "redis:7.4-alpine"


@pytest.mark.feature("A-20")
@pytest.mark.parametrize("version", [V1, V1ALPHA1])
def test_kubectl_scales_a_cluster_in_either_version(redis: Kubectl, version: str) -> None:
    name = f"scaled-{version.split('.')[1]}"
    redis.apply(cluster_named(name, "v1", replicas=1))
    redis.run("wait", "--for=condition=Ready", V1, name, "--timeout=60s")

    redis.run("scale", version, name, "--current-replicas=1", "--replicas=4")

    redis.run("wait", "--for=jsonpath={.status.readyReplicas}=4", "statefulset", name, "--timeout=60s")
    redis.run("wait", "--for=jsonpath={.status.readyReplicas}=4", V1, name, "--timeout=60s")
    redis.run("wait", "--for=condition=Progressing=false", V1, name, "--timeout=60s")


REJECTION = 'raise ValueError("not on a Monday")'


def test_cluster_calls_webhooks_on_this_machine_as_long_as_the_manager_runs(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    project = foo_project(tmp_path / "foo")
    assert clientgo(project, "create", "webhook", *FOO, "--programmatic-validation") == 0
    validator = project / "webhooks/v1alpha1/foo_validator.py"
    text = validator.read_text(encoding="utf-8")
    validator.write_text(text.replace("return None", REJECTION, 1), encoding="utf-8")
    run(project, variables, "make", "manifests")
    environment = Environment(server=BundledServer(secure=True, kubeconfig=tmp_path / "admin"))
    with environment:
        kubectl = Kubectl(environment, environ(tmp_path / "admin"), "default")
        port = {"KUBECONFIG": str(tmp_path / "admin"), "CLIENTGO_WEBHOOK_PORT": str(free_port())}
        flags = ("WEBHOOK_HOST=127.0.0.1", "ARGS=--health-probe-bind-address=0")
        manager = in_background(project, {**variables, **port}, "make", "run", *flags, sign="Starting workers")
        with manager, pytest.raises(AssertionError, match="denied the request: invalid object: not on a Monday"):
            kubectl.run("apply", "-k", str(project / "config/samples"))
        kubectl.run("apply", "-k", str(project / "config/samples"))


def test_configurations_that_call_the_deployed_project_are_named(
    tmp_path: Path,
    variables: Mapping[str, str],
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251  # load_config reads the process' environment
    capsys: pytest.CaptureFixture[str],
) -> None:
    project = foo_project(tmp_path / "foo")
    assert clientgo(project, "create", "webhook", *FOO, "--programmatic-validation") == 0
    run(project, variables, "make", "manifests")
    [configuration] = yaml.safe_load_all((project / "config/webhook/manifests.yaml").read_text())
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "admin"))
    capsys.readouterr()
    deployed = from_dict(ValidatingWebhookConfiguration, configuration | {"metadata": {"name": "foo-validating"}})
    server = BundledServer(kubeconfig=tmp_path / "admin")
    with Environment(server=server) as config, closing(Clientset(config)) as clientset:
        with called_webhooks(project, "127.0.0.1", ()):
            [_] = capsys.readouterr().err.splitlines()
        clientset.admissionregistration_v1.validating_webhook_configurations().create(deployed)
        with called_webhooks(project, "127.0.0.1", ()):
            [_, named] = capsys.readouterr().err.splitlines()
    assert "run kubectl delete validatingwebhookconfiguration/foo-validating, and afterwards make deploy" in named


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--webhook-host", "here"), "--webhook-host requires --reload"),
        (("--reload", "--webhook-host", "here"), "no webhooks in the project: add some with clientgo create webhook"),
        (("--reload", "--webhook-host=here", "--", "--context=other"), "set KUBECONFIG instead of --context=other"),
    ],
)
def test_webhooks_that_cannot_be_called_on_this_machine_are_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    project = foo_project(tmp_path / "foo")
    if "--" in arguments:
        assert clientgo(project, "create", "webhook", *FOO, "--defaulting") == 0
    assert expected in rejected(project, capsys, "run", *arguments)
