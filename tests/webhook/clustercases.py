"""Webhooks of Homes in a cluster, and cases that hold on any API server."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, Webhooks
from clientgo.errors import Invalid
from clientgo.meta import GroupVersionResource, ObjectMeta, to_dict
from clientgo.rest import Config, RESTClient
from clientgo.typed.client import StatusClient, TypedClient
from clientgo.webhook import WebhookServer, webhook_managed_by
from tests.e2e.kubectl import Kubectl
from tests.webhook.homes import (
    GROUP,
    Home,
    HomeDefaulter,
    HomeSpec,
    HomeSpecV2,
    HomeV2,
    HomeValidator,
    grown,
    home,
    running,
    shrunk,
)

ROOT = Path(__file__).parent.parent.parent


class Homes(StatusClient[Home]):
    kind = Home
    resource = GroupVersionResource(GROUP, "v1", "homes")


class HomesV2(TypedClient[HomeV2]):
    kind = HomeV2
    resource = GroupVersionResource(GROUP, "v2", "homes")


class Cluster:
    """API server that calls webhooks of this process, and the requests they received."""

    def __init__(self, environment: Environment, config: Config, client: RESTClient) -> None:
        assert environment.webhooks is not None
        self.environment, self.config, self.client = environment, config, client
        self.install = environment.webhooks
        self.defaulter, self.validator = HomeDefaulter(), HomeValidator()
        self.v1, self.v2 = Homes(client, "default"), HomesV2(client, "default")

    def server(self) -> WebhookServer:
        """Run a server with conversion, at the address known to the API server."""
        install = self.install
        server = WebhookServer(port=install.port, host=install.host, cert_dir=install.cert_dir)
        webhook_managed_by(server).for_(HomeV2).with_conversion(Home, to_hub=grown, from_hub=shrunk).complete()
        return server

    def webhooks(self) -> WebhookServer:
        """Run a server with all webhooks of the kind."""
        server = self.server()
        webhook_managed_by(server).for_(Home).with_defaulter(self.defaulter).with_validator(self.validator).complete()
        return server


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the CRD and the webhook configurations generated from tests/webhook/homes.py."""
    folder = tmp_path_factory.mktemp("manifests")
    local = ("--crd-dir", "crd", "--webhook-dir", "webhook", "--generators", "crd,webhook", "--root", str(folder))
    module = ("--input-module", "tests.webhook.homes", "--declarations", "tests.webhook.homes")
    command = [sys.executable, "-m", "clientgo.codegen", *module, *local]
    subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=50)
    return folder


@pytest.fixture(scope="module")
def cluster(manifests: Path) -> Iterator[Cluster]:
    crds, hooks = manifests / "crd" / f"{GROUP}_homes.yaml", manifests / "webhook" / "manifests.yaml"
    kubeconfig = manifests / "kubeconfig"
    environment = Environment(crd_paths=[crds], webhooks=Webhooks([hooks]), server=BundledServer(kubeconfig=kubeconfig))
    with environment as config, closing(RESTClient(config)) as client:
        yield Cluster(environment, config, client)


@pytest.fixture
def served(cluster: Cluster) -> Iterator[Cluster]:
    """Run the cluster's webhooks, and delete all Homes afterwards."""
    cluster.defaulter.asked.clear()
    cluster.validator.asked.clear()
    with running(cluster.webhooks()):
        yield cluster
        cluster.v2.delete_collection()


@pytest.fixture
def kubectl(served: Cluster, manifests: Path, tmp_path: Path) -> Kubectl:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    environ = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(manifests / "kubeconfig")}
    return Kubectl(served.environment, environ, "default")


