"""The page about deployment: its manifests and commands work from an empty folder to a rolled-back upgrade."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import yaml

from clientgo.envtest import BundledServer, Environment
from clientgo.kubernetes.clientset import Clientset
from clientgo.testing.eventually import eventually
from tests.cli.processes import free_port, in_background
from tests.cli.projects import ROOT, clientgo, kind, new_project, run

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]

PAGE = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(config/[\w./-]+)`:\n\n```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
KIND = kind("samples", "v1", "Foo")


def commands(heading: str) -> str:
    [text] = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    [block] = re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[Clientset, Path]]:
    """A bare cluster with simulated pods, and its kubeconfig."""
    environment = Environment(server=BundledServer(kubeconfig=tmp_path / "kubeconfig", ready_seconds=0.1))
    with environment as config, closing(Clientset(config)) as clientset:
        yield clientset, tmp_path / "kubeconfig"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = new_project(tmp_path / "foo", "--certificates", "self-signed", domain="example.com")
    assert clientgo(folder, "create", "api", *KIND, "--resource", "--controller") == 0
    for path, text in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_commands_of_the_page_deploy_upgrade_and_roll_back(
    project: Path, cluster: tuple[Clientset, Path], variables: Mapping[str, str]
) -> None:
    clientset, kubeconfig = cluster
    environ = {**variables, "KUBECONFIG": str(kubeconfig), "PATH": f"{variables['PATH']}:{os.environ['PATH']}"}

    def shell(text: str) -> str:
        return run(project, environ, "bash", "-e", "-c", text)

    def images() -> set[str | None]:
        pods = clientset.core_v1.pods("foo-system").list().items
        return {pod.spec.containers[0].image for pod in pods if pod.metadata.deletion_timestamp is None}

    shell(commands("Deploy"))
    assert images() == {"registry.example.com/team/foo:0.1.0"}

    production = commands("Two replicas, disruption budget, network policy, Prometheus")
    shell(production)
    eventually(lambda: len(clientset.core_v1.pods("foo-system").list().items) == 2)
    budget = clientset.policy_v1.pod_disruption_budgets("foo-system").get("foo-controller-manager")
    assert budget.spec.max_unavailable == 1

    shell(production.replace("0.1.0", "0.2.0"))
    eventually(lambda: images() == {"registry.example.com/team/foo:0.2.0"})
    assert clientset.apps_v1.deployments("foo-system").get("foo-controller-manager").spec.replicas == 2
    output = shell(commands("Upgrade"))
    assert "foo.samples.example.com/foo-sample replaced" in output
    assert "customresourcedefinition.apiextensions.k8s.io/foos.samples.example.com patched" in output

    assert "successfully rolled out" in shell(commands("Rollback"))
    eventually(lambda: images() == {"registry.example.com/team/foo:0.1.0"})


def test_webhooks_are_deployed_to_a_bare_cluster(
    project: Path, cluster: tuple[Clientset, Path], variables: Mapping[str, str]
) -> None:
    clientset, kubeconfig = cluster
    assert clientgo(project, "create", "webhook", *KIND, "--defaulting", "--programmatic-validation") == 0
    environ = {**variables, "KUBECONFIG": str(kubeconfig), "PATH": f"{variables['PATH']}:{os.environ['PATH']}"}
    run(project, environ, "make", "deploy", "IMG=foo:1")
    hooks = clientset.admissionregistration_v1
    [validating] = hooks.validating_webhook_configurations().list().items
    [mutating] = hooks.mutating_webhook_configurations().list().items
    secret = clientset.core_v1.secrets("foo-system").get("foo-webhook-server-cert")
    clients = [webhook.client_config for webhook in validating.webhooks]
    clients += [webhook.client_config for webhook in mutating.webhooks]
    assert {client.ca_bundle for client in clients} == {secret.data["ca.crt"]}
    [manager] = clientset.core_v1.pods("foo-system").list().items
    [volume] = [each for each in manager.spec.volumes if each.name == "webhook-certs"]
    assert volume.secret is not None
    assert volume.secret.secret_name == "foo-webhook-server-cert"
    run(project, environ, "make", "undeploy")
    assert "foo-system" not in {namespace.metadata.name for namespace in clientset.core_v1.namespaces().list().items}
    run(project, environ, "make", "undeploy")


def test_nothing_is_deployed_without_the_cert_manager_that_the_project_needs(
    project: Path, cluster: tuple[Clientset, Path], variables: Mapping[str, str]
) -> None:
    clientset, kubeconfig = cluster
    assert clientgo(project, "create", "webhook", *KIND, "--defaulting") == 0
    assert clientgo(project, "upgrade", "--certificates", "cert-manager") == 0
    environ = {**variables, "KUBECONFIG": str(kubeconfig), "PATH": f"{variables['PATH']}:{os.environ['PATH']}"}
    with pytest.raises(AssertionError, match=r"needs cert-manager in the cluster: install it, or .*=self-signed"):
        run(project, environ, "make", "deploy", "IMG=foo:1")
    hooks = clientset.admissionregistration_v1.mutating_webhook_configurations()
    assert not hooks.list().items
    with pytest.raises(AssertionError, match='no matches for kind "Certificate"'):
        run(project, environ, "kubectl", "apply", "-f", "dist/install.yaml")
    assert hooks.list().items
    with pytest.raises(AssertionError, match='no matches for kind "Certificate"'):
        run(project, environ, "make", "undeploy")
    assert not hooks.list().items
    assert not clientset.apiextensions_v1.custom_resource_definitions().list().items
    assert "foo-system" not in {namespace.metadata.name for namespace in clientset.core_v1.namespaces().list().items}


FINALIZING = """
from clientgo.manager import Reconciler

