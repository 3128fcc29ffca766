"""Secrets that outlive the server: kept beside its data, so that those who knew it know it again when it is restarted.

The authority's key, the key that signs service accounts' tokens and the administrator's token are files of their own in
the data directory, for this user alone. Without a data directory they are made anew each time.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from clientgo.apiserver.storage.journal import DataUnusable


def kept(folder: Path | None, name: str, make: Callable[[], bytes]) -> bytes:
    """What is kept in `folder` under this name; made, and kept from now on, when nothing is. Without a folder: made.

    Raises:
        DataUnusable: it can't be read or written.
    """
    if folder is None:
        return make()
    try:
        return _kept(folder, name, make)
    except OSError as error:
        raise DataUnusable(f"the data directory {folder} can't be used: {error.strerror}") from error


def _kept(folder: Path, name: str, make: Callable[[], bytes]) -> bytes:
    path = folder / name
    try:
        return path.read_bytes()
    except FileNotFoundError:
        made = make()
    folder.mkdir(parents=True, exist_ok=True)
    # mkstemp makes the file with mode 0600; half a key is never seen under its name.
    descriptor, temporary = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(made)
    Path(temporary).replace(path)
    return made
