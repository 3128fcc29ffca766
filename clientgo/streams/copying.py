"""Copies of files and folders to and from containers, by `tar` in the container, as `kubectl cp`.

As with `cp -r`, the target is the name of the copy or, if it is an existing folder, the folder for it.
"""

import math
import posixpath
from pathlib import Path
from typing import Protocol

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConnectionFailed
from clientgo.rest.transport import IdleTimeout
from clientgo.streams.archives import CopyFailed, archive_of, unpack
from clientgo.streams.process import CommandResult, RemoteProcess

_MAX_PADDING = 1024 * 1024


class StartCommand(Protocol):
    """Function that runs a command in a container."""

    def __call__(self, command: list[str], *, stdin: bool = False) -> RemoteProcess:
        """Start it, with or without input."""


def copy_to_container(start: StartCommand, source: Path, target: str, *, timeout: float | None = None) -> None:
    """Copy a local file or folder to a path in a container, each command within `timeout` seconds."""
    source = source.resolve(strict=True)
    is_folder = start(["test", "-d", target]).communicate(timeout=timeout).exit_code == 0
    if is_folder or target.endswith("/"):
        target = posixpath.join(target, source.name)
    folder, name = posixpath.split(posixpath.normpath(target))
    process = start(["tar", "-xmf", "-", "-C", folder or "."], stdin=True)
    process.communicate(archive_of(source, name), timeout=timeout).check()


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
    with start(["tar", "-cf", "-", f"./{source}" if source.startswith("-") else source]) as process:
        output = _Output(process, timeout)
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

    def __init__(self, process: RemoteProcess, timeout: float | None) -> None:
        self._process = process
        self._timeout = timeout
        self._deadline = math.inf if timeout is None else SYSTEM_CLOCK.now() + timeout
        self._unread = b""
        self._errors = bytearray()

    def read(self, size: int) -> bytes:
        """Return at most that many bytes, none at the end."""
        while not self._unread:
            if self._process.exit_code is not None:
                return b""
            try:
                piece = self._process.read(None if self._deadline == math.inf else self._deadline - SYSTEM_CLOCK.now())
            except IdleTimeout as error:
                message = f"{self._process.name}: the copy did not end within {self._timeout:g} s"
                raise ConnectionFailed(message, timeout=True) from error
            if piece is not None and piece.stream == "stdout":
                self._unread = piece.data
            elif piece is not None:
                self._errors += piece.data
        data, self._unread = self._unread[:size], self._unread[size:]
        return data

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
