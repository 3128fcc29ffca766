"""Headers: credentials, user agent, impersonation and media types of requests, and warnings of responses.

The API server warns by the header `Warning`, code 299 (RFC 7234).
"""

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from clientgo.errors import CallbackFailed, ConfigError
from clientgo.internal.callbacks import run_callback
from clientgo.internal.patterns import lazy_pattern
from clientgo.log import get_logger
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.connections.http1 import is_header_value
from clientgo.rest.transport import Headers
from clientgo.version import VERSION

log = get_logger(__name__)

WarningHandler = Callable[[str], None]

_NAME_CHARACTERS = "!#$&'*+-.^_`|~"
"""Characters of names of headers besides letters and digits, but the percent sign, which begins an escape."""

_KEPT = 32


class MediaTypes(NamedTuple):
    """Media types of a request: of its body, empty without one, and of its response, which `watch` streams."""

    content_type: str
    accept: str
    watch: bool = False


media_types_of = lru_cache(_KEPT)(MediaTypes)
"""Return the `MediaTypes` of these values: a tuple that was made before, in a third of the time."""


_ARCH = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
_WARNING = lazy_pattern(r'(\d{3}) \S+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?')
_ESCAPE = lazy_pattern(r"\\(.)")
_REMEMBERED = 1000


class RequestHeaders:
    """The headers of one configuration's requests, cached for each kind of request and each credential.

    Raises:
        ConfigError: the user agent or the impersonated user contains invalid characters.
    """

    def __init__(self, config: Config, authorization: Callable[[], str]) -> None:
        self._authorization = authorization
        self._compressed = not config.disable_compression
        self._fixed = (("User-Agent", config.user_agent or default_user_agent()), *_impersonation(config.impersonate))
        for name, value in self._fixed:
            _check(name, value)
        self._headers: dict[tuple[str, MediaTypes], Headers] = {}

    def of(self, media_types: MediaTypes) -> Headers:
        """Return the current headers of a request; raise the errors of the credentials."""
        key = (self._authorization(), media_types)
        headers = self._headers.get(key)
        if headers is None:
            if len(self._headers) > _KEPT:
                self._headers.clear()  # tokens change about every hour
            headers = self._headers[key] = self._make(*key)
        return headers

    def _make(self, authorization: str, media_types: MediaTypes) -> Headers:
        content_type, accept, streamed = media_types
        headers = [("Accept", accept)]
        if authorization:
            headers.append(("Authorization", authorization))
        if content_type:
            headers.append(("Content-Type", content_type))
        # Watches stay uncompressed: servers compress streaming lists since 1.37, each event by itself.
        if not streamed and self._compressed:
            headers.append(("Accept-Encoding", "gzip"))
        return (*headers, *self._fixed)


def default_user_agent(path: str | None = None) -> str:
    """Return `<program>/<version> (<os>/<arch>) clientgo/<version>`, with Go's names of systems and architectures.

    The program is the one at `path`, or this one. It comes first because the API server uses the text before the slash
    as the default field manager: two programs must not share one.
    """
    script = Path(sys.argv[0] if path is None else path)
    name = script.parent.name if script.name == "__main__.py" else script.name.removesuffix(".py")
    program = re.sub(r"^-.*|[^A-Za-z0-9._-]", "", name) or "python"  # not a file: -c, -m
    machine = os.uname().machine if hasattr(os, "uname") else "unknown"
    return f"{program}/{VERSION} ({sys.platform}/{_ARCH.get(machine, machine)}) clientgo/{VERSION}"


def _check(name: str, value: str) -> str:
    if not is_header_value(value):
        raise ConfigError(f"invalid {name} {value!r}: expected text without control characters")
    return value


def _impersonation(who: Impersonation) -> Headers:
    headers = [("Impersonate-User", who.user)] if who.user else []
    if who.uid:
        headers.append(("Impersonate-Uid", who.uid))
    headers += [("Impersonate-Group", group) for group in who.groups]
    headers += [
        (f"Impersonate-Extra-{quote(_check('Impersonate-Extra', key), safe=_NAME_CHARACTERS)}", value)
        for key, values in who.extra.items()
        for value in values
    ]
    return tuple(headers)


def warnings_in(header: str) -> list[str]:
    """Return the non-empty texts with code 299, which Kubernetes uses; other codes are for caches."""
    return [_ESCAPE.sub(r"\1", text) for code, text in _WARNING.findall(header) if code == "299" and text]


def handle_warnings(handler: WarningHandler, headers: Mapping[str, str]) -> None:
    """Call the handler with the texts of a response's warnings; an error of the handler is logged."""
    for text in warnings_in(headers.get("warning", "")):
        try:
            run_callback(handler, text)
        except CallbackFailed as error:  # the request has succeeded
            log.error("the handler of warnings raised", extra={"warning": text, "err": error})


class WarningLogger:
    """Logs each text once; forgets the logged texts after a thousand."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def __call__(self, text: str) -> None:
        """Log `text` unless it was logged before."""
        if text in self._logged:
            return
        if len(self._logged) >= _REMEMBERED:
            self._logged.clear()
        self._logged.add(text)
        log.warning("API server warning", extra={"warning": text})


def no_warnings(text: str) -> None:
    """Ignore a warning."""
