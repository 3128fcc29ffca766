"""Self-signed serving certificate, generated in memory and renewed before it expires.

It encrypts, and authenticates nothing: clients must skip verification. controller-runtime does the same if no
certificate is given. Importing this module requires `cryptography` (the extra `secure-serving`).
"""

import socket
import ssl
import threading
from collections.abc import Iterable
from datetime import timedelta

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.pki import self_signed
from clientgo.serving.certificates import serving_context

_LIFETIME = timedelta(days=365)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class SelfSigned:
    """TLS source with a self-signed certificate for `hosts` and this machine's names, renewed every half year."""

    def __init__(self, hosts: Iterable[str] = (), *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._hosts = tuple(dict.fromkeys((*hosts, *_LOCAL_HOSTS, socket.gethostname())))
        self._clock = clock
        self._lock = threading.Lock()
        self._context: ssl.SSLContext | None = None
        self._renew_at = 0.0

    def __repr__(self) -> str:
        return f"<SelfSigned {', '.join(self._hosts)}>"

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        # Generated under the lock: it takes a few milliseconds twice a year, and one thread must do it.
        with self._lock:
            if self._context is None or self._clock.time() >= self._renew_at:
                pem = self_signed("clientgo-self-signed", self._hosts, _LIFETIME, clock=self._clock)
                self._context = serving_context(pem)
                self._renew_at = self._clock.time() + _LIFETIME.total_seconds() / 2
            return self._context
