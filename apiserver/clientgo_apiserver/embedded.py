"""Server for the process that starts it, and for programs on the same machine."""

import secrets
from collections.abc import Iterable
from dataclasses import fields
from functools import partial

from clientgo.clock import Clock
from clientgo.errors import ConfigError
from clientgo_apiserver.api.conditions import is_true
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.api.users import ADMIN, authenticated
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.options import BundledOptions
from clientgo_apiserver.server import ApiServer
from clientgo_apiserver.storage.keys import DEFINITIONS
from clientgo_apiserver.storage.sqlite import DataUnusable, load_or_create_key

_TOKEN = "admin.token"  # nosec B105  # a file's name

_TURNS = 100
"""Turns of the server's loop after which a definition whose names are free is established, with a margin."""


class EmbeddedServer(ApiServer):
    """Server with an administrator, whose bearer token is `token`; without `secure` it serves everyone."""

    token = ""  # nosec B105  # set by `start`

    @classmethod
    def on_port(cls, options: BundledOptions, clock: Clock) -> "EmbeddedServer":
        """Return a server with these options that has not been started."""
        return cls(**{option.name: getattr(options, option.name) for option in fields(BundledOptions)}, clock=clock)

    def start(self) -> None:
        """Start serving; return when requests are answered.

        Raises:
            OSError: the port is in use, or the audit file cannot be written.
            DataUnusable: the data directory cannot be read or written, or is in use.
        """
        if self._options.secure and not self.token:
            secret = load_or_create_key(self._data_dir, _TOKEN, lambda: _random_token().encode())
            self.token = secret.decode(errors="replace")
            if not (self.token.isascii() and self.token.isprintable()):
                path = f"{self._data_dir}/{_TOKEN}"
                raise DataUnusable(f"{path} is damaged: restore it, or delete it to have a new token created")
            self.add_user(self.token, ADMIN)
        super().start()

    def new_token(self, name: str, *groups: str) -> str:
        """Return a new bearer token of the user `name`, a member of these groups."""
        token = _random_token()
        self.add_user(token, authenticated(name, *groups, uid=name))
        return token

    def install(self, definitions: Iterable[Object]) -> None:
        """Create these CustomResourceDefinitions, or replace existing ones, and wait until their kinds are served.

        Raises:
            ApiFailure: one is invalid.
            ConfigError: the names of one are in use.
        """
        for definition in definitions:
            self.run(partial(_install, definition))
            name = definition["metadata"]["name"]
            if not any(self.run(partial(_is_established, name)) for _ in range(_TURNS)):
                raise ConfigError(f"CRD {name} is not established: its names are in use")


def _random_token() -> str:
    # Hexadecimal: programs parse an argument that begins with a dash as an option.
    return secrets.token_hex(32)


def _install(definition: Object, api: Api) -> None:
    internal = Internal(api, manager="clientgo-apiserver")
    try:
        internal.create(DEFINITIONS, "", definition)
    except ApiFailure as failure:
        if failure.reason != "AlreadyExists":
            raise
        metadata = definition["metadata"]
        described = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
        patch = [{"op": "add", "path": f"/metadata/{key}", "value": value} for key, value in described.items()]
        patch.append({"op": "replace", "path": "/spec", "value": definition["spec"]})
        internal.patch(DEFINITIONS, "", metadata["name"], patch, kind="json")


def _is_established(name: str, api: Api) -> bool:
    return is_true(api.state.store.get(DEFINITIONS, "", name), "Established")
