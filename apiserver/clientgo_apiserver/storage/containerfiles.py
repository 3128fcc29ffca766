"""Files of simulated containers: what `tar` has put into them, in memory, until their pod is gone."""

import io
import posixpath
import tarfile
from collections.abc import Iterator
from typing import NamedTuple

_BLOCK = tarfile.BLOCKSIZE
_PIECE = 32 * 1024
_LIMIT = 512 * 1024 * 1024

ContainerKey = tuple[str, str]
"""The UID of a pod, and the name of a container."""


class ArchiveReader:
    """The bytes of an archive as they arrive; `complete` once its end has, which the connection need not have."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.complete = False
        self._position = 0

    def __repr__(self) -> str:
        return f"<ArchiveReader {len(self.data)} bytes>"

    def add(self, data: bytes) -> None:
        """Add bytes.

        Raises:
            OSError: they are too many.
            tarfile.TarError: they are no archive.
        """
        self.data += data
        if len(self.data) > _LIMIT:
            raise OSError("No space left on device")
        while not self.complete and len(self.data) >= self._position + _BLOCK:
            block = bytes(self.data[self._position : self._position + _BLOCK])
            if not any(block):
                self.complete = True
                return
            size = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape").size
            self._position += _BLOCK + -(-size // _BLOCK) * _BLOCK


class StoredFile(NamedTuple):
    """A file: its header, and its content, if it has one."""

    info: tarfile.TarInfo
    data: memoryview


class ContainerFiles:
    """Files of all simulated containers, at most half a GiB together."""

    def __init__(self) -> None:
        self._containers: dict[ContainerKey, dict[str, StoredFile]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._containers)} containers>"

    def keep(self, live: set[str]) -> None:
        """Drop the files of pods that are not among these UIDs."""
        self._containers = {key: files for key, files in self._containers.items() if key[0] in live}

    def extract(self, container: ContainerKey, archive: bytearray, folder: str) -> None:
        """Put the members of an archive into a folder.

        Raises:
            OSError: the files exceed the limit.
            tarfile.TarError: the archive is invalid.
        """
        used = sum(len(file.data) for files in self._containers.values() for file in files.values())
        if used + len(archive) > _LIMIT:
            raise OSError("No space left on device")
        files, view = self._containers.setdefault(container, {}), memoryview(archive)
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as opened:
            for member in opened:
                start, size = member.offset_data, member.size if member.isreg() else 0
                files[_absolute(posixpath.join(folder, member.name.lstrip("/")))] = StoredFile(
                    member, view[start : start + size]
                )

    def is_folder(self, container: ContainerKey, path: str) -> bool:
        """Return whether a path is a folder."""
        path, files = _absolute(path), self._containers.get(container, {})
        stored = files.get(path)
        if path in ("/", "/tmp") or (stored is not None and stored.info.isdir()):  # nosec B108  # of the container
            return True
        return any(name.startswith(path + "/") for name in files)

    def members(self, container: ContainerKey, folder: str, name: str) -> list[tuple[str, StoredFile]]:
        """Return a file of a folder, or a folder and all below it, named as `tar` does; raise `FileNotFoundError`."""
        path, files = _absolute(posixpath.join(folder, name)).rstrip("/"), self._containers.get(container, {})
        below = [each for each in sorted(files) if each == path or each.startswith(path + "/")]
        if not below:
            raise FileNotFoundError(name)
        return [((name.rstrip("/") + each[len(path) :]).lstrip("/"), files[each]) for each in below]

    def archive(self, members: list[tuple[str, StoredFile]]) -> Iterator[bytes]:
        """Return an archive of named files in pieces."""
        return _joined(_blocks(members))


def _absolute(path: str) -> str:
    return posixpath.normpath(posixpath.join("/", path))


def _blocks(files: list[tuple[str, StoredFile]]) -> Iterator[bytes | memoryview]:
    for name, (info, data) in files:
        renamed = info.replace(name=name, deep=False)
        renamed.pax_headers = {}
        yield renamed.tobuf(tarfile.GNU_FORMAT)
        for start in range(0, len(data), _PIECE):
            yield data[start : start + _PIECE]
        yield bytes(-len(data) % _BLOCK)
    yield bytes(2 * _BLOCK)


def _joined(blocks: Iterator[bytes | memoryview]) -> Iterator[bytes]:
    """Join blocks to pieces: a message for each header of a small file costs more than the file."""
    joined = bytearray()
    for block in blocks:
        joined += block
        while len(joined) >= _PIECE:
            yield bytes(joined[:_PIECE])
            del joined[:_PIECE]
    yield bytes(joined)
