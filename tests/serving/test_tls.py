"""HTTPS over real sockets: certificates from changing files, self-signed ones, and failing handshakes."""

import os
import resource
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from clientgo.clock import SYSTEM_CLOCK, utc
from clientgo.errors import ConfigError
from clientgo.pki import CertificateAuthority
from clientgo.serving import Limits, Response
from clientgo.serving.certificates import CertificateDirectory, SelfSigned, serving_certificate, serving_context
from clientgo.stop.lifecycle import Group
from clientgo.testing.clock import FakeClock
from tests.serving.serving_client import ask, raw, serving, until_closed

pytestmark = pytest.mark.integration

ROUTES = {"/hello": lambda _: Response(200, "hello")}


@pytest.fixture
def authority() -> CertificateAuthority:
    return CertificateAuthority.create("test-ca")


def trusting(authority: CertificateAuthority) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def issue(authority: CertificateAuthority, folder: Path) -> bytes:
    """Write a new pair to the folder, as in a mounted Secret."""
    certificate, key = authority.server(["127.0.0.1"])
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return certificate


def shown(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=10)


def test_certificate_from_files_is_served_and_the_protocol_agreed_on(
    tmp_path: Path, authority: CertificateAuthority
) -> None:
    issue(authority, tmp_path)
    with serving(ROUTES, tls=CertificateDirectory(tmp_path)) as server:
        assert server.url.startswith("https://")
        assert ask(server, "/hello", context=trusting(authority)).body == "hello"
        with raw(server) as sock, trusting(authority).wrap_socket(sock, server_hostname="127.0.0.1") as tls:
            assert tls.selected_alpn_protocol() == "http/1.1"
            assert tls.version() == "TLSv1.3"


def test_new_certificate_is_served_and_open_connections_go_on(tmp_path: Path, authority: CertificateAuthority) -> None:
    first = issue(authority, tmp_path)
    request = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
    with (
        serving(ROUTES, tls=CertificateDirectory(tmp_path)) as server,
        raw(server) as sock,
        trusting(authority).wrap_socket(sock, server_hostname="127.0.0.1") as tls,
    ):
        tls.sendall(request)
        assert tls.recv(4096).endswith(b"hello")
        assert shown(server.port).encode() == first
        second = issue(authority, tmp_path)
        assert shown(server.port).encode() == second
        tls.sendall(request)
        assert tls.recv(4096).endswith(b"hello")


def test_connection_during_a_reload_gets_the_new_certificate(tmp_path: Path, authority: CertificateAuthority) -> None:
    group, served, answered = Group(), list[ssl.SSLContext](), threading.Event()

    class Slow(CertificateDirectory):
        def second(self) -> None:
            served.append(self.context())
            answered.set()

        def _load(self, pair: tuple[bytes, ...]) -> ssl.SSLContext:
            if hasattr(self, "_context"):  # not the first
                group.start(self.second, name="second")
                answered.wait(0.2)  # as long as a load may take; a thread that does not wait answers at once
            return super()._load(pair)

    issue(authority, tmp_path)
    directory = Slow(tmp_path)
    former = directory.context()
    issue(authority, tmp_path)
    new = directory.context()
    group.join(10)
    assert new is not former
    assert served == [new]


