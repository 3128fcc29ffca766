"""Answers of fakes to commands in pods: a connection that carries the result of a command."""

from collections.abc import Mapping

import msgspec
from websocket import ABNF

from clientgo import streams
from clientgo.errors import ConnectionFailed, Status, StatusCause, StatusDetails
from clientgo.rest.transport import Headers


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
        frames = [_frame(ABNF.OPCODE_BINARY, bytes((channel,)) + data) for channel, data in messages]
        self._unread = b"".join([*frames, _frame(ABNF.OPCODE_CLOSE, (1000).to_bytes(2, "big"))])

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
    return ABNF(fin=1, opcode=opcode, mask_value=0, data=data).format()  # a server masks none


def _status(code: int) -> bytes:
    if not code:
        return msgspec.json.encode(Status(status="Success"))
    details = StatusDetails(causes=(StatusCause(reason="ExitCode", message=str(code)),))
    return msgspec.json.encode(Status(status="Failure", reason="NonZeroExitCode", details=details))
