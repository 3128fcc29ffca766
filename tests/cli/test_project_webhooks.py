"""Projects made by the command, at work: `make run` serves their webhooks, the bundled server calls them."""

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

from clientgo.apiserver.kubeconfig import write_kubeconfig
from clientgo.envtest import Environment
from clientgo.errors import ClientGoError
from clientgo.lifecycle import Group
from clientgo.meta import GroupVersionResource
from clientgo.meta.codec import encode_value
from clientgo.rest import RESTClient
from clientgo.rest.request import Request
from clientgo.testing.eventually import eventually
from clientgo.webhook.injection import Targets
from clientgo.webhook.rotation import SelfSignedCertificates
from tests.cli.processes import SECONDS, free_port, in_background
from tests.cli.test_examples import HOME, REDIS, checked_out
from tests.e2e.kubectl import Kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

HOOKS = Targets(mutating=("mutating-webhook-configuration",), validating=("validating-webhook-configuration",))
CRD = "redisclusters.cache.example.com"
V1, V1ALPHA1 = "redisclusters.v1.cache.example.com", "redisclusters.v1alpha1.cache.example.com"
SYSTEM = "redis-system"

Object = dict[str, Any]


@dataclass(frozen=True)
class Project:
    """A project whose manager runs."""

    kubectl: Kubectl
    client: RESTClient
    certificates: SelfSignedCertificates
    folder: Path


@contextmanager
def under_test(folder: Path, variables: Mapping[str, str]) -> Iterator[Project]:
    """Home as its own tests have it: the API server calls this machine."""
    project = checked_out(HOME, folder, variables)
    config, kubeconfig = project / "config", project / ".kubeconfig"
    crds, hooks = [config / "crd/bases"], [config / "webhook"]
    environment = Environment(bundled=True, kubeconfig=kubeconfig, crd_paths=crds, webhook_paths=hooks)
    with environment as server, closing(RESTClient(server)) as client:
        install = environment.webhooks
        assert install is not None
        certificates = SelfSignedCertificates(client, install.cert_dir, HOOKS, overlap_seconds=0.5)
        certificates.prepare()
        with managed(project, variables, install.port, install.cert_dir):
            yield Project(Kubectl(environment, environ(kubeconfig), "default"), client, certificates, install.cert_dir)


@contextmanager
def deployed(folder: Path, variables: Mapping[str, str]) -> Iterator[Project]:
    """RedisCluster as `make deploy` has it: with its roles, its Service and its names.

    The manager runs here, as its service account; the server is told where its Service leads to. In cert-manager's
    place stand certificates for development.
    """
    project = checked_out(REDIS, folder, variables)
    environment = Environment(bundled=True, secure=True, kubeconfig=folder / "admin", ready_seconds=0.1)
    with environment as server, closing(RESTClient(server)) as client:
        kubectl = Kubectl(environment, environ(folder / "admin"), "default")
        rendered = yaml.safe_load_all(kubectl.run("kustomize", str(project / "config/default")))
        objects = [one for one in rendered if not one["apiVersion"].startswith("cert-manager.io/")]
        kubectl.run("apply", "-n", SYSTEM, "-f", "-", stdin={"apiVersion": "v1", "kind": "List", "items": objects})
        port, certs = free_port(), folder / "certs"
        leads = {f"{SYSTEM}/redis-webhook-service": f"https://127.0.0.1:{port}"}
        assert environment.server is not None
        environment.server.run(lambda api: api.state.options.webhook_services.update(leads))
        certificates = SelfSignedCertificates(
            client, certs, Targets(crds=(CRD,)), hosts=["127.0.0.1"], overlap_seconds=0.5
        )
        certificates.prepare()
        accounts = "system:serviceaccounts"
        account = environment.add_user(
            f"system:serviceaccount:{SYSTEM}:redis-controller-manager", accounts, f"{accounts}:{SYSTEM}"
        )
        write_kubeconfig(project / ".kubeconfig", account.host, token=account.token, ca=account.ca_data.encode())
        with managed(project, variables, port, certs):
            yield Project(kubectl, client, certificates, certs)


def environ(kubeconfig: Path) -> Mapping[str, str]:
    return {**os.environ, "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)}


@contextmanager
def managed(project: Path, variables: Mapping[str, str], port: int, certs: Path) -> Iterator[None]:
    """`make run`, until the block ends; nothing was forbidden to it."""
    flags = f"--webhook-port={port} --webhook-cert-path={certs} --health-probe-bind-address=0"
    with in_background(project, variables, "make", "run", f"ARGS={flags}", sign="Starting workers") as said:
        yield
    assert "forbidden" not in said.read_text().lower()


@pytest.fixture(scope="module", autouse=True)
def _kubectl() -> None:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Iterator[Project]:
    with under_test(tmp_path_factory.mktemp("home"), variables) as project:
        yield project


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory, variables: Mapping[str, str]) -> Iterator[Project]:
    with deployed(tmp_path_factory.mktemp("redis"), variables) as project:
        yield project


def home_named(name: str, **spec: Any) -> Object:
    return {"apiVersion": "ajd.my.domain/v1", "kind": "Home", "metadata": {"name": name}, "spec": spec}


def cluster_named(name: str, version: str, **spec: Any) -> Object:
    api_version = f"cache.example.com/{version}"
    return {"apiVersion": api_version, "kind": "RedisCluster", "metadata": {"name": name}, "spec": spec}


