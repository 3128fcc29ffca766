"""Archives of `tar`: of local files, as they are read, and from a container, unpacked below one folder only.

A container may send anything. Nothing is written outside the target, no link of the copy leads out of it, and nothing
is written through a link. The finished copy decides again which links lead out: a link may lead through others, which a
later member may replace.
"""

import os
import posixpath
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from clientgo.errors import ClientGoError
from clientgo.log import get_logger

log = get_logger(__name__)

_PIECE = 64 * 1024
_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)
_COPIED = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)
_HAS_FILTERS = hasattr(tarfile, "data_filter")
"""False in Python 3.11.0 to 3.11.3, such as Debian 12's, where copies from containers would be unsafe."""

# Of a copy without them the remainder is of use.
_SKIPPED = (
    (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError, tarfile.SpecialFileError) if _HAS_FILTERS else ()
)

MAX_LINKS = 40
"""Maximum number of links that one path may lead through (Linux's)."""

_NOT_COPIED = "not copied: the link leads out of the copy"


class CopyFailed(ClientGoError):
    """The archive that a container sent is incomplete, or has members that do not belong to the copy."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int) -> bytes:
        """Return at most that many bytes, none at the end."""


def archive_of(source: Path, name: str) -> Iterator[bytes]:
    """Return an archive of a file, or of a folder and all below it, in pieces; `name` is its name there.

    Raises:
        OSError: a file cannot be read, or becomes shorter meanwhile.
    """
    pending = bytearray()
    for data in _members(source, name):
        pending += data
        if len(pending) >= _PIECE:
            yield bytes(pending)
            pending.clear()
    yield bytes(pending) + _END


def _members(source: Path, name: str) -> Iterator[bytes]:
    with tarfile.open(fileobj=BytesIO(), mode="w") as headers:
        for path in _files(source):
            member = headers.gettarinfo(path, posixpath.normpath(f"{name}/{path.relative_to(source)}"))
            if not isinstance(member, tarfile.TarInfo) or member.type not in _COPIED:  # None for a socket
                log.warning("not copied: neither a file nor a folder nor a link", extra={"path": str(path)})
                continue
            # The user of the container's process owns the files, or root.
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            yield member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
            if member.isreg():
                yield from _content(path, member.size)
                yield bytes(-member.size % _BLOCK)


def _files(source: Path) -> Iterator[Path]:
    yield source
    if not source.is_dir():
        return
    for folder, folders, files in os.walk(source, onerror=_raise):
        yield from (Path(folder, name) for name in sorted([*folders, *files]))


def _raise(error: OSError) -> NoReturn:
    raise error


def _content(path: Path, size: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        while size:
            data = file.read(min(size, _PIECE))
            if not data:
                raise OSError(f"{path} became shorter while it was copied")
            size -= len(data)
            yield data


def unpack(source: Readable, prefix: str, target: Path) -> None:
    """Write the members of an archive below `prefix` to `target`: a file, or a folder that is made.

    Links that lead out of it, and devices, are skipped with a warning.

    Raises:
        CopyFailed: the archive is not a valid archive of `prefix`, or Python cannot filter its members.
        OSError: a file cannot be written.
    """
    if not _HAS_FILTERS:
        raise CopyFailed("cannot copy from a container: Python 3.11.4 or newer is needed, which filters archives")
    count = 0
    links: set[str] = set()
    try:
        with tarfile.open(fileobj=cast(Any, source), mode="r|", bufsize=_PIECE) as archive:  # it only reads
            for member in archive:
                _unpack_member(archive, member, prefix, target)
                if member.issym() or member.islnk():
                    links.add(_name_below(prefix, member.name))
                count += 1
    except tarfile.TarError as error:
        raise CopyFailed(f"invalid archive of {prefix}: {error}") from error
    finally:  # also of an incomplete copy
        _remove_links_out(target, links)
    if not count:
        raise CopyFailed(f"invalid archive of {prefix}: it is empty")


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, prefix: str, target: Path) -> None:
    name = _name_below(prefix, member.name)
    link = _name_below(prefix, member.linkname) if member.islnk() else member.linkname
    if name:
        _write(archive, member.replace(name=name, linkname=link, deep=False), target)
    elif member.isdir():
        target.mkdir(exist_ok=True)
    elif member.isreg():
        _write(archive, member.replace(name=target.name, deep=False), target.parent)
    else:
        raise CopyFailed(f"{prefix} is a link to {link!r}, or a device: copy a file or folder")


def _name_below(prefix: str, name: str) -> str:
    """Return the name of a member relative to the prefix, empty for the prefix itself."""
    normal = posixpath.normpath(name.lstrip("/"))
    relative = posixpath.relpath(f"/{normal}", f"/{prefix}")
    if normal.startswith("..") or relative.startswith(".."):
        raise CopyFailed(f"invalid archive of {prefix}: it contains {name!r}")
    return "" if relative == "." else relative


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    path = folder / member.name
    for parent in path.relative_to(folder).parents:
        if (folder / parent).is_symlink() and parent != Path():
            raise CopyFailed(f"invalid archive: {member.name!r} is below a link")
    if member.issym():
        destination = _follow(path.parent / member.linkname)
        if destination.links == MAX_LINKS or not destination.is_below(folder.resolve()):
            log.warning(_NOT_COPIED, extra={"path": str(path)})
            return
    if path.is_symlink():
        path.unlink()
    try:
        archive.extract(member, folder, filter="data")
    except _SKIPPED as error:
        log.warning("not copied", extra={"path": member.name, "err": error})


def _remove_links_out(target: Path, names: set[str]) -> None:
    """Remove the links of a copy that lead out of it; a hard link to a link is one, too.

    If there are any, those that lead through other links are removed as well: without these they may lead elsewhere.
    """
    root = target.resolve()
    links = {path: _follow(path) for path in (root / name for name in sorted(names)) if path.is_symlink()}
    if all(destination.is_below(root) for destination in links.values()):
        return
    for path, destination in links.items():
        if destination.links > 1 or not destination.is_below(root):
            log.warning(_NOT_COPIED, extra={"path": str(path)})
            path.unlink()


class _Destination(NamedTuple):
    """Path to which a path leads, as far as it exists, through a number of links."""

    path: Path
    links: int

    def is_below(self, folder: Path) -> bool:
        return self.links <= MAX_LINKS and self.path.is_relative_to(folder)


def _follow(path: Path) -> _Destination:
    """Return the destination of a path; of too many links, that of the first ones."""
    current, remaining, links = Path(path.anchor), [*reversed(path.parts)], 0
    while remaining and links <= MAX_LINKS:
        step = remaining.pop()
        if step == "..":
            current = current.parent
        elif not (current / step).is_symlink():
            current /= step  # the root, if the step is that
        else:
            links += 1
            remaining += reversed((current / step).readlink().parts)
    return _Destination(current, links)
