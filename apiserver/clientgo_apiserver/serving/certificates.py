"""The certificates of a server with TLS: its authority, its own, and those of its clients, renewed while it runs."""

import ssl
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.tls import add_authorities, load_key_pair, server_context
from clientgo_apiserver.storage.sqlite import DataUnusable, load_or_create_key

WEEK = timedelta(days=7)
_FILE, _NAME = "ca.pem", "clientgo-embedded-ca"


class ServingCertificates:
    """Certificates of the server and its clients, signed by its own CA, which is stored in `folder` if given.

    `context` is the server's TLS context.

    Raises:
        DataUnusable: the directory cannot be read or written, or its CA is damaged.
    """

    def __init__(self, hosts: Iterable[str], folder: Path | None = None) -> None:
        """Create a certificate for these host names and addresses."""
        # Imported here: it costs a tenth of a second that only servers with TLS need.
        from clientgo.pki import CertificateAuthority  # noqa: PLC0415

        self._create = CertificateAuthority.create
        self._hosts = tuple(hosts)
        pem = load_or_create_key(folder, _FILE, lambda: self._create(_NAME).pem)
        try:
            self._authority = CertificateAuthority(pem, pem)
        except ConfigError as error:
            raise DataUnusable(f"the data in {folder} is damaged ({_FILE}: {error}): restore it") from error
        self.context: ssl.SSLContext = server_context(b"".join(self._authority.server(self._hosts)))
        # A client may present a certificate of the CA, or none.
        add_authorities(self.context, self.ca.decode())
        self.context.verify_mode = ssl.CERT_OPTIONAL

    @property
    def ca(self) -> bytes:
        """Certificate (PEM) of the CA."""
        return self._authority.certificate

    def keep(self, folder: Path) -> None:
        """Store the CA in another directory, too.

        Raises:
            DataUnusable: the directory cannot be written.
        """
        load_or_create_key(folder, _FILE, lambda: self._authority.pem)

    def client(self, name: str, groups: Iterable[str] = (), lasts: timedelta = WEEK) -> tuple[bytes, bytes]:
        """Return a client certificate and key (PEM) of this user; expired if `lasts` is negative."""
        return self._authority.client(name, groups, lasts)

    def renew(self, lasts: timedelta = WEEK) -> None:
        """Serve new connections with a new certificate; an expired one if `lasts` is negative."""
        load_key_pair(self.context, b"".join(self._authority.server(self._hosts, lasts)))

    def replace_authority(self) -> None:
        """Replace the CA and the server's certificate; clients of the old CA are still accepted."""
        self._authority = self._create(_NAME)
        add_authorities(self.context, self.ca.decode())
        self.renew()