@pytest.mark.feature("A-16")
@pytest.mark.feature("A-35")
def test_kubectl_shows_the_validators_message(kubectl: Kubectl) -> None:
    updated = kubectl.apply(home(rooms=0), code=1)
    # How kubectl prints a 422 with its causes.
    assert updated == (
        'The Home "villa" is invalid: \n* spec.owner: Required value: a home needs an owner\n'
        "* spec.rooms: Invalid value: 0: must be at least 1\n"
    )
    assert kubectl.apply(home(owner="ann", rooms=2)) == "home.ajd.my.domain/villa created\n"
    updated = kubectl.apply(home(owner="ann", rooms=1), code=1)
    assert 'admission webhook "vhome-v1.kb.io" denied the request: a home does not shrink' in updated
    assert "Warning: build another one" in kubectl.apply(home(owner="ann", rooms=1), code=1)
    kubectl.apply(home("monument", owner="nobody"))
    assert "denied the request: this one is a monument" in kubectl.run("delete", "homes", "monument", code=1)
    # The hub's client asks for v2, which the webhooks see as v1 all the same.
    patch = '[{"op":"replace","path":"/spec/owners","value":["eve"]}]'
    kubectl.run("patch", "homes.v2.ajd.my.domain", "monument", "--type=json", "-p", patch)


@pytest.mark.feature("A-15")
@pytest.mark.feature("A-35")
def test_a_defaulted_field_appears_and_a_warning_is_printed(kubectl: Kubectl) -> None:
    kubectl.apply(home(owner="ann"))
    stored = kubectl.read("homes.v1.ajd.my.domain", "villa")
    assert stored["spec"] == {"owner": "ann", "rooms": 1, "heated": True}
    assert kubectl.apply(home(owner="ann")) == "home.ajd.my.domain/villa unchanged\n"
    assert "Warning: that is a large home" in kubectl.apply(home("palace", owner="ann", rooms=101))


@pytest.mark.feature("A-16")
def test_dry_run_is_validated_and_defaulted_but_not_stored(kubectl: Kubectl, served: Cluster) -> None:
    updated = kubectl.apply(home(owner="ann"), "--dry-run=server", "-o", "jsonpath={.spec.rooms}")
    assert updated == "1"
    assert "a home needs an owner" in kubectl.apply(home(), "--dry-run=server", code=1)
    assert "NotFound" in kubectl.run("get", "homes", "villa", code=1)
    assert {request.dry_run for request in served.validator.asked} == {True}


def test_client_gets_the_causes_of_a_denial(served: Cluster) -> None:
    with pytest.raises(Invalid) as caught:
        served.v1.create(Home(ObjectMeta(name="x"), HomeSpec(rooms=0)))
    assert [cause.field for cause in caught.value.details.causes] == ["spec.owner", "spec.rooms"]
    assert caught.value.code == 422


@pytest.mark.feature("A-15")
def test_webhook_gets_the_user(served: Cluster) -> None:
    served.v1.create(Home(ObjectMeta(name="x"), HomeSpec(owner="ann")))
    [request] = served.validator.asked
    assert (request.operation, request.name, request.namespace) == ("CREATE", "x", "default")
    assert request.user_info.username
    assert request.object["spec"]["rooms"] == 1  # the validator is asked about what the defaulter made


@pytest.mark.feature("A-18")
def test_both_versions_are_read_and_written_and_nothing_is_lost(served: Cluster) -> None:
    built = served.v1.create(Home(ObjectMeta(name="x", labels={"a": "b"}), HomeSpec(owner="ann & bob", heated=False)))
    as_v2 = served.v2.get("x")
    assert as_v2.spec == HomeSpecV2(owners=("ann", "bob"), rooms=1)
    assert to_dict(as_v2)["metadata"].items() >= {"uid": built.metadata.uid, "labels": {"a": "b"}}.items()
    assert served.v1.get("x") == built
    served.v2.create(HomeV2(ObjectMeta(name="y"), HomeSpecV2(owners=("eve",), rooms=3)))
    assert served.v1.get("y").spec == HomeSpec(owner="eve", rooms=3)
    assert [item.metadata.name for item in served.v1.list().items] == ["x", "y"]
    assert [entry.spec.owners for entry in served.v2.list().items] == [("ann", "bob"), ("eve",)]


def test_kubectl_explains_each_version_of_a_kind_that_is_converted(kubectl: Kubectl) -> None:
    assert "owners\t<[]string>" in kubectl.run("explain", "homes.spec", f"--api-version={GROUP}/v2")
    assert "owner\t<string>" in kubectl.run("explain", "homes.spec", f"--api-version={GROUP}/v1")
