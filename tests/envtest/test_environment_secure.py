"""Secure environments: TLS, an administrator's token, and RBAC."""

import ssl
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import urllib3

from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ConfigError, Forbidden
from clientgo.rest import Config, RESTClient, load_config
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration


def ask(config: Config, path: str) -> bytes:
    with closing(RESTClient(config, max_retries=0)) as client:
        return client.raw("GET", path)


def test_its_kubeconfig_holds_address_authority_and_token(tmp_path: Path) -> None:
    with Environment(server=BundledServer(secure=True, kubeconfig=tmp_path / "kubeconfig")) as config:
        assert config.host.startswith("https://127.0.0.1:")
        result = load_config(kubeconfig=tmp_path / "kubeconfig")
        assert (result.host, result.token, result.ca_data) == (config.host, config.token, config.ca_data)
        assert b'"NamespaceList"' in ask(result, "/api/v1/namespaces")


@pytest.mark.feature("B-CR-13")
def test_tokens_are_valid_command_line_arguments() -> None:
    with Environment(server=BundledServer(secure=True)) as config:
        assert config.token.isalnum()


def test_added_user_is_limited_by_roles() -> None:
    environment = Environment(server=BundledServer(secure=True))
    with environment:
        with pytest.raises(Forbidden, match='User "bob" cannot list resource "namespaces"'):
            ask(environment.add_user("bob"), "/api/v1/namespaces")
        ask(environment.add_user("root", "system:masters"), "/api/v1/namespaces")


def test_client_certificate_tells_name_and_groups() -> None:
    with ApiServer(tls=True, anonymous=False, authorization="RBAC") as server:
        assert server.ca is not None
        certificate, key = server.client_certificate("carol", "system:masters")
        config = Config(
            server.url,
            ca_data=server.ca.decode(),
            client_certificate_data=certificate.decode(),
            client_key_data=key.decode(),
        )
        assert b'"NamespaceList"' in ask(config, "/api/v1/namespaces")
        context = ssl.create_default_context(cadata=server.ca.decode())
        with urllib3.PoolManager(ssl_context=context) as http:
            assert http.request("GET", f"{server.url}/api/v1/namespaces").status == 401


@pytest.mark.timeout(4)  # uvicorn itself would wait for five seconds
def test_idle_tls_connection_does_not_delay_stop() -> None:
    with ApiServer(tls=True) as server:
        assert server.ca is not None
        http = urllib3.PoolManager(ssl_context=ssl.create_default_context(cadata=server.ca.decode()))
        assert http.request("GET", f"{server.url}/readyz").data == b"ok"
    http.clear()


@pytest.mark.parametrize(
    "options",
    [{"anonymous": False}, {"tls": True}, {"authorization": "RBAC"}],
    ids=["no TLS", "everybody may", "roles without TLS"],
)
def test_it_listens_where_others_reach_it_only_with_tls_and_authentication(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"listen on 0\.0\.0\.0 only with TLS and authentication"):
        ApiServer(host="0.0.0.0", **options)


def test_protected_it_listens_anywhere() -> None:
    with Environment(server=BundledServer(secure=True, host="0.0.0.0")) as config:
        assert b'"NamespaceList"' in ask(config, "/api/v1/namespaces")