def read_old(redis: Project, name: str) -> Object:
    """A cluster as v1alpha1 has it; kubectl warns that nobody should ask for that any more."""
    said = redis.kubectl.run("get", V1ALPHA1, name, "-o", "json")
    warning, _, text = said.partition("\n")
    assert warning == "Warning: cache.example.com/v1alpha1 RedisCluster is deprecated: use cache.example.com/v1"
    found: Object = json.loads(text)
    return found


@pytest.mark.feature("A-35")
@pytest.mark.feature("A-63")
def test_an_invalid_home_is_refused_in_the_validators_words(home: Project) -> None:
    said = home.kubectl.apply(home_named("hut", rooms=0), code=1)
    assert said == 'The Home "hut" is invalid: spec.rooms: Invalid value: 0: a home has a room at least\n'

    home.kubectl.apply(home_named("villa", owner="ann"))
    said = home.kubectl.apply(home_named("villa", owner="bob"), code=1)
    assert "spec.owner: Forbidden: a home is not handed on: create another" in said
    said = home.kubectl.apply(home_named("castle", rooms=51))
    assert "Warning: so many rooms are hard to keep clean" in said


@pytest.mark.feature("A-35")
@pytest.mark.feature("A-63")
def test_what_a_home_leaves_out_is_filled_in(home: Project) -> None:
    home.kubectl.apply(home_named("plain"))

    spec = home.kubectl.read("homes", "plain")["spec"]
    assert spec["rooms"] == 1
    assert spec["owner"] == "system:anonymous"  # as whom the server knows who sends no token


@pytest.mark.feature("A-18")
@pytest.mark.feature("A-63")
def test_a_cluster_is_written_and_read_in_both_versions(redis: Project) -> None:
    config = "# why\nsave 900 1\n"
    redis.kubectl.apply(cluster_named("old", "v1alpha1", size=2, memory=64, config=config))

    new = redis.kubectl.read(V1, "old")
    assert new["spec"].items() >= {"replicas": 2, "maxMemory": "64mb", "settings": ["save 900 1"]}.items()
    old = read_old(redis, "old")
    assert old["spec"].items() >= {"size": 2, "memory": 64, "config": config, "storage": "1Gi"}.items()
    for field in ("uid", "creationTimestamp", "generation"):
        assert old["metadata"][field] == new["metadata"][field]

    redis.kubectl.apply(cluster_named("new", "v1", replicas=1, maxMemory="1500kb", keepData=True))
    redis.kubectl.run("patch", V1ALPHA1, "new", "--type=merge", "-p", '{"spec":{"size":2}}')
    new = redis.kubectl.read(V1, "new")["spec"]
    # Written through the version that has no word for it.
    assert (new["replicas"], new["keepData"]) == (2, True)
    # What is the default is there in either version, as who reads it expects.
    assert read_old(redis, "new")["spec"]["image"] == new["image"] == "redis:7.4-alpine"


@pytest.mark.feature("A-18")
def test_one_version_is_stored_and_those_that_were_are_remembered(redis: Project) -> None:
    crd = redis.kubectl.read("crd", CRD)

    served = [(one["name"], one["served"], one["storage"]) for one in crd["spec"]["versions"]]
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
def test_a_deleted_cluster_is_gone_with_all_it_owned(redis: Project) -> None:
    redis.kubectl.apply(cluster_named("brief", "v1", replicas=1))
    redis.kubectl.run("wait", "--for=condition=Ready", V1, "brief", "--timeout=60s")

    redis.kubectl.run("delete", V1, "brief", "--timeout=60s")
    redis.kubectl.run("wait", "--for=delete", "statefulset,service,configmap", "brief", "--timeout=60s")


def judged(project: Project) -> None:
    """One home, which the defaulter fills in and the validator lets pass."""
    homes = GroupVersionResource("ajd.my.domain", "v1", "homes")
    name = f"load-{threading.current_thread().name}"
    project.client.do(Request(verb="create", resource=homes, namespace="default", body=encode_value(home_named(name))))
    project.client.do(Request(verb="delete", resource=homes, namespace="default", name=name))


def converted(project: Project) -> None:
    """One cluster, which becomes one of the stored version, and is answered in the version it came in."""
    clusters = GroupVersionResource("cache.example.com", "v1alpha1", "redisclusters")
    body = encode_value(cluster_named(f"load-{threading.current_thread().name}", "v1alpha1", size=0))
    dry = {"dryRun": "All"}
    project.client.do(Request(verb="create", resource=clusters, namespace="default", body=body, query=dry))


@pytest.mark.feature("A-15")
@pytest.mark.feature("A-18")
@pytest.mark.parametrize(
    ("which", "act"),
    [pytest.param("home", judged, id="admission"), pytest.param("redis", converted, id="conversion")],
)
def test_certificates_are_replaced_under_load_and_nobody_is_refused(
    request: pytest.FixtureRequest, which: str, act: Callable[[Project], None]
) -> None:
    project: Project = request.getfixturevalue(which)
    done, failed, over = [0, 0, 0], list[ClientGoError](), threading.Event()

    def load(number: int) -> None:
        while not over.is_set():
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
            over.set()
    assert failed == []


def wait_for_more(done: list[int]) -> None:
    """Wait until each client has come further."""
    before = list(done)
    eventually(lambda: all(now > then for now, then in zip(done, before, strict=True)), seconds=SECONDS)
