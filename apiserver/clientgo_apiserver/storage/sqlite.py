"""Journal of writes in an SQLite file: a killed server restarts with every acknowledged write.

The writes of one turn of the server's loop are one transaction. A commit takes three times as long as the statement
before it, so many concurrent clients share its cost: 10 us of processor time per write instead of 27. Responses and
watch events wait for the commit (see `store`); a rejected commit is undone. A commit thread was rejected, because it
would need the interpreter lock for each statement.

SQLite's write-ahead log is not synced to the disk at each commit. The operating system has the committed data, so
nothing is lost with the process; a power failure may lose the last moments, but never the file's consistency.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from clientgo.internal.files import PRIVATE, write_files
from clientgo_apiserver.api.status import ApiFailure, internal_error
from clientgo_apiserver.storage.store import Store
from clientgo_apiserver.storage.stored import Key, Name, name_of

FILE_NAME = "state.db"
_APPLICATION = 0x636C676F  # "clgo": tells this file from other programs' databases
_FORMAT = 1
_TABLES = """
CREATE TABLE objects (
    api_group TEXT, plural TEXT, namespace TEXT, name TEXT, revision INTEGER NOT NULL, json BLOB NOT NULL,
    PRIMARY KEY (api_group, plural, namespace, name)
) WITHOUT ROWID;
CREATE TABLE revision (last INTEGER NOT NULL);
INSERT INTO revision VALUES (1);
"""
_PUT = "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)"
_REMOVE = "DELETE FROM objects WHERE api_group = ? AND plural = ? AND namespace = ? AND name = ?"


_RESTORE = "restore it, or use another directory"


class DataUnusable(Exception):
    """The data directory cannot be used; the message names it and the reason."""


class SqliteJournal:
    """Objects of one server in `folder`, which is created if needed. Only one server at a time may use it.

    Raises:
        DataUnusable: it cannot be read or written, is in use, or has another format.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and not self._path.stat().st_size:
                raise DataUnusable(f"{self._path} is empty: restore it, or delete it to start with an empty cluster")
            # It contains secrets: mode 0600, regardless of the umask.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise DataUnusable(f"cannot use the data directory {folder}: {error.strerror}") from error
        self._database = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except (sqlite3.Error, DataUnusable) as error:
            self._database.close()
            reason = str(error) if isinstance(error, DataUnusable) else _unusable_message(folder, error)
            raise DataUnusable(reason) from error

    def __repr__(self) -> str:
        return f"<SqliteJournal {self._path}>"

    def load(self) -> tuple[int, Iterator[tuple[Key, bytes]]]:
        """Return the last revision, and the JSON of every object, ordered by name.

        Raises:
            DataUnusable: the file is damaged; of a damaged object only once it is reached.
        """
        try:
            last = self._database.execute(
                "SELECT max(last, ifnull((SELECT max(revision) FROM objects), 0)) FROM revision"
            )
            rows = self._database.execute(
                "SELECT api_group, plural, namespace, name, json FROM objects"
                " ORDER BY api_group, plural, namespace, name"
            )
            return int(last.fetchone()[0]), self._checked(rows)
        except sqlite3.Error as error:
            raise DataUnusable(_unusable_message(self._path.parent, error)) from error

    def record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        """Record one write (`raw` is None for a deletion), to be committed by the next commit.

        Raises:
            ApiFailure: 500, the write failed; everything since the last commit is undone.
        """
        execute = self._database.execute
        try:
            if not self._database.in_transaction:
                execute("BEGIN")
            if raw is not None:
                execute(_PUT, (*key, *name, revision, raw))
            else:
                execute(_REMOVE, (*key, *name))
                # The revision of a deletion is in no object, and must not be used again.
                execute("UPDATE revision SET last = ?", (revision,))
        except sqlite3.Error as error:
            raise self._write_error(error) from error

    def commit(self) -> None:
        """Commit all recorded writes.

        Raises:
            ApiFailure: 500, the commit failed and is undone.
        """
        try:
            if self._database.in_transaction:
                self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._write_error(error) from error

    def close(self) -> None:
        """Close the file and release the directory."""
        self._database.close()

    def _open(self) -> None:
        execute = self._database.execute
        # Locked from the first statement until this process ends.
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        # A checkpoint waits for the disk; every 32 MB, it costs a tenth of the time of a write.
        execute("PRAGMA wal_autocheckpoint = 8000")
        execute("BEGIN EXCLUSIVE")
        application = execute("PRAGMA application_id").fetchone()[0]
        version = execute("PRAGMA user_version").fetchone()[0]
        if not application and not version and not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _TABLES.split(";"):
                execute(statement)
            execute(f"PRAGMA application_id = {_APPLICATION}")
            execute(f"PRAGMA user_version = {_FORMAT}")
        elif (application, version) != (_APPLICATION, _FORMAT):
            raise DataUnusable(f"{self._path} was not written by this version of the API server: use another directory")
        execute("COMMIT")
        damage = execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)

    def _checked(self, rows: Iterable[tuple[str, str, str, str, bytes]]) -> Iterator[tuple[Key, bytes]]:
        for group, plural, namespace, name, raw in rows:
            reason = _damage(raw, (namespace, name))
            if reason:
                kind, path = f"{plural}.{group}".rstrip("."), f"{namespace}/{name}".lstrip("/")
                raise DataUnusable(f"{kind} {path} in {self._path} is damaged ({reason}): {_RESTORE}")
            yield (group, plural), raw

    def _write_error(self, error: sqlite3.Error) -> ApiFailure:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        return internal_error(f"cannot write {self._path}: {error}")


