"""Atomic writing of files."""

import os
from collections.abc import Mapping
from pathlib import Path

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
