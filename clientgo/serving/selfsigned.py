"""A serving certificate that nobody else signed: made in memory when it is first wanted, and again before it ends.

It encrypts, and proves nothing: who asks must not check it, or be given another. That is what controller-runtime does
where no certificate is given. Importing this needs `cryptography` (the extra `secure-serving`).
"""

import socket
import ssl
import threading
from collections.abc import Iterable
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.pki import begun, general_name, private_pem
from clientgo.serving.certificates import serving_context

_VALID = timedelta(days=365)
_HERE = ("localhost", "127.0.0.1", "::1")


class SelfSigned:
    """Serves with a certificate of its own for `hosts` and this machine's names, renewed at half of its year."""

    def __init__(self, hosts: Iterable[str] = (), *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._hosts = tuple(dict.fromkeys((*hosts, *_HERE, socket.gethostname())))
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._until = 0.0

    def __repr__(self) -> str:
        return f"<SelfSigned {', '.join(self._hosts)}>"

    def context(self) -> ssl.SSLContext:
        """The context to serve a new connection with."""
        # Made under the lock: it takes a few milliseconds twice a year, and two would be one too many.
        with self._lock:
            if self._context is None or self._clock.time() >= self._until:
                self._context = serving_context(self._make())
                self._until = self._clock.time() + _VALID.total_seconds() / 2
            return self._context

    def _make(self) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "clientgo-self-signed")])
        names = x509.SubjectAlternativeName([general_name(host) for host in self._hosts])
        builder = begun(name, name, key.public_key(), utc(self._clock), _VALID)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM) + private_pem(key)
