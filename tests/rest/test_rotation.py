"""Rotated credentials against the bundled server: tokens, client certificates and authorities, without a restart."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.errors import ConnectionFailed, Unauthorized
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.connections.tls import REREAD_SECONDS
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.api.users import User
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration

TOKENS = {"t0ken-of-ann": User("ann", ("system:masters",)), "t0ken-of-bob": User("bob", ("system:masters",))}
REVIEW = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer(tls=True, anonymous=False, tokens=TOKENS) as started:
        yield started


def name_of(client: RESTClient) -> str:
    """Return the user name of the client according to the server."""
    response = client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=REVIEW)
    return str(json.loads(response)["status"]["userInfo"]["username"])


def authority(server: ApiServer) -> bytes:
    assert server.ca is not None
    return server.ca


@pytest.mark.parametrize("name", ["rené", "Łukasz", "李"])
def test_impersonated_name_arrives_as_it_was_configured(server: ApiServer, name: str) -> None:
    config = Config(
        server.url, ca_data=authority(server).decode(), token="t0ken-of-ann", impersonate=Impersonation(name)
    )
    client = RESTClient(config)
    assert name_of(client) == name
    client.close()


@pytest.mark.feature("B-REST-08")
def test_rotated_token_is_used_within_a_minute_or_after_a_401(server: ApiServer, tmp_path: Path) -> None:
    token, clock = tmp_path / "token", FakeClock()
    token.write_text("t0ken-of-ann")
    client = RESTClient(Config(server.url, ca_data=authority(server).decode(), token_file=str(token)), clock=clock)
    assert name_of(client) == "ann"
    token.write_text("t0ken-of-bob")
    assert name_of(client) == "ann"
    clock.step(60.0)
    assert name_of(client) == "bob"
    token.write_text("of-nobody")
    clock.step(60.0)
    with pytest.raises(Unauthorized):
        name_of(client)
    token.write_text("t0ken-of-ann")
    assert name_of(client) == "ann"
    client.close()


@pytest.mark.feature("B-REST-08")
def test_rotated_client_certificate_is_used_within_a_minute_and_by_each_new_connection(
    server: ApiServer, tmp_path: Path
) -> None:
    certificate, key, clock = tmp_path / "tls.crt", tmp_path / "tls.key", FakeClock()

    def rotate(name: str) -> None:
        built = server.client_certificate(name, "system:masters")
        certificate.write_bytes(built[0])
        key.write_bytes(built[1])

    rotate("carol")
    files = {"client_certificate_file": str(certificate), "client_key_file": str(key)}
    config = Config(server.url, ca_data=authority(server).decode(), **files)  # type: ignore[arg-type]  # both are text
    client = RESTClient(config, clock=clock)
    assert name_of(client) == "carol"
    rotate("dave")
    clock.step(REREAD_SECONDS - 1)
    assert name_of(client) == "carol"
    clock.step(1)
    assert name_of(client) == "dave"
    key.write_bytes(b"half written")
    server.faults.disconnect()
    assert name_of(client) == "dave"
    rotate("erin")
    server.faults.disconnect()
    assert name_of(client) == "erin"
    client.close()


@pytest.mark.feature("B-REST-09")
def test_rotated_ca_is_trusted_at_once(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    with ApiServer(tls=True, tokens=TOKENS) as first:
        port = int(first.url.rpartition(":")[2])
        ca.write_bytes(authority(first))
        client = RESTClient(Config(first.url, ca_file=str(ca), token="t0ken-of-ann"), max_retries=0)
        assert name_of(client) == "ann"
    with ApiServer(port=port, tls=True, tokens=TOKENS) as second:
        with pytest.raises(ConnectionFailed, match="is not trusted"):
            name_of(client)
        ca.write_bytes(authority(second))
        assert name_of(client) == "ann"
    client.close()
