"""Processes in containers: their input and output, the size of their terminal, and their exit code."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, Self

import msgspec

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConnectionFailed, Status, api_error, decode_status
from clientgo.rest.limits import Deadline, started_deadline
from clientgo.rest.request import Request, Requester
from clientgo.rest.transport import IdleTimeout
from clientgo.stop.lifecycle import Detached, Group
from clientgo.streams.channels import ERROR, RESIZE, STDERR, STDIN, STDOUT, ChannelSocket, open_channels

LINGER_SECONDS = 1.0
"""Seconds that the peer has to close the connection once it has sent the exit status."""

INPUT_SECONDS = 0.5
"""Seconds that `close` waits for the iteration over the input, which it cannot interrupt."""

MAX_STATUS = 1024 * 1024
"""Maximum bytes of an exit status."""

_NAMES: dict[int, Literal["stdout", "stderr"]] = {STDOUT: "stdout", STDERR: "stderr"}


class OutputPiece(NamedTuple):
    """Bytes that a process printed; a terminal has no `stderr`."""

    stream: Literal["stdout", "stderr"]
    data: bytes


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit code and output of a command that has ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    def check(self) -> Self:
        """Return the result itself; raise `CommandFailed` unless the exit code is 0."""
        if not self.exit_code:
            return self
        lines = (self.stderr or self.stdout).decode(errors="replace").strip().splitlines()
        detail = f": {lines[-1][:200]}" if lines else ""
        raise CommandFailed(f"command ended with exit code {self.exit_code}{detail}", self)


class CommandFailed(ClientGoError):
    """A command ended with an exit code other than 0."""

    def __init__(self, message: str, result: CommandResult) -> None:
        super().__init__(message)
        self.result = result


class RemoteProcess:
    """A process in a container. Use it in a `with` block, whose end closes the connection.

    Iterating returns the output as it arrives, and ends with the process. A connection that ends before is an error:
    `ConnectionFailed`. One thread reads; others may write, resize and close. `has_input` is whether it was started with
    an input.
    """

    def __init__(
        self, channels: ChannelSocket, *, name: str = "process", has_input: bool = False, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.name = name
        self.exit_code: int | None = None
        """The exit code of the process; None as long as it runs."""
        self._channels = channels
        self._input_is_open = has_input
        self._clock = clock
        self._error = bytearray()
        self._status = Status()
        self._lingers_until = math.inf
        self._threads = Group()
        self._input: Detached[None] | None = None

    def __repr__(self) -> str:
        state = "running" if self.exit_code is None else f"ended with {self.exit_code}"
        return f"<RemoteProcess {self.name} {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[OutputPiece]:
        while (piece := self.read()) is not None:
            yield piece

    def read(self, timeout: float | None = None) -> OutputPiece | None:
        """Return the next output; None once the process has ended.

        Raises:
            IdleTimeout: there is none within `timeout` seconds; the next call may return it.
            ConnectionFailed: the connection was lost.
            ApiError: the command could not be run.
        """
        deadline = started_deadline(timeout, self._clock)
        while (received := self._receive(deadline)) is not None:
            channel, data = received
            if channel in _NAMES and data:
                return OutputPiece(_NAMES[channel], data)
            if channel == ERROR:
                self._error += data
                if len(self._error) > MAX_STATUS:
                    raise ConnectionFailed(f"{self.name}: the exit status is larger than {MAX_STATUS} bytes")
                self._status = decode_status(bytes(self._error))
                if self._status.status:
                    self._lingers_until = self._clock.now() + LINGER_SECONDS
            if deadline.passed and not self._status.status:
                raise IdleTimeout(f"no output of {self.name} in time")
        self.exit_code = self._exit_code()
        return None

    def write(self, data: bytes) -> None:
        """Send bytes to the process' input; wait while it does not read.

        Raises:
            LeaseNotHeld: the client is fenced, and the lease is not held any more.
        """
        self._channels.send(STDIN, data)

    def close_stdin(self) -> None:
        """End the process' input.

        Raises:
            ConnectionFailed: the server is too old: its protocol has no message for it.
        """
        self._need_end_of_input()
        self._input_is_open = False
        self._channels.end(STDIN)

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the process' terminal."""
        self._channels.send(RESIZE, msgspec.json.encode({"Width": columns, "Height": rows}))

    def feed(self, pieces: Iterable[bytes]) -> None:
        """Send input in a thread of its own, and then its end; `close` raises an exception of the iteration.

        Input that the process does not read before it ends is dropped.
        """
        self._need_end_of_input()
        self._input = Detached(partial(self._feed, pieces), name=f"stdin-{self.name}")
        self._threads.start(self._input.run, name=self._input.name)

    def communicate(self, data: bytes | Iterable[bytes] = (), *, timeout: float | None = None) -> CommandResult:
        """Send input, if there is any, and its end; return the output once the process has ended.

        The input of a process that has one ends in any case, as that of a local process does. Only if the server is too
        old to end it, and there is nothing to send, it stays open.

        Raises:
            ConnectionFailed: the connection was lost, or the process did not end within `timeout` seconds.
            ApiError: the command could not be run.
        """
        return self.communicate_until(started_deadline(timeout, self._clock), data)

    def communicate_until(self, deadline: Deadline, data: bytes | Iterable[bytes] = ()) -> CommandResult:
        """Communicate until a deadline that has begun before, such as that of the opening."""
        output = {"stdout": bytearray(), "stderr": bytearray()}
        try:
            if data or (self._input_is_open and self._channels.can_end_channels):
                self.feed((data,) if isinstance(data, bytes) else data)
            while (piece := self.read(deadline.timeout)) is not None:
                output[piece.stream] += piece.data
                if deadline.passed:
                    raise IdleTimeout(f"more output of {self.name} than fits into the time")
        except IdleTimeout as error:
            raise ConnectionFailed(f"{self.name} did not end within {deadline}", timeout=True) from error
        finally:
            self.close()
        return CommandResult(self.exit_code or 0, bytes(output["stdout"]), bytes(output["stderr"]))

    def close(self) -> None:
        """Close the connection from any thread; blocked threads return at once. May be called again.

        It raises the exception, if any, of the iteration over the input (`feed`). If the next input is late, its thread
        ends once there is some.
        """
        self._channels.close()
        if self._input is not None and self._input.wait(INPUT_SECONDS, lambda: False):
            self._threads.join()
            self._input.result()

    def _receive(self, deadline: Deadline) -> tuple[int, bytes] | None:
        if not self._status.status:
            return self._channels.receive(deadline.timeout)
        seconds = min(deadline.remaining(), self._lingers_until - self._clock.now())
        try:
            return self._channels.receive(seconds) if seconds > 0 else None
        except ConnectionFailed:
            return None  # the status was the last that matters

    def _exit_code(self) -> int:
        if not self._status.status:
            socket = self._channels.socket
            reason = f"{socket.close_code} {socket.close_reason}".strip()
            raise ConnectionFailed(f"the connection to {self.name} ended without an exit status (code {reason})")
        if self._status.status == "Success":
            return 0
        causes = self._status.details.causes if self._status.details is not None else ()
        codes = [cause.message for cause in causes if cause.reason == "ExitCode"]
        if self._status.reason != "NonZeroExitCode" or not codes or not (codes[0] or "").isdecimal():
            raise api_error(self._status)
        return int(codes[0] or "")

    def _need_end_of_input(self) -> None:
        if not self._channels.can_end_channels:
            raise ConnectionFailed(
                "the end of the input cannot be sent: the server speaks v4.channel.k8s.io. Use Kubernetes 1.30 or "
                "later, or `write` to a command that does not read until the end",
                broken=False,
            )

    def _feed(self, pieces: Iterable[bytes]) -> None:
        try:
            for piece in pieces:
                self.write(piece)
            self.close_stdin()
        except ConnectionFailed:
            return  # the reader raises it, unless the process has ended, which need not read all its input
        except BaseException:
            self._channels.close()  # so that the reader returns
            raise


def open_process(requester: Requester, request: Request) -> RemoteProcess:
    """Run a command, or attach to a running one; `request` is that of the subresource."""
    channels = open_channels(requester, request)
    return RemoteProcess(channels, name=request.name, has_input=request.query.get("stdin") == "true")