@pytest.mark.parametrize("harm", ["half", "others", "gone", "empty"])
def test_invalid_pair_is_logged_once_and_the_previous_one_stays(
    harm: str, tmp_path: Path, authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    first, key = issue(authority, tmp_path), tmp_path / "tls.key"
    with serving(ROUTES, tls=CertificateDirectory(tmp_path)) as server:
        match harm:
            case "half":
                key.write_bytes(key.read_bytes()[:100])
            case "others":
                key.write_bytes(authority.server(["127.0.0.1"])[1])
            case "gone":
                key.unlink()
            case _:
                key.write_bytes(b"")
        assert [shown(server.port).encode() for _ in range(3)] == [first] * 3
        messages = [record for record in caplog.records if record.levelname == "ERROR"]
        assert [record.msg for record in messages] == [
            "cannot reload the serving certificate; keeping the previous one"
        ]
        second = issue(authority, tmp_path)
        assert shown(server.port).encode() == second


@contextmanager
def free_descriptors(count: int) -> Iterator[None]:
    """Leave so many file descriptors to the block, as in a program that has opened too many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    used = []
    try:
        with suppress(OSError):
            while True:
                used.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(count):
            os.close(used.pop())
        yield
    finally:
        for descriptor in used:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_certificate_that_could_not_be_loaded_is_loaded_by_the_next_connection(
    tmp_path: Path, authority: CertificateAuthority, caplog: pytest.LogCaptureFixture
) -> None:
    issue(authority, tmp_path)
    source = CertificateDirectory(tmp_path)
    former = source.context()
    issue(authority, tmp_path)
    with free_descriptors(1):  # enough to read a file, but not to load a pair
        assert source.context() is former
        assert source.context() is former
    assert source.context() is not former
    errors = [vars(record)["err"] for record in caplog.records if record.levelname == "ERROR"]
    assert [str(error) for error in errors] == ["cannot load the serving certificate: [Errno 24] Too many open files"]


def test_swapped_secret_mount_is_reloaded(tmp_path: Path, authority: CertificateAuthority) -> None:
    """The kubelet changes what a link points to, not the files."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        issue(authority, tmp_path / name)
    (mounted := tmp_path / "mounted").symlink_to("old")
    with serving(ROUTES, tls=CertificateDirectory(mounted)) as server:
        (link := tmp_path / "next").symlink_to("new")
        link.rename(mounted)
        assert shown(server.port).encode() == (tmp_path / "new" / "tls.crt").read_bytes()


def test_without_a_usable_pair_the_server_does_not_start(tmp_path: Path, authority: CertificateAuthority) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the serving certificate: .*tls\.crt"):
        serving_certificate(tmp_path)
    issue(authority, tmp_path)
    (tmp_path / "tls.key").write_bytes(authority.server(["127.0.0.1"])[1])
    with pytest.raises(ConfigError, match=r"tls\.crt and tls\.key are not a certificate and its key: .*MISMATCH"):
        serving_certificate(tmp_path)


@pytest.mark.e2e
def test_encrypted_key_is_rejected_without_a_prompt(tmp_path: Path, authority: CertificateAuthority) -> None:
    issue(authority, tmp_path)
    key = tmp_path / "tls.key"
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to encrypt a key")
    encrypt = [openssl, "pkcs8", "-topk8", "-in", str(key), "-out", str(tmp_path / "new"), "-passout", "pass:x"]
    subprocess.run(encrypt, check=True, timeout=20)
    (tmp_path / "new").rename(key)
    with pytest.raises(ConfigError, match=r"tls\.key: the key is encrypted"):
        serving_certificate(tmp_path)


def test_tls_1_1_is_rejected(tmp_path: Path, authority: CertificateAuthority) -> None:
    issue(authority, tmp_path)
    old = trusting(authority)
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    with serving(ROUTES, tls=CertificateDirectory(tmp_path)) as server:
        with pytest.raises(ssl.SSLError):
            ask(server, "/hello", context=old)
        assert ask(server, "/hello", context=trusting(authority)).status == 200


def test_renegotiation_is_disabled(authority: CertificateAuthority) -> None:
    assert serving_context(b"".join(authority.server(["127.0.0.1"]))).options & ssl.OP_NO_RENEGOTIATION


def test_missing_handshakes_do_not_block_others(tmp_path: Path, authority: CertificateAuthority) -> None:
    issue(authority, tmp_path)
    limits = Limits(handshake=0.2)
    with serving(ROUTES, tls=CertificateDirectory(tmp_path), limits=limits) as server, raw(server) as silent:
        with raw(server) as plain:
            plain.sendall(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"HTTP/1.1" not in until_closed(plain)
        assert ask(server, "/hello", context=trusting(authority)).status == 200
        assert until_closed(silent) == b""


class Interrupted(ssl.SSLContext):
    """Context that runs a callback while it wraps a socket."""

    meanwhile: Callable[[], None]

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        wrapped = super().wrap_socket(*args, **options)
        self.meanwhile()
        return wrapped


def test_server_that_stops_during_a_handshake_waits_for_no_request(
    tmp_path: Path, authority: CertificateAuthority
) -> None:
    issue(authority, tmp_path)
    context = Interrupted(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")

    class Source:
        def context(self) -> ssl.SSLContext:
            return context

    with serving(ROUTES, tls=Source(), limits=Limits(idle=120.0)) as server:
        # Before a client connects: the server handles a connection as soon as it is there.
        context.meanwhile = server.stop
        # The client sees the end during the handshake or after it; that the block ends shows that nothing waits 120 s.
        with (
            raw(server) as sock,
            suppress(ssl.SSLEOFError, ConnectionResetError),
            trusting(authority).wrap_socket(sock, server_hostname="127.0.0.1", suppress_ragged_eofs=True) as tls,
        ):
            assert tls.recv(1) == b""


def test_self_signed_certificate_is_for_its_hosts() -> None:
    with serving(ROUTES, tls=serving_certificate(hosts=["metrics.example.svc"])) as server:
        pem = shown(server.port)
        trust = ssl.create_default_context(cadata=pem)
        assert ask(server, "/hello", context=trust).body == "hello"
        assert shown(server.port) == pem, "the same for every connection"
    names = x509.load_pem_x509_certificate(pem.encode()).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert {"metrics.example.svc", "localhost"} <= set(names.value.get_values_for_type(x509.DNSName))


def test_self_signed_certificate_is_renewed_early() -> None:
    clock = FakeClock()
    self_signed = SelfSigned(clock=clock)
    first = self_signed.context()
    clock.step(timedelta(days=182).total_seconds())
    assert self_signed.context() is first
    clock.step(timedelta(days=1).total_seconds())
    assert self_signed.context() is not first


def test_self_signed_certificate_is_valid_now() -> None:
    with serving(ROUTES, tls=SelfSigned()) as server:
        certificate = x509.load_pem_x509_certificate(shown(server.port).encode())
    now = utc(SYSTEM_CLOCK)
    assert certificate.not_valid_before_utc < now < certificate.not_valid_after_utc


@pytest.mark.e2e
def test_missing_library_is_reported_with_a_fix() -> None:
    program = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from clientgo.errors import ConfigError\n"
        "from clientgo.serving.certificates import serving_certificate\n"
        "try: serving_certificate()\n"
        "except ConfigError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == (
        "no serving certificate was given, and creating one requires cryptography, which is missing: "
        "specify a directory with tls.crt and tls.key, or pip install cryptography\n"
    )
