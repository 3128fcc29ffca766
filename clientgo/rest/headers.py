"""Request headers: credentials, user agent, impersonation, media types."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.rest.config import Config, Impersonation
from clientgo.rest.connections.http1 import is_header_value
from clientgo.rest.transport import Headers
from clientgo.rest.urls import query_string
from clientgo.version import VERSION

MediaTypes = tuple[str, str, bool]
"""Content-Type of the body (empty without a body), accepted media types, and whether the response is streamed."""

_ARCH = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}
_KEPT = 32


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

    def of(self, kinds: MediaTypes) -> Headers:
        """Return the current headers of a request; raise the errors of the credentials."""
        key = (self._authorization(), kinds)
        headers = self._headers.get(key)
        if headers is None:
            if len(self._headers) > _KEPT:
                self._headers.clear()  # tokens change about every hour
            headers = self._headers[key] = self._make(*key)
        return headers

    def _make(self, authorization: str, kinds: MediaTypes) -> Headers:
        content_type, accept, streamed = kinds
        headers = [("Accept", accept)]
        if authorization:
            headers.append(("Authorization", authorization))
        if content_type:
            headers.append(("Content-Type", content_type))
        # API servers compress responses above 128 KiB, never watches.
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
        (f"Impersonate-Extra-{query_string({'': _check('Impersonate-Extra', key)})[1:]}", value)
        for key, values in who.extra.items()
        for value in values
    ]
    return tuple(headers)
