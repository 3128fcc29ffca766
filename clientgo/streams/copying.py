"""Copies of files and folders to and from containers, by `tar` in the container, as `kubectl cp`.

As with `cp -r`, the target is the name of the copy or, if it is an existing folder, the folder for it.
"""

import posixpath
from pathlib import Path
from typing import Protocol

from clientgo.errors import ConnectionFailed
from clientgo.rest.limits import Deadline, started_deadline
from clientgo.rest.transport import IdleTimeout
from clientgo.streams.archives import CopyFailed, archive_of, unpack
from clientgo.streams.process import CommandResult, OutputPiece, RemoteProcess

_MAX_PADDING = 1024 * 1024


class StartCommand(Protocol):
    """Function that runs a command in a container."""

    def __call__(self, command: list[str], *, stdin: bool = False, timeout: float | None = None) -> RemoteProcess:
        """Start it within `timeout` seconds, with or without input."""


def copy_to_container(start: StartCommand, source: Path, target: str, *, timeout: float | None = None) -> None:
    """Copy a local file or folder to a path in a container within `timeout` seconds."""
    source, deadline = source.resolve(strict=True), started_deadline(timeout)
    test = start(["test", "-d", target], timeout=deadline.timeout)
    is_folder = test.communicate_until(deadline).exit_code == 0
    if is_folder or target.endswith("/"):
        target = posixpath.join(target, source.name)
    folder, name = posixpath.split(posixpath.normpath(target))
    process = start(["tar", "-xmf", "-", "-C", folder or "."], stdin=True, timeout=deadline.timeout)
    process.communicate_until(deadline, archive_of(source, name)).check()


def copy_from_container(start: StartCommand, source: str, target: Path, *, timeout: float | None = None) -> None:
    """Copy a file or folder in a container to a local path within `timeout` seconds.

    Raises:
        ValueError: the source is above the container's folder.
    """
    source = posixpath.normpath(source)
    if source.startswith(".."):
        raise ValueError(f"invalid path {source!r}: expected an absolute one, or one below the container's folder")
    if target.is_dir() and source != ".":
        target /= posixpath.basename(source)
    deadline = started_deadline(timeout)
    command = ["tar", "-cf", "-", f"./{source}" if source.startswith("-") else source]
    with start(command, timeout=deadline.timeout) as process:
        output = _Output(process, deadline)
        try:
            unpack(output, "" if source == "." else source.strip("/"), target)
        except CopyFailed:
            if process.exit_code:
                output.result().check()  # its message explains the archive
            raise
        output.drain()
        output.result().check()


class _Output:
    """The output of a process as a file."""

    def __init__(self, process: RemoteProcess, deadline: Deadline) -> None:
        self._process = process
        self._deadline = deadline
        self._unread = b""
        self._errors = bytearray()

    def read(self, size: int) -> bytes:
        """Return at most that many bytes, none at the end."""
        while not self._unread:
            if self._process.exit_code is not None:
                return b""
            piece = self._next()
            if piece is not None and piece.stream == "stdout":
                self._unread = piece.data
            elif piece is not None:
                self._errors += piece.data
        data, self._unread = self._unread[:size], self._unread[size:]
        return data

    def _next(self) -> OutputPiece | None:
        try:
            piece = self._process.read(self._deadline.timeout)
            if piece is not None and self._deadline.passed:
                raise IdleTimeout(f"more output of {self._process.name} than fits into the time")
        except IdleTimeout as error:
            message = f"{self._process.name}: the copy did not end within {self._deadline}"
            raise ConnectionFailed(message, timeout=True) from error
        return piece

    def drain(self) -> None:
        """Read the padding at the end of the archive."""
        size = 0
        while data := self.read(_MAX_PADDING):
            size += len(data)
            if size > _MAX_PADDING:
                raise CopyFailed(f"{self._process.name}: more than {_MAX_PADDING} bytes follow the archive")

    def result(self) -> CommandResult:
        """Return the result of the process, which has ended, without its output."""
        return CommandResult(self._process.exit_code or 0, b"", bytes(self._errors))
