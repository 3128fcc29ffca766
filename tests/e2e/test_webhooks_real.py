"""Webhooks on a real API server: the scenarios of tests/webhook that run on any server."""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clientgo.envtest import BundledServer, Environment, Webhooks, server_from
from clientgo.errors import ApiError, InternalError, Invalid
from clientgo.meta import ObjectMeta
from clientgo.rest import RESTClient, load_config
from clientgo.testing.eventually import eventually
from tests.e2e.clusters import kubeconfig_of, without_crds
from tests.e2e.kubectl import Kubectl
from tests.webhook.clustercases import (
    Cluster,
    manifests,
    test_a_defaulted_field_appears_and_a_warning_is_printed,
    test_both_versions_are_read_and_written_and_nothing_is_lost,
    test_client_gets_the_causes_of_a_denial,
    test_dry_run_is_validated_and_defaulted_but_not_stored,
    test_kubectl_explains_each_version_of_a_kind_that_is_converted,
    test_kubectl_shows_the_validators_message,
    test_webhook_gets_the_user,
)
from tests.webhook.homes import GROUP, Home, HomeSpec, running

# The fixtures and scenarios, with the `cluster` and the `kubectl` below.
__all__ = [
    "manifests",
    "test_client_gets_the_causes_of_a_denial",
    "test_a_defaulted_field_appears_and_a_warning_is_printed",
    "test_dry_run_is_validated_and_defaulted_but_not_stored",
    "test_both_versions_are_read_and_written_and_nothing_is_lost",
    "test_kubectl_explains_each_version_of_a_kind_that_is_converted",
    "test_kubectl_shows_the_validators_message",
    "test_webhook_gets_the_user",
]

pytestmark = [pytest.mark.e2e, pytest.mark.requires("a real server")]

SECONDS = 20.0


@pytest.fixture(scope="module")
def cluster(manifests: Path) -> Iterator[Cluster]:  # the imported fixture
    environment = Environment(
        crd_paths=[manifests / "crd" / f"{GROUP}_homes.yaml"],
        webhooks=Webhooks([manifests / "webhook" / "manifests.yaml"]),
        server=server_from(bundled=BundledServer(kubeconfig=manifests / "kubeconfig")),
    )
    if environment.kind == "existing cluster" and urlsplit(load_config().host).hostname not in ("127.0.0.1", "::1"):
        pytest.skip("an API server on another machine cannot call webhooks on this one")
    crd = manifests / "crd" / f"{GROUP}_homes.yaml"
    with without_crds(crd), environment as config, closing(RESTClient(config)) as client:
        yield Cluster(environment, config, client)


@pytest.fixture
def served(cluster: Cluster) -> Iterator[Cluster]:
    """Provide the cluster with its webhooks running; delete all Homes afterwards."""
    with running(cluster.webhooks()):
        # A real server takes a moment to heed new configurations, and to notice that its old connections are closed.
        eventually(lambda: refusal(cluster), lambda error: isinstance(error, Invalid), seconds=SECONDS)
        assert cluster.defaulter.asked
        cluster.defaulter.asked.clear()
        cluster.validator.asked.clear()
        yield cluster
        cluster.v2.delete_collection()


def refusal(cluster: Cluster) -> ApiError | None:
    """Return the error of a dry run that the validator rejects."""
    try:
        cluster.v1.create(Home(ObjectMeta(name="probe"), HomeSpec()), dry_run=True)
    except ApiError as error:
        return error
    return None


def test_write_fails_while_the_webhook_server_is_away(cluster: Cluster) -> None:
    eventually(lambda: "connection refused" in str(refusal(cluster)), seconds=SECONDS)
    error = refusal(cluster)
    assert isinstance(error, InternalError)
    assert 'failed calling webhook "mhome-v1.kb.io"' in error.message


@pytest.fixture
def kubectl(served: Cluster, manifests: Path, tmp_path: Path) -> Kubectl:  # the imported fixtures
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    kubeconfig = kubeconfig_of(served.environment, manifests / "kubeconfig")
    return Kubectl(served.environment, {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}, "default")


@pytest.mark.requires("an existing cluster")
def test_crd_of_a_cluster_is_left_without_the_url_of_this_machine(manifests: Path, tmp_path: Path) -> None:
    group, crd = "restored.example.com", tmp_path / "crd.yaml"
    crd.write_text((manifests / "crd" / f"{GROUP}_homes.yaml").read_text().replace(GROUP, group))
    (tmp_path / "webhook").mkdir()
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/homes.{group}"
    with closing(RESTClient(load_config())) as client:
        with Environment(crd_paths=[crd], webhooks=Webhooks([tmp_path / "webhook"])):
            assert b'"url":"https://127.0.0.1:' in client.raw("GET", path)
        response = client.raw("GET", path)
        client.raw("DELETE", path)
    assert b'"url"' not in response
