"""Who we say we are: the Authorization header, and client certificates that a plugin hands out.

Credentials are asked for at every request and renew themselves: a token file is read again every minute (the kubelet
replaces a pod's token in place), a plugin's credential when it runs out or the server refuses it.
"""

import base64
import logging
import threading
from pathlib import Path
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConfigError, ConnectionFailed
from clientgo.log import register_secret
from clientgo.rest.auth_plugins import REREAD_SECONDS, Credential, DelegatedSource, one_line
from clientgo.rest.config import ClientCertificate, Config

log = logging.getLogger(__name__)

LEEWAY_SECONDS = 10.0
"""How long before it runs out a credential is renewed (client-go's transport/token_source)."""


class Credentials(Protocol):
    """Proves who asks; safe for any number of threads."""

    def authorization(self) -> str:
        """The Authorization header's value now; empty for none."""

    def certificate(self) -> ClientCertificate | None:
        """The client certificate handed out by a plugin, if one was."""

    def rejected(self) -> bool:
        """Take note that the server answered 401; return whether the next request may prove something new."""


def credentials_for(config: Config, clock: Clock = SYSTEM_CLOCK) -> Credentials:
    """The credentials a configuration asks for; raises `ConfigError` when a token file can't be read."""
    register_secret(config.token, config.password)
    if config.token_file:
        return TokenFile(config.token_file, initial=config.token, clock=clock)
    if config.token:
        return Static(f"Bearer {one_line(config.token)}")
    if config.username:
        pair = base64.b64encode(f"{config.username}:{config.password}".encode()).decode()
        register_secret(pair)
        return Static(f"Basic {pair}")
    if config.delegated is not None:
        return Renewing(DelegatedSource(config, config.delegated, clock), clock=clock)
    return Static("")


class Static:
    """A credential that never changes."""

    def __init__(self, authorization: str) -> None:
        self._authorization = authorization

    def __repr__(self) -> str:
        return f"<Static {self._authorization.partition(' ')[0] or 'nothing'}>"

    def authorization(self) -> str:
        """Always the same."""
        return self._authorization

    def certificate(self) -> ClientCertificate | None:
        """None: certificates of a configuration belong to its TLS."""
        return None

    def rejected(self) -> bool:
        """Nothing new is to be had."""
        return False


class TokenFile:
    """The token in a file, read again every minute; what was read last stays good while the file can't be read."""

    def __init__(self, path: str, *, initial: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        self._path = path
        self._clock = clock
        self._authorization = f"Bearer {one_line(initial)}" if initial else ""
        self._renew_at = 0.0
        self._read()

    def __repr__(self) -> str:
        return f"<TokenFile {self._path}>"

    def authorization(self) -> str:
        """The token as the file has it, at most a minute old."""
        # Without a lock: two threads that both find it old both read it, and both get it right.
        if self._clock.now() >= self._renew_at:
            self._read()
        return self._authorization

    def certificate(self) -> ClientCertificate | None:
        """None: a token file holds no certificate."""
        return None

    def rejected(self) -> bool:
        """Read the file again at the next request; it may have been replaced."""
        self._renew_at = self._clock.now()
        return False

    def _read(self) -> None:
        self._renew_at = self._clock.now() + REREAD_SECONDS - LEEWAY_SECONDS
        try:
            token = one_line(Path(self._path).read_text(encoding="utf-8"))
        except (OSError, ValueError, ConfigError) as error:
            if not self._authorization:
                raise ConfigError(f"the token file {self._path} can't be read: {error}") from error
            log.warning("token file can't be read; keeping the former token", extra={"path": self._path, "err": error})
            return
        register_secret(token)
        if token != self._authorization.partition(" ")[2]:
            self._authorization = f"Bearer {token}"


class CredentialSource(Protocol):
    """Hands out a credential on demand, perhaps slowly."""

    def fetch(self) -> Credential:
        """A fresh credential; raises `ConfigError`."""


class Renewing:
    """A credential fetched at first use, and again when it runs out or is refused; one thread fetches, others wait.

    A thread that answers a 401 with `rejected` must be the one that asked for the request's `authorization`.
    """

    def __init__(self, source: CredentialSource, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._current: Credential | None = None
        self._refused: Credential | None = None
        self._failures = 0
        self._failure = ""
        self._sent = threading.local()

    def __repr__(self) -> str:
        return f"<Renewing {'fetched' if self._current else 'not fetched'}>"

    def authorization(self) -> str:
        """Return the credential's header; raise `ConfigError` at first, later `ConnectionFailed`, if that fails."""
        self._sent.credential = current = self._fresh()
        return current.authorization

    def certificate(self) -> ClientCertificate | None:
        """Return the credential's certificate, if it has one."""
        return self._fresh().certificate

    def rejected(self) -> bool:
        """Fetch again at the next request, unless the credential that was sent has been replaced since."""
        # As in client-go (maybeRefreshCreds): late answers to the former credential say nothing of the present one.
        if getattr(self._sent, "credential", None) is not self._current:
            return False
        self._refused = self._current
        return True

    def _fresh(self) -> Credential:
        current, failures = self._current, self._failures
        if current is not None and not self._is_old(current):
            return current
        # The lock is held while fetching, on purpose: a plugin must run once, not once a thread.
        with self._lock:
            current = self._current
            if current is not None and not self._is_old(current):
                return current
            if failures != self._failures:  # one that began while this thread waited
                raise self._failed()
            self._current = current = self._fetch()
            return current

    def _is_old(self, current: Credential) -> bool:
        expires = current.expires
        return current is self._refused or (expires is not None and self._clock.time() >= expires - LEEWAY_SECONDS)

    def _fetch(self) -> Credential:
        try:
            credential = self._source.fetch()
        except ConfigError as error:
            self._failures += 1
            self._failure = str(error)
            raise self._failed() from error
        register_secret(credential.authorization.partition(" ")[2])
        return credential

    def _failed(self) -> ClientGoError:
        if self._current is None:
            return ConfigError(self._failure)
        # It worked before, so it may again: callers retry this one.
        return ConnectionFailed(self._failure, sent=False)
