"""Webhook server over TLS: certificates, limits, start and shutdown."""

import http.client
import json
import ssl
import threading
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.errors import ConfigError
from clientgo.pki import CertificateAuthority
from clientgo.serving import Limits, Unhealthy
from clientgo.stop.lifecycle import Group
from clientgo.tls import load_key_pair
from clientgo.webhook import (
    AdmissionRequest,
    AdmissionResponse,
    Hub,
    WebhookServer,
    allowed,
    client_authority,
    tls_minimum,
    validate_path,
    webhooks_enabled,
)
from clientgo.webhook.routes import LARGEST_ADMISSION
from clientgo.webhook.server import LARGEST_CONVERSION, default_cert_dir
from tests.webhook.homes import Home, HomeV2, answer_of, ask, certificate, home, review, running, stopped

pytestmark = pytest.mark.integration

PATH = validate_path(Home)


@pytest.mark.feature("A-15")
def test_review_over_tls_is_answered(server: WebhookServer, authority: CertificateAuthority) -> None:
    response = answer_of(ask(server, f"{PATH}?timeout=10s", review("CREATE", home(owner="ann")), authority))
    assert (response["uid"], response["allowed"]) == (review()["request"]["uid"], True)
    assert server.url == f"https://127.0.0.1:{server.port}"


def test_largest_objects_of_an_api_server_are_handled(server: WebhookServer, authority: CertificateAuthority) -> None:
    old, new = home(owner="x" * 3 * 1024 * 1024), home(owner="y" * 3 * 1024 * 1024)
    assert answer_of(ask(server, PATH, review("UPDATE", new, old), authority))["allowed"]


def test_other_paths_methods_and_bodies_are_rejected(server: WebhookServer, authority: CertificateAuthority) -> None:
    assert ask(server, "/none", review(), authority).status == 404
    assert ask(server, PATH, review(), authority, **{"Content-Type": "text/plain"}).status == 415
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    with closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)) as connection:
        connection.request("GET", PATH)
        assert connection.getresponse().status == 405
    with closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)) as connection:
        connection.putrequest("POST", PATH)
        connection.putheader("Content-Length", str(7 * 1024 * 1024 + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413


def test_new_certificate_is_served_at_once(
    server: WebhookServer, authority: CertificateAuthority, tmp_path: Path
) -> None:
    other = certificate(tmp_path)
    assert ask(server, PATH, review("CREATE", home()), other).status == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(server, PATH, review("CREATE", home()), authority)


@pytest.mark.feature("A-35")
def test_missing_certificates_are_reported_with_a_fix(tmp_path: Path) -> None:
    server = WebhookServer(port=0, cert_dir=tmp_path)
    with pytest.raises(ConfigError) as caught:
        server.start(stopped())
    assert str(caught.value) == (
        f"no certificate for webhooks: {tmp_path} has no tls.crt and no tls.key; mount one there (cert-manager), "
        "or set ENABLE_WEBHOOKS=false to run without webhooks"
    )


@pytest.mark.feature("A-35")
@pytest.mark.parametrize(("value", "enabled"), [(None, True), ("true", True), ("", True), ("false", False)])
def test_webhooks_can_be_switched_off(value: str | None, enabled: bool) -> None:
    assert webhooks_enabled({} if value is None else {"ENABLE_WEBHOOKS": value}) is enabled


def test_certificates_are_looked_for_where_kubebuilder_mounts_them() -> None:
    assert WebhookServer().cert_dir == default_cert_dir()
    assert default_cert_dir().parts[-2:] == ("k8s-webhook-server", "serving-certs")
    assert WebhookServer().port == 9443


@pytest.mark.feature("B-CR-12")
def test_it_is_ready_while_it_serves(tmp_path: Path, authority: CertificateAuthority) -> None:
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path)
    check = server.started_checker()
    with pytest.raises(Unhealthy, match="is not running"):
        check()
    with running(server):
        check()
        with pytest.raises(RuntimeError, match="the webhook server has been started"):
            server.register("/late", lambda request: allowed())
    with pytest.raises(Unhealthy, match="is not running"):
        check()
    with pytest.raises(RuntimeError, match="has already been started"):
        server.start(stopped())


def test_request_in_progress_at_shutdown_is_answered(tmp_path: Path, authority: CertificateAuthority) -> None:
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path)
    event, may_answer = threading.Event(), threading.Event()

    def slow(request: AdmissionRequest) -> AdmissionResponse:
        event.set()
        assert may_answer.wait(10)
        return allowed("at last")

    server.register("/slow", slow)
    answers: list[str] = []

    def client() -> None:
        answers.append(answer_of(ask(server, "/slow", review(), authority))["status"]["message"])

    serving, clients = Group(), Group()
    serving.start(server.start, serving.stop_event, name="webhooks")
    assert server.ready.wait(10)
    clients.start(client, name="client")
    assert event.wait(10)
    serving.stop()
    assert serving.alive() == ["webhooks"]
    may_answer.set()
    clients.join(10)
    serving.join(10)
    assert answers == ["at last"]