from api.v1.bar_types import Bar
from api.v1.foo_types import Foo


class FooReconciler(Reconciler[Foo], finalizer="example.com/foo"):
    def reconcile(self, foo: Foo) -> None: ...

    def finalize(self, foo: Foo) -> None:
        self.client.api_reader.list(Bar)
"""


def test_undeploy_deletes_objects_before_the_kinds_that_their_finalizers_need(
    project: Path, cluster: tuple[Clientset, Path], variables: Mapping[str, str]
) -> None:
    clientset, kubeconfig = cluster
    bar = kind("samples", "v1", "Bar")
    assert clientgo(project, "create", "api", *bar, "--resource", "--controller=false") == 0
    (project / "controllers/foo_controller.py").write_text(FINALIZING)
    environ = {**variables, "KUBECONFIG": str(kubeconfig), "PATH": f"{variables['PATH']}:{os.environ['PATH']}"}
    run(project, environ, "make", "deploy", "IMG=foo:1")
    flags = f"ARGS=--health-probe-bind-address=127.0.0.1:{free_port()}"
    with in_background(project, environ, "make", "run", flags, sign="Starting workers"):
        run(project, environ, "kubectl", "apply", "-k", "config/samples")
        has_finalizer = partial(run, project, environ, "kubectl", "get", "foos", "-o", "jsonpath={.items[*].metadata}")
        eventually(has_finalizer, lambda text: "example.com/foo" in text)
        run(project, environ, "make", "undeploy", "TIMEOUT=20s")
    assert not clientset.apiextensions_v1.custom_resource_definitions().list().items


def test_undeploy_names_what_remains_with_a_remedy_in_the_right_order(
    project: Path, cluster: tuple[Clientset, Path], variables: Mapping[str, str]
) -> None:
    clientset, kubeconfig = cluster
    assert clientgo(project, "create", "webhook", *KIND, "--programmatic-validation") == 0
    environ = {**variables, "KUBECONFIG": str(kubeconfig), "PATH": f"{variables['PATH']}:{os.environ['PATH']}"}
    run(project, environ, "make", "install")
    sample = project / "config/samples/samples_v1_foo.yaml"
    sample.write_text(sample.read_text().replace("metadata:", "metadata:\n  finalizers: [example.com/foo]"))
    run(project, environ, "kubectl", "apply", "-k", "config/samples")
    run(project, environ, "make", "deploy", "IMG=foo:1")

    with pytest.raises(AssertionError) as failed:
        run(project, environ, "make", "undeploy", "TIMEOUT=1s")

    text = str(failed.value)
    assert "waiting up to 1s" in text
    assert re.search(r"^Foo +default +foo-sample +\[example.com/foo\]$", text, re.MULTILINE)
    remedies = re.findall(r"^- .*: (kubectl .*)$", text, re.MULTILINE)
    assert [each.split()[1] for each in remedies] == ["delete", "patch"]
    for remedy in remedies:
        command = remedy.replace("KIND NAME --namespace NAMESPACE", "foo foo-sample --namespace default")
        run(project, environ, "sh", "-c", command)
    run(project, environ, "make", "undeploy")
    assert not clientset.apiextensions_v1.custom_resource_definitions().list().items


def test_manifests_of_the_page_are_yaml() -> None:
    assert [yaml.safe_load(text)["kind"] for text in FILES.values()] == ["Kustomization", "PodDisruptionBudget"]
