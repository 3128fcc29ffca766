"""Attacks on clients: names that lead to other URLs, malicious servers."""

from contextlib import closing
from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.errors import BadRequest, ClientGoError, NotFound
from clientgo.kubernetes.clientset import Clientset
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest import Config
from clientgo.rest.request import Request, target_of
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration

SECRETS = GroupVersionResource("", "v1", "secrets")

LEADING_ELSEWHERE = ("../secrets/other", "..", ".", "a/b", "a%2Fb", "a%2e%2e")
HARMLESS = ("a?limit=1", "a#b", "a b", "a&watch=true", "a;b", "ä", "a\r\nX-Injected: 1", "a\\b")


@pytest.mark.parametrize("name", LEADING_ELSEWHERE)
def test_name_that_leads_elsewhere_is_not_sent(name: str) -> None:
    with ApiServer() as server, closing(Clientset(Config(server.url))) as clientset:
        secrets = clientset.core_v1.secrets("default")
        before = server.requests()
        for call in (secrets.get, secrets.delete, lambda arguments: secrets.patch(arguments, {})):
            with pytest.raises(BadRequest, match="invalid resource name"):
                call(name)
        with pytest.raises(BadRequest, match="invalid resource namespace"):
            clientset.core_v1.secrets(name).list()
        assert server.requests() == before


@pytest.mark.parametrize("name", HARMLESS)
def test_odd_name_is_a_name_and_nothing_else(name: str) -> None:
    with ApiServer() as server, closing(Clientset(Config(server.url))) as clientset:
        with pytest.raises(NotFound) as refused:
            clientset.core_v1.secrets("default").get(name)
        assert refused.value.details is not None
        assert refused.value.details.name == name


@given(name=st.text(min_size=1), namespace=st.text(min_size=1))
def test_no_name_changes_the_path_or_the_query(name: str, namespace: str) -> None:
    try:
        target = target_of(Request(verb="get", resource=SECRETS, namespace=namespace, name=name))
    except BadRequest:
        return
    assert target.isascii()
    assert not set(target) & set("?# \r\n\t\\")
    assert [unquote(part) for part in target.split("/")] == ["", "api", "v1", "namespaces", namespace, "secrets", name]


@given(value=st.text(alphabet=st.characters(codec="utf-8")))
def test_no_value_of_a_parameter_becomes_another_one(value: str) -> None:
    query = {"labelSelector": value, "limit": "1"}
    target = target_of(Request(verb="list", resource=SECRETS, namespace="d", query=query))
    assert dict(parse_qsl(target.partition("?")[2], keep_blank_values=True)) == query


def test_too_large_object_is_rejected_with_a_one_line_error() -> None:
    with ApiServer() as server, closing(Clientset(Config(server.url))) as clientset:
        patch = {"data": {"large": "x" * 4_000_000}}
        with pytest.raises(ClientGoError) as refused:
            clientset.core_v1.config_maps("default").patch("kube-root-ca.crt", patch)
        assert "\n" not in str(refused.value)
