"""Generated clientset, listers and informers of the built-in kinds, over the fake."""

import threading

import pytest

from clientgo.kubernetes.informers import SharedInformerFactory
from clientgo.kubernetes.types.certificates_v1 import CertificateSigningRequest
from clientgo.kubernetes.types.core_v1 import (
    Container,
    Namespace,
    Pod,
    PodSpec,
    TokenRequest,
    TokenRequestSpec,
    TokenRequestStatus,
)
from clientgo.meta import ObjectMeta
from clientgo.testing.kubernetes import FakeClientset
from tests.workloads import deployment


@pytest.mark.feature("A-09")
def test_what_is_created_is_read_back_by_the_typed_client() -> None:
    deployments = FakeClientset().apps_v1.deployments("ns")
    deployments.create(deployment("web"))
    assert deployments.get("web").spec.replicas == 1
    scaled = deployments.update(deployment("web", replicas=3))
    assert scaled.spec.replicas == 3


def test_cluster_scoped_kind_is_requested_without_namespace() -> None:
    clientset = FakeClientset(Namespace(metadata=ObjectMeta(name="kube-system")))
    assert [result.metadata.name for result in clientset.core_v1.namespaces().list().items] == ["kube-system"]
    assert clientset.actions[-1].namespace == ""


@pytest.mark.feature("D-14", "D-18")
def test_lister_reads_what_the_informer_has_cached() -> None:
    clientset = FakeClientset(deployment("web"), deployment("db", "other"))
    factory = SharedInformerFactory(clientset)
    deployments = factory.apps.v1.deployments
    lister = deployments.lister
    stop = threading.Event()
    factory.start(stop)
    try:
        assert factory.wait_for_cache_sync(stop, timeout=10)
        assert lister.deployments("other").get("db").metadata.name == "db"
        assert len(lister.list()) == 2
    finally:
        factory.shutdown(10)


@pytest.mark.feature("D-17")
def test_two_versions_of_a_group_have_informers_of_their_own() -> None:
    factory = SharedInformerFactory(FakeClientset())
    v1 = factory.autoscaling.v1.horizontal_pod_autoscalers.informer
    v2 = factory.autoscaling.v2.horizontal_pod_autoscalers.informer
    assert id(v1) != id(v2)
    assert factory.autoscaling.v1.horizontal_pod_autoscalers.informer is v1


@pytest.mark.feature("A-41")
def test_review_can_be_created_and_nothing_else() -> None:
    reviews = FakeClientset().authorization_v1.self_subject_access_reviews()
    assert [verb for verb in ("create", "get", "list", "update", "delete", "apply") if hasattr(reviews, verb)] == [
        "create"
    ]


def test_pod_s_containers_for_debugging_and_its_resources_are_updated_by_subresources_of_their_own() -> None:
    spec = PodSpec(containers=[Container(name="a", image="a")])
    clientset = FakeClientset(Pod(metadata=ObjectMeta(name="p", namespace="default"), spec=spec))
    pods = clientset.core_v1.pods("default")
    pods.update_ephemeral_containers("p", pods.get("p"), field_manager="debugger")
    pods.update_resize("p", pods.get("p"))
    written = [(action.verb, action.name, action.subresource) for action in clientset.writes]
    assert written == [("update", "p", "ephemeralcontainers"), ("update", "p", "resize")]


def test_subresources_of_other_kinds_are_written_by_methods_of_their_own() -> None:
    clientset = FakeClientset(
        Namespace(metadata=ObjectMeta(name="n")), CertificateSigningRequest(metadata=ObjectMeta(name="c"))
    )
    clientset.prepend_reactor("update", "certificatesigningrequests/approval", lambda _: (True, None))
    namespaces, requests = clientset.core_v1.namespaces(), clientset.certificates_v1.certificate_signing_requests()
    assert namespaces.finalize("n", namespaces.get("n")).metadata.name == "n"
    assert requests.update_approval("c", requests.get("c")).metadata.name == "c"
    written = [(action.resource.resource, action.name, action.subresource) for action in clientset.writes]
    assert written == [("namespaces", "n", "finalize"), ("certificatesigningrequests", "c", "approval")]


def test_token_of_a_service_account_is_created_for_its_audiences() -> None:
    clientset = FakeClientset()
    issued = TokenRequest(status=TokenRequestStatus(token="t"))
    clientset.prepend_reactor("create", "serviceaccounts/token", lambda _: (True, issued))
    token_request = TokenRequest(spec=TokenRequestSpec(audiences=("a",), expiration_seconds=600))
    assert clientset.core_v1.service_accounts("ns").create_token("sa", token_request).status.token == "t"
    assert clientset.actions[-1].object == token_request
