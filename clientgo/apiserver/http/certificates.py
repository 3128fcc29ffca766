"""The certificates of a server with TLS: its authority, its own, and those of its clients, renewed while it runs."""

import ssl
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from clientgo.apiserver.storage.journal import DataUnusable, load_or_create_key
from clientgo.errors import ConfigError
from clientgo.tls import add_authorities, load_key_pair, server_context

WEEK = timedelta(days=7)
_FILE, _NAME = "ca.pem", "clientgo-embedded-ca"


class ServingCertificates:
    """Signs by an authority of its own, which is kept in `folder` where one is named. `context` is the server's.

    Raises:
        DataUnusable: the folder can't be read or written, or what is kept there is no authority.
    """

    def __init__(self, hosts: Iterable[str], folder: Path | None = None) -> None:
        """`hosts` are the names and addresses under which the server is reached."""
        # Loaded here: it costs a tenth of a second that a server without TLS does not wait for.
        from clientgo.pki import CertificateAuthority  # noqa: PLC0415

        self._create = CertificateAuthority.create
        self._hosts = tuple(hosts)
        pem = load_or_create_key(folder, _FILE, lambda: self._create(_NAME).pem)
        try:
            self._authority = CertificateAuthority(pem, pem)
        except ConfigError as error:
            raise DataUnusable(f"the data in {folder} is damaged ({_FILE}: {error}): restore it") from error
        self.context: ssl.SSLContext = server_context(b"".join(self._authority.server(self._hosts)))
        # A client may show a certificate signed by the authority, or none.
        add_authorities(self.context, self.ca.decode())
        self.context.verify_mode = ssl.CERT_OPTIONAL

    def __repr__(self) -> str:
        return f"<ServingCertificates for {', '.join(self._hosts)}>"

    @property
    def ca(self) -> bytes:
        """The authority's certificate (PEM): what trusts the server."""
        return self._authority.certificate

    def keep(self, folder: Path) -> None:
        """Keep the authority in another folder, too.

        Raises:
            DataUnusable: the folder can't be written.
        """
        load_or_create_key(folder, _FILE, lambda: self._authority.pem)

    def client(self, name: str, groups: Iterable[str] = (), lasts: timedelta = WEEK) -> tuple[bytes, bytes]:
        """A certificate and its key (PEM) by which a client is this user; expired where `lasts` is negative."""
        return self._authority.client(name, groups, lasts)

    def renew(self, lasts: timedelta = WEEK) -> None:
        """Show another certificate to whoever connects from now on; an expired one where `lasts` is negative."""
        load_key_pair(self.context, b"".join(self._authority.server(self._hosts, lasts)))

    def replace_authority(self) -> None:
        """Sign by another authority from now on, and show its certificate; clients of the old one are still known."""
        self._authority = self._create(_NAME)
        add_authorities(self.context, self.ca.decode())
        self.renew()
