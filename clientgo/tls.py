"""TLS contexts: certificate authorities by Go's rules (crypto/x509), key pairs from memory, sockets that never leak."""

import errno
import os
import re
import socket
import ssl
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError

if not hasattr(os, "memfd_create"):  # macOS; elsewhere nothing needs its compressions
    import tempfile

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII)


class TLSSocket(ssl.SSLSocket):
    """A TLS socket that is closed if its peer resets the connection before the handshake.

    `ssl.SSLSocket` stays open in that case, unreachable for its user (CPython 3.11 to 3.14).
    """

    def getpeername(self) -> Any:
        """Return the peer's address; raise `ConnectionResetError` and close the socket if there is none."""
        try:
            return super().getpeername()
        except OSError as error:
            if self.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                raise  # a listener, whose connections are TLS ones
            self.close()
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)) from error


def client_context(authorities: str, *, verify: bool = True) -> ssl.SSLContext:
    """Return a context that trusts the certificates in PEM text, or the machine's own if the text is empty.

    Without `verify` it accepts any certificate, and reads no authorities: the machine's own take 15 ms to load.

    Raises:
        ValueError: the text contains no certificate.
    """
    # Not ssl.create_default_context: from Python 3.13 on it rejects authorities without a key identifier, which many
    # clusters have and Go accepts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = TLSSocket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authorities:
        add_authorities(context, authorities)
    else:
        context.load_default_certs()
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def add_authorities(context: ssl.SSLContext, pem: str) -> None:
    """Trust each certificate in PEM text, roots and intermediates alike; skip other text.

    Raises:
        ValueError: the text contains no certificate.
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    added = 0
    # One by one and without the text around them: OpenSSL's binding takes ASCII alone, and would reject a whole bundle
    # for one certificate that it cannot parse.
    for block in _CERTIFICATE.findall(pem):
        try:
            context.load_verify_locations(cadata=block)
            added += 1
        except ssl.SSLError:
            continue  # as Go does; without any usable certificate the bundle is rejected below
    if not added:
        raise ValueError("no PEM certificate found")


def server_context(pem: bytes) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or later that shows the certificate chain in `pem`, which holds its key as well.

    Raises:
        ssl.SSLError: they are not PEM, or not of each other.
        ConfigError: the key is encrypted.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslsocket_class = TLSSocket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    load_key_pair(context, pem)
    return context


def load_key_pair(context: ssl.SSLContext, pem: bytes) -> None:
    """Let the context show this certificate chain from now on; `pem` holds its key as well.

    Raises:
        ssl.SSLError: they are not PEM, or not of each other.
        ConfigError: the key is encrypted.
    """
    # OpenSSL's Python binding takes a key from a file only. One in memory is never on a disk and needs no writable one.
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key-pair")
        try:
            os.write(descriptor, pem)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pair.pem"
        path.touch(mode=0o600)
        path.write_bytes(pem)
        context.load_cert_chain(path, password=_no_password)


def _no_password() -> str:
    # Without this, OpenSSL would stop the program and ask on its terminal.
    raise ConfigError("the key is encrypted; use a key without a passphrase")
