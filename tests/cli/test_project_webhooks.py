"""Running projects: `make run` serves their webhooks, and the bundled API server calls them."""

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.envtest import BundledServer, Environment, Webhooks
from clientgo.errors import ClientGoError
from clientgo.meta import GroupVersionResource
from clientgo.meta.codec import encode_value
from clientgo.rest import RESTClient
from clientgo.rest.kubeconfigwriter import write_kubeconfig
from clientgo.rest.request import Request
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo.webhook.injection import Targets
from clientgo.webhook.rotation import SelfSignedCertificates
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.state import WebhookEndpoint
from tests.cli.exampleprojects import HOME, REDIS, copy_project
from tests.cli.processes import SECONDS, free_port, in_background
from tests.e2e.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HOOKS = Targets(mutating=("mutating-webhook-configuration",), validating=("validating-webhook-configuration",))
CRD = "redisclusters.cache.example.com"
V1, V1ALPHA1 = "redisclusters.v1.cache.example.com", "redisclusters.v1alpha1.cache.example.com"
SYSTEM = "redis-system"

Object = dict[str, Any]


@dataclass(frozen=True)
class Project:
    """Project with a running manager."""

    kubectl: Kubectl
    client: RESTClient
    certificates: SelfSignedCertificates
    folder: Path


@contextmanager
def project_that_passes_its_tests(folder: Path, variables: Mapping[str, str]) -> Iterator[Project]:
    """Run Home as its own tests do: the API server calls webhooks on this machine."""
    project = copy_project(HOME, folder, variables)
    config, kubeconfig = project / "config", project / ".kubeconfig"
    crds, hooks = [config / "crd/bases"], [config / "webhook"]
    environment = Environment(crd_paths=crds, webhooks=Webhooks(hooks), server=BundledServer(kubeconfig=kubeconfig))
    with environment as server, closing(RESTClient(server)) as client:
        install = environment.webhooks
        assert install is not None
        certificates = SelfSignedCertificates(client, install.cert_dir, HOOKS, overlap_seconds=0.5)
        certificates.prepare()
        with running_manager(project, variables, install.port, install.cert_dir):
            yield Project(Kubectl(environment, environ(kubeconfig), "default"), client, certificates, install.cert_dir)


