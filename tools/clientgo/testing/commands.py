"""Answers of fakes to commands in pods: a connection that carries the result of a command."""

from collections.abc import Mapping

import msgspec

from clientgo import streams
from clientgo.errors import ConnectionFailed, Status, StatusCause, StatusDetails
from clientgo.rest.transport import Headers

_BINARY, _CLOSE = 2, 8
_SHORT, _LONG = 126, 1 << 16


class AnsweredCommand:
    """The server's side of a command that has ended, with any input. Implements `Duplex`."""

    status = 101

    def __init__(self, result: "streams.CommandResult", headers: Headers) -> None:
        requested = dict(headers)
        self.headers: Mapping[str, str] = {
            "sec-websocket-accept": streams.accept_key(requested["Sec-WebSocket-Key"]),
            "sec-websocket-protocol": requested["Sec-WebSocket-Protocol"].partition(",")[0],
        }
        self.closed = False
        messages = ((1, result.stdout), (2, result.stderr), (3, _status(result.exit_code)))
        self._unread = b"".join(_frame(_BINARY, bytes((channel,)) + data) for channel, data in messages)
        self._unread += _frame(_CLOSE, (1000).to_bytes(2, "big"))

    def __repr__(self) -> str:
        return f"<AnsweredCommand{' closed' if self.closed else ''}>"

    def receive(self, timeout: float | None) -> bytes:
        """Return the whole result, then nothing."""
        self._check()
        data, self._unread = self._unread, b""
        return data

    def send(self, data: bytes) -> None:
        """Drop the input."""
        self._check()

    post = send

    def close(self) -> None:
        """Record the call in `closed`."""
        self.closed = True

    def _check(self) -> None:
        if self.closed:
            raise ConnectionFailed("the connection was closed by this program", broken=False)


def _frame(opcode: int, data: bytes) -> bytes:
    size = len(data)
    if size < _SHORT:
        length = bytes((size,))
    elif size < _LONG:
        length = bytes((126,)) + size.to_bytes(2, "big")
    else:
        length = bytes((127,)) + size.to_bytes(8, "big")
    return bytes((0x80 | opcode,)) + length + data


def _status(code: int) -> bytes:
    if not code:
        return msgspec.json.encode(Status(status="Success"))
    details = StatusDetails(causes=(StatusCause(reason="ExitCode", message=str(code)),))
    return msgspec.json.encode(Status(status="Failure", reason="NonZeroExitCode", details=details))
