"""One client's connection: uvicorn's protocol, which also knows whose certificate the client showed."""

import asyncio
from typing import Any

from clientgo.apiserver.auth.users import User, authenticated
from clientgo.apiserver.http.wire import Connection

_FAREWELL_SECONDS = 1.0


class TlsConnection(Connection):
    """Puts the user of the client's certificate into the `state` of each request's scope, as `user`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Read the certificate, which the handshake has checked."""
        super().connection_made(transport)
        user = user_of_certificate(transport.get_extra_info("peercert"))
        if user is not None:
            # A copy of it becomes the `state` of every request on this connection, and of no other.
            self.app_state = {**self.app_state, "user": user}

    def shutdown(self) -> None:
        """Close when what is being answered is answered, without waiting for the client's farewell.

        TLS waits for one, half a minute long, and a client that keeps an idle connection for later sends none.
        """
        super().shutdown()
        idle = self.cycle is None or self.cycle.response_complete
        self.loop.call_later(0 if idle else _FAREWELL_SECONDS, self.transport.abort)


def user_of_certificate(found: Any) -> User | None:
    """The user of a checked client certificate, as `SSLSocket.getpeercert` gives it, or None without one."""
    subject = [pair for part in (found or {}).get("subject", ()) for pair in part]
    name = next((value for key, value in subject if key == "commonName"), "")
    groups = [value for key, value in subject if key == "organizationName"]
    return authenticated(name, *groups) if name else None