@contextmanager
def deployed_project(folder: Path, variables: Mapping[str, str]) -> Iterator[Project]:
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
            yield Project(kubectl, client, certificates, certs)


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
def home(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Iterator[Project]:
    with project_that_passes_its_tests(tmp_path_factory.mktemp("home"), variables) as project:
        yield project


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Iterator[Project]:
    with deployed_project(tmp_path_factory.mktemp("redis"), variables) as project:
        yield project


def home_named(name: str, **spec: Any) -> Object:
    return {"apiVersion": "ajd.my.domain/v1", "kind": "Home", "metadata": {"name": name}, "spec": spec}


def cluster_named(name: str, version: str, **spec: Any) -> Object:
    api_version = f"cache.example.com/{version}"
    return {"apiVersion": api_version, "kind": "RedisCluster", "metadata": {"name": name}, "spec": spec}


def read_as_v1alpha1(redis: Project, name: str) -> Object:
    """Return a cluster in v1alpha1, and check that kubectl prints the deprecation warning."""
    output = redis.kubectl.run("get", V1ALPHA1, name, "-o", "json")
    warning, _, text = output.partition("\n")
    assert warning == "Warning: cache.example.com/v1alpha1 RedisCluster is deprecated: use cache.example.com/v1"
    document: Object = json.loads(text)
    return document


@pytest.mark.feature("A-35")
@pytest.mark.feature("A-63")
def test_invalid_home_is_rejected_with_the_validator_message(home: Project) -> None:
    output = home.kubectl.apply(home_named("hut", rooms=0), code=1)
    assert output == 'The Home "hut" is invalid: spec.rooms: Invalid value: 0: a home has a room at least\n'

    home.kubectl.apply(home_named("villa", owner="ann"))
    output = home.kubectl.apply(home_named("villa", owner="bob"), code=1)
    assert "spec.owner: Forbidden: a home is not handed on: create another" in output
    output = home.kubectl.apply(home_named("castle", rooms=51))
    assert "Warning: so many rooms are hard to keep clean" in output


@pytest.mark.feature("A-35")
@pytest.mark.feature("A-63")
def test_defaulter_sets_omitted_fields_of_a_home(home: Project) -> None:
    home.kubectl.apply(home_named("plain"))

    spec = home.kubectl.read("homes", "plain")["spec"]
    assert spec["rooms"] == 1
    assert spec["owner"] == "system:anonymous"  # the user of requests without a token


@pytest.mark.feature("A-18")
@pytest.mark.feature("A-63")
def test_cluster_can_be_written_and_read_in_both_versions(redis: Project) -> None:
    config = "# why\nsave 900 1\n"
    redis.kubectl.apply(cluster_named("old", "v1alpha1", size=2, memory=64, config=config))

    new = redis.kubectl.read(V1, "old")
    assert new["spec"].items() >= {"replicas": 2, "maxMemory": "64mb", "settings": ["save 900 1"]}.items()
    old = read_as_v1alpha1(redis, "old")
    assert old["spec"].items() >= {"size": 2, "memory": 64, "config": config, "storage": "1Gi"}.items()
    for field in ("uid", "creationTimestamp", "generation"):
        assert old["metadata"][field] == new["metadata"][field]

    redis.kubectl.apply(cluster_named("new", "v1", replicas=1, maxMemory="1500kb", keepData=True))
    redis.kubectl.run("patch", V1ALPHA1, "new", "--type=merge", "-p", '{"spec":{"size":2}}')
    new = redis.kubectl.read(V1, "new")["spec"]
    # A write in v1alpha1 keeps the field that only v1 has.
    assert (new["replicas"], new["keepData"]) == (2, True)
    # Defaults are set in both versions.
    assert read_as_v1alpha1(redis, "new")["spec"]["image"] == new["image"] == "redis:7.4-alpine"


@pytest.mark.feature("A-18")
def test_one_version_is_stored_and_listed_in_stored_versions(redis: Project) -> None:
    crd = redis.kubectl.read("crd", CRD)

    served = [(item["name"], item["served"], item["storage"]) for item in crd["spec"]["versions"]]
    assert served == [("v1", True, True), ("v1alpha1", True, False)]
    assert crd["status"]["storedVersions"] == ["v1"]


@pytest.mark.feature("A-20")
@pytest.mark.parametrize("version", [V1, V1ALPHA1])
def test_kubectl_scales_a_cluster_in_either_version(redis: Project, version: str) -> None:
    name = f"scaled-{version.split('.')[1]}"
    redis.kubectl.apply(cluster_named(name, "v1", replicas=1))
    redis.kubectl.run("wait", "--for=condition=Ready", V1, name, "--timeout=60s")

    redis.kubectl.run("scale", version, name, "--current-replicas=1", "--replicas=4")

    redis.kubectl.run("wait", "--for=jsonpath={.status.readyReplicas}=4", "statefulset", name, "--timeout=60s")
    redis.kubectl.run("wait", "--for=jsonpath={.status.readyReplicas}=4", V1, name, "--timeout=60s")
    redis.kubectl.run("wait", "--for=condition=Progressing=false", V1, name, "--timeout=60s")


@pytest.mark.feature("A-36")
def test_deleted_cluster_is_removed_with_its_dependents(redis: Project) -> None:
    redis.kubectl.apply(cluster_named("brief", "v1", replicas=1))
    redis.kubectl.run("wait", "--for=condition=Ready", V1, "brief", "--timeout=60s")

    redis.kubectl.run("delete", V1, "brief", "--timeout=60s")
    redis.kubectl.run("wait", "--for=delete", "statefulset,service,configmap", "brief", "--timeout=60s")


def create_and_delete_home(project: Project) -> None:
    """Create and delete a home, which calls the defaulter and the validator."""
    homes = GroupVersionResource("ajd.my.domain", "v1", "homes")
    name = f"load-{threading.current_thread().name}"
    project.client.do(Request(verb="create", resource=homes, namespace="default", body=encode_value(home_named(name))))
    project.client.do(Request(verb="delete", resource=homes, namespace="default", name=name))


def dry_run_create_cluster(project: Project) -> None:
    """Create a cluster as dry run in v1alpha1, which converts it to the stored version and back."""
    clusters = GroupVersionResource("cache.example.com", "v1alpha1", "redisclusters")
    body = encode_value(cluster_named(f"load-{threading.current_thread().name}", "v1alpha1", size=0))
    dry = {"dryRun": "All"}
    project.client.do(Request(verb="create", resource=clusters, namespace="default", body=body, query=dry))


@pytest.mark.feature("A-15")
@pytest.mark.feature("A-18")
@pytest.mark.parametrize(
    ("which", "act"),
    [
        pytest.param("home", create_and_delete_home, id="admission"),
        pytest.param("redis", dry_run_create_cluster, id="conversion"),
    ],
)
def test_certificate_rotation_under_load_fails_no_request(
    request: pytest.FixtureRequest, which: str, act: Callable[[Project], None]
) -> None:
    project: Project = request.getfixturevalue(which)
    done, failed, stopped = [0, 0, 0], list[ClientGoError](), threading.Event()

    def load(number: int) -> None:
        while not stopped.is_set():
            try:
                act(project)
            except ClientGoError as error:
                failed.append(error)
            done[number] += 1

    with Group() as clients:
        for number in range(len(done)):
            clients.start(load, number, name=f"{which}-{number}")
        try:
            for _ in range(2):
                before = (project.folder / "tls.crt").read_bytes()
                project.certificates.rotate(threading.Event())
                assert (project.folder / "tls.crt").read_bytes() != before
                wait_for_more(done)
        finally:
            stopped.set()
    assert failed == []


def wait_for_more(done: list[int]) -> None:
    """Wait until each client has sent more requests."""
    before = list(done)
    eventually(lambda: all(now > then for now, then in zip(done, before, strict=True)), seconds=SECONDS)