class _Metadata(msgspec.Struct):
    name: str
    resource_version: Annotated[str, msgspec.Meta(pattern="^[0-9]+$")] = msgspec.field(name="resourceVersion")
    namespace: str = ""


class _Object(msgspec.Struct):
    kind: str
    metadata: _Metadata


_read_object = msgspec.json.Decoder(_Object).decode


def _damage(raw: bytes, name: Name) -> str:
    """Return the reason why a row is not the object of that name; empty if it is."""
    try:
        meta = _read_object(raw).metadata
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        return str(error)
    return "" if (meta.namespace, meta.name) == name else f"it is named {meta.name}"


def write_backup(store: Store, folder: Path) -> None:
    """Write all objects and the current revision into a new data directory.

    Raises:
        DataUnusable: the directory cannot be written, or is in use.
        ApiFailure: a write failed.
    """
    journal = SqliteJournal(folder)
    try:
        for key in store.stored_keys():
            for entry in store.entries(key):
                journal.record(entry.revision, key, name_of(entry.object), entry.raw)
        # A deletion of nothing records the last revision, which may be in no object.
        journal.record(store.revision, ("", ""), ("", ""), None)
        journal.commit()
    finally:
        journal.close()


def load_or_create_key(folder: Path | None, name: str, make: Callable[[], bytes]) -> bytes:
    """Return the secret in the file `name` of a data directory, created by `make` if it is missing.

    So clients still recognize a server that is restarted on its data. Without a directory the secret is only created.

    Raises:
        DataUnusable: the file is empty, or cannot be read or written.
    """
    if folder is None:
        return make()
    path = folder / name
    try:
        if not path.exists():
            write_files({path: make()}, mode=PRIVATE)
        secret = path.read_bytes()
    except OSError as error:
        raise DataUnusable(f"cannot use the data directory {folder}: {error.strerror}") from error
    if not secret.strip():
        # An empty secret would be known to everyone.
        raise DataUnusable(f"{path} is empty: restore it, or delete it to have a new one created")
    return secret


def load_or_store_random(folder: Path, name: str, key: bytes) -> bytes:
    """Return the random bytes in the file `name` of a data directory; if it is missing, `key` is stored.

    Raises:
        DataUnusable: the file was cut off or overwritten, or cannot be read or written.
    """
    stored = load_or_create_key(folder, name, lambda: key)
    if len(stored) != len(key) or len({*stored}) < len(stored) // 4:
        # Others may know it.
        raise DataUnusable(f"{folder / name} is damaged: restore it, or delete it to have a new one created")
    return stored


def _unusable_message(folder: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"the data directory {folder} is in use by another server"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or not name:
        return f"the data in {folder} is damaged ({error}): {_RESTORE}"
    return f"cannot use the data directory {folder}: {error}"
