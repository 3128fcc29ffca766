"""TLS contexts: sockets whose peers are gone before the handshake."""

import os
import select
import socket
import ssl

import pytest

from clientgo.tls import TLSSocket, client_context

RESET = b"\x01\x00\x00\x00\x00\x00\x00\x00"
"""For SO_LINGER: close by a reset."""


@pytest.mark.integration
@pytest.mark.parametrize("server_side", [False, True])
def test_socket_that_was_reset_before_the_handshake_is_closed(server_side: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server_side else ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = TLSSocket
    with socket.create_server(("127.0.0.1", 0)) as listener:
        local = socket.create_connection(listener.getsockname())
        existing, _ = listener.accept()
        existing.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        existing.close()
        assert select.select([local], [], [], 10)[0], "the reset has arrived"
        number = local.fileno()
        before = os.fstat(number).st_ino
        with pytest.raises(ConnectionResetError, match="reset by peer"):
            context.wrap_socket(local, server_side=server_side, server_hostname=None if server_side else "localhost")
        assert inode(number) != before


def inode(number: int) -> int | None:
    """Return the inode behind a file descriptor, or None if it is closed."""
    try:
        return os.fstat(number).st_ino
    except OSError:
        return None


@pytest.mark.parametrize("authorities", ["", "not PEM, which would be rejected"], ids=["the machine's", "given"])
def test_context_that_verifies_nothing_reads_no_authorities(authorities: str) -> None:
    context = client_context(authorities, verify=False)
    assert context.cert_store_stats()["x509"] == 0
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