@pytest.mark.feature("B-CR-12")
def test_minimum_tls_version_is_an_option(tmp_path: Path, authority: CertificateAuthority) -> None:
    options = (tls_minimum(ssl.TLSVersion.TLSv1_3),)
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path, tls_options=options)
    server.register("/x", lambda request: allowed())
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    with running(server):
        assert ask(server, "/x", review(), authority).status == 200
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
        with closing(connection), pytest.raises(ssl.SSLError):
            connection.connect()


def test_clients_can_be_asked_for_a_certificate(tmp_path: Path, authority: CertificateAuthority) -> None:
    clients = CertificateAuthority.create("test-ca")
    (tmp_path / "ca.crt").write_bytes(clients.certificate)
    options = (client_authority(tmp_path / "ca.crt"),)
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path, tls_options=options)
    server.register("/x", lambda request: allowed())
    with running(server), pytest.raises((ssl.SSLError, OSError, http.client.RemoteDisconnected)):
        ask(server, "/x", review(), authority)
    broken = WebhookServer(port=0, cert_dir=tmp_path, tls_options=(client_authority(tmp_path / "none"),))
    with pytest.raises(ConfigError, match="cannot read the client certificate authority"):
        broken.start(stopped())


def test_rotated_authority_of_clients_is_used_at_once(tmp_path: Path, authority: CertificateAuthority) -> None:
    file, old, new = tmp_path / "ca.crt", CertificateAuthority.create("old"), CertificateAuthority.create("new")
    file.write_bytes(old.certificate)
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path, tls_options=(client_authority(file),))

    def is_accepted(clients: CertificateAuthority) -> bool:
        context = ssl.create_default_context(cadata=authority.certificate.decode())
        load_key_pair(context, b"\n".join(clients.client("api-server")))
        with closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)) as connection:
            try:
                connection.request("GET", "/")
                return connection.getresponse().status == 404
            except OSError:
                return False

    with running(server):
        assert [is_accepted(old), is_accepted(new)] == [True, False]
        file.write_bytes(new.certificate)
        assert [is_accepted(old), is_accepted(new)] == [False, True]
        for content in (None, b"not a certificate"):  # the previous one stays in use
            file.unlink() if content is None else file.write_bytes(content)
            assert [is_accepted(old), is_accepted(new)] == [False, True]


def test_limits_can_be_set(tmp_path: Path, authority: CertificateAuthority) -> None:
    limits = Limits(body=len(json.dumps(review())) + 10)
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path, limits=limits)
    server.register("/x", lambda request: allowed())
    server.register_hub(Hub(HomeV2))
    with running(server):
        assert ask(server, "/x", review(), authority).status == 200
        assert ask(server, "/x", review(name="x" * 20), authority).status == 413


def test_api_server_is_the_first_to_close_an_idle_connection() -> None:
    assert WebhookServer()._limits.idle > 90.0  # Go's http.DefaultTransport


def test_only_lists_to_convert_may_be_larger_than_two_objects(tmp_path: Path, authority: CertificateAuthority) -> None:
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path)
    server.register("/x", lambda request: allowed())
    server.register_hub(Hub(HomeV2))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    with running(server):
        for path, length, status in (
            ("/x", LARGEST_ADMISSION + 1, 413),
            ("/convert", LARGEST_ADMISSION + 1, 400),
            ("/convert", LARGEST_CONVERSION + 1, 413),
        ):
            with closing(http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)) as client:
                client.putrequest("POST", path)
                client.putheader("Content-Type", "application/json")
                client.putheader("Content-Length", str(length))
                client.endheaders(bytes(length) if status == 400 else None)
                assert (path, length, client.getresponse().status) == (path, length, status)
