"""Client credentials: the Authorization header, and client certificates from credential plugins.

Each request uses the current credentials. A token file is read again every minute, because the kubelet replaces a pod's
token in place; a plugin runs again when its credential expires or the server rejects it.
"""

import base64
import threading
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConfigError, ConnectionFailed
from clientgo.internal import forks
from clientgo.log import get_logger, register_secret
from clientgo.rest.auth_plugins import REREAD_SECONDS, Credential, DelegatedSource, one_line
from clientgo.rest.bounds import read_file
from clientgo.rest.config import ClientCertificate, Config
from clientgo.rest.limits import current_request, wait_for
from clientgo.stop.lifecycle import Detached, Group

log = get_logger(__name__)

LEEWAY_SECONDS = 10.0
"""Seconds before its expiry at which a credential is renewed (client-go's transport/token_source)."""


class Credentials:
    """Credentials of one client, which never change; subclasses renew theirs. Thread-safe."""

    def __init__(self, authorization: str = "") -> None:
        self._authorization = authorization

    def __repr__(self) -> str:
        return f"<Credentials {self._authorization.partition(' ')[0] or 'nothing'}>"

    def authorization(self) -> str:
        """Return the current value of the Authorization header; empty for none."""
        return self._authorization

    def certificate(self) -> ClientCertificate | None:
        """Return the client certificate that a plugin provided, if any."""
        return None

    def rejected(self) -> bool:
        """Handle a 401 to a request of this thread; return whether the request may be sent again with others."""
        return False

    def close(self) -> None:
        """End what no request waits for."""


def credentials_for(config: Config, clock: Clock = SYSTEM_CLOCK) -> Credentials:
    """Return the credentials of a configuration; raise `ConfigError` if a token file cannot be read."""
    register_secret(config.token, config.password)
    if config.token_file:
        return TokenFile(config.token_file, initial=config.token, clock=clock)
    if config.token:
        return Credentials(f"Bearer {one_line(config.token)}")
    if config.username:
        pair = base64.b64encode(f"{config.username}:{config.password}".encode()).decode()
        register_secret(pair)
        return Credentials(f"Basic {pair}")
    if config.delegated is not None:
        return Renewing(DelegatedSource(config, config.delegated, clock), clock=clock)
    return Credentials()


class TokenFile(Credentials):
    """A token in a file, read again every minute; while the file cannot be read, the last token stays in use.

    The thread that calls `rejected` after a 401 must be the one that called `authorization` for that request.
    """

    def __init__(self, path: str, *, initial: str = "", clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(f"Bearer {one_line(initial)}" if initial else "")
        self._path = path
        self._clock = clock
        self._renew_at = 0.0
        self._sent = threading.local()
        self._read()

    def __repr__(self) -> str:
        return f"<TokenFile {self._path}>"

    def authorization(self) -> str:
        """Return the header with the file's token, read at most a minute ago if that succeeded."""
        # Without a lock: two threads that both find it expired read the same file.
        if self._clock.now() >= self._renew_at:
            self._read()
        self._sent.authorization = current = self._authorization
        return current

    def rejected(self) -> bool:
        """Read the file again, unless another thread has; return whether it has another token than was sent."""
        sent = getattr(self._sent, "authorization", None)
        if sent == self._authorization:
            self._read()
        return sent != self._authorization

    def _read(self) -> None:
        self._renew_at = self._clock.now() + REREAD_SECONDS - LEEWAY_SECONDS
        try:
            token = one_line(read_file(self._path).decode())
        except (OSError, ValueError, ConfigError) as error:
            if not self._authorization:
                raise ConfigError(f"cannot read the token file {self._path}: {error}") from error
            log.warning(
                "cannot read the token file; keeping the previous token", extra={"path": self._path, "err": error}
            )
            return
        register_secret(token)
        if token != self._authorization.partition(" ")[2]:
            self._authorization = f"Bearer {token}"


class CredentialSource(Protocol):
    """A source of credentials, which may be slow."""

    def fetch(self) -> Credential:
        """Return a new credential; raise `ConfigError` if that fails."""


class Renewing(Credentials):
    """A credential fetched at first use, and again when it expires or is rejected; requests share one fetch.

    The thread that calls `rejected` after a 401 must be the one that called `authorization` for that request.
    """

    def __init__(self, source: CredentialSource, *, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__()
        self._source = source
        self._clock = clock
        self._group = Group()
        self._lock = forks.fork_safe(threading.Lock())
        # Written under _lock. The fetch in progress, and how many threads wait for it:
        self._fetching: Detached[Credential] | None = None
        self._waiting = 0
        self._current: Credential | None = None
        self._rejected: Credential | None = None
        self._failures = 0
        self._failure = ""
        self._sent = threading.local()
        forks.register(self)

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
        """Let the next request fetch a credential, unless the one that was sent has been replaced since."""
        # As in client-go (maybeRefreshCreds): a late 401 for the previous credential does not reject the current one.
        if getattr(self._sent, "credential", None) is self._current:
            self._rejected = self._current
        return True

    def after_fork(self) -> None:
        """Leave a fetch in progress to the parent process."""
        self._fetching = None

    def _fresh(self) -> Credential:
        current, failures = self._current, self._failures
        if current is not None and not self._is_old(current):
            return current
        with self._lock:
            current = self._current
            if current is not None and not self._is_old(current):
                return current
            if failures != self._failures:  # another thread's fetch failed meanwhile
                raise self._failed()
            fetching = self._fetching or self._begin()
            self._waiting += 1
        try:
            return wait_for(fetching)
        except ConfigError as error:
            raise self._failed() from error
        except TimeoutError as error:
            raise ConnectionFailed("the credential was not fetched in time", sent=False, timeout=True) from error
        finally:
            self._leave(fetching)

    def _begin(self) -> Detached[Credential]:
        # In a thread of its own: a plugin runs once and not once per request, and a request that is stopped need not
        # wait for it.
        fetching: Detached[Credential] = Detached(lambda: self._fetch(fetching), name="credentials")
        self._fetching, self._waiting = fetching, 0
        self._group.start(fetching.run, name=fetching.name)
        return fetching

    def _leave(self, fetching: Detached[Credential]) -> None:
        with self._lock:
            if self._fetching is not fetching:  # it has ended
                return
            self._waiting -= 1
        # A request that ran out of time leaves the fetch to the next one: a plugin may take longer than each of them.
        current_request().at_stop(self, self.close)

    def close(self) -> None:
        """Cancel a fetch that no request waits for."""
        with self._lock:
            fetching = None if self._waiting else self._fetching
            if fetching is not None:
                self._fetching = None
        if fetching is not None:
            fetching.cancel()

    def _is_old(self, current: Credential) -> bool:
        expires = current.expires
        return current is self._rejected or (expires is not None and self._clock.time() >= expires - LEEWAY_SECONDS)

    def _fetch(self, fetching: Detached[Credential]) -> Credential:
        credential, failure = None, ""
        try:
            credential = self._source.fetch()
            register_secret(credential.authorization.partition(" ")[2])
            return credential
        except ConfigError as error:
            failure = str(error)
            raise
        finally:
            with self._lock:
                if self._fetching is fetching:  # not cancelled
                    self._fetching = None
                    self._current = credential or self._current
                    if failure:
                        self._failures += 1
                        self._failure = failure

    def _failed(self) -> ClientGoError:
        if self._current is None:
            return ConfigError(self._failure)
        # It worked before, so it may work again: callers retry this error.
        return ConnectionFailed(self._failure, sent=False)
