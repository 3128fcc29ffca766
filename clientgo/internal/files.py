"""Atomic writing of files, and paths that stay below a folder."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from clientgo.errors import ConfigError

PRIVATE = 0o600
"""Mode of a file that only its owner may read."""


def write_files(contents: Mapping[Path, bytes], *, mode: int = 0o666) -> None:
    """Write the files, creating their folders; readers see the former content of a file or the new one.

    The new contents are written to temporary files first, which then replace the files in order. If the disk is full,
    no file has changed and no temporary file is left. `mode` is restricted by the umask.

    Raises:
        OSError: a file cannot be written.
    """
    beside = {path: path.with_name(f".{path.name}.{os.urandom(4).hex()}") for path in contents}
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(beside[path], os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        for path, temporary in beside.items():
            temporary.replace(path)
    except BaseException:
        for temporary in beside.values():
            temporary.unlink(missing_ok=True)
        raise


def path_below(root: Path, path: str | PurePath) -> Path:
    """Return `root / path`, for a path of which a part comes from elsewhere, to write nowhere else.

    Raises:
        ConfigError: it is outside of `root`, also by a symbolic link, or is a link to a file that does not exist.
    """
    target = root / path
    try:
        inside = target.resolve().is_relative_to(root.resolve())
        dangling = target.is_symlink() and not target.exists()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte
        raise ConfigError(f"invalid path {str(path)!r}: {error}") from error
    if not inside or ".." in PurePath(path).parts:
        raise ConfigError(f"invalid path {str(path)!r}: it leads out of {root}")
    if dangling:
        raise ConfigError(f"invalid path {str(path)!r}: it is a symbolic link to a missing file; remove it")
    return target
