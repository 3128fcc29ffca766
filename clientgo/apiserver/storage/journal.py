"""Writes kept in an SQLite file before they are acknowledged: a killed server comes back with all of them.

The writes of one turn of the server's loop are one transaction. A commit takes three times as long as the statement
before it, so that many clients that write at once pay for it together: 10 us of processor time a write instead of 27.
Answers and watch events wait for the commit (see `store`); what it refuses is undone and has not happened. A thread of
its own for the commits was rejected: it would have to be handed the interpreter back for each statement.

SQLite's write-ahead log is not forced to the disk at each commit. The operating system holds what was committed, so
nothing is lost with the process; a machine that loses power may lose its last moments, never the file's consistency.
"""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from clientgo.apiserver.http.status import ApiFailure, internal_error
from clientgo.apiserver.storage.store import Store
from clientgo.apiserver.storage.stored import Key, Name

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


class DataUnusable(Exception):
    """The data directory can't be used; the message says which, and why."""


class SqliteJournal:
    """The objects of one server in `folder`, which is made if it is not there. One server at a time may have it.

    Raises:
        DataUnusable: it can't be read or written, another server has it, or what is in it was not written here.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Secrets are in it: for this user alone, whatever the umask says.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise DataUnusable(f"the data directory {folder} can't be used: {error.strerror}") from error
        self._database = sqlite3.connect(self._path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._open()
        except sqlite3.Error as error:
            self._database.close()
            raise DataUnusable(_sentence(folder, error)) from error
        except DataUnusable:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"<SqliteJournal {self._path}>"

    def load(self) -> tuple[int, Iterator[tuple[Key, bytes]]]:
        """The last revision given, and the JSON of every object, ordered by name.

        Raises:
            DataUnusable: the file is damaged.
        """
        try:
            last = self._database.execute(
                "SELECT max(last, ifnull((SELECT max(revision) FROM objects), 0)) FROM revision"
            )
            return int(last.fetchone()[0]), self._objects()
        except sqlite3.Error as error:
            raise DataUnusable(_sentence(self._path.parent, error)) from error

    def record(self, revision: int, key: Key, name: Name, raw: bytes | None) -> None:
        """Take one write (`raw` is None for a deletion); the next commit keeps it.

        Raises:
            ApiFailure: 500, the disk refuses; nothing since the last commit is kept.
        """
        execute = self._database.execute
        try:
            if not self._database.in_transaction:
                execute("BEGIN")
            if raw is not None:
                execute(_PUT, (*key, *name, revision, raw))
            else:
                execute(_REMOVE, (*key, *name))
                # The revision of a deletion stands in no object, and must not be given again.
                execute("UPDATE revision SET last = ?", (revision,))
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def commit(self) -> None:
        """Keep all that was recorded; it is kept when this returns.

        Raises:
            ApiFailure: 500, the disk refuses; nothing of it is kept.
        """
        try:
            if self._database.in_transaction:
                self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """Give the directory back; no write may come after."""
        self._database.close()

    def _open(self) -> None:
        execute = self._database.execute
        # Held from the first statement on, until this process ends, however it ends.
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        # Moving the log into the file waits for the disk; done every 32 MB, it takes a tenth of the time of a write.
        execute("PRAGMA wal_autocheckpoint = 8000")
        execute("BEGIN EXCLUSIVE")
        application = execute("PRAGMA application_id").fetchone()[0]
        found = execute("PRAGMA user_version").fetchone()[0]
        if not application and not found and not execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _TABLES.split(";"):
                execute(statement)
            execute(f"PRAGMA application_id = {_APPLICATION}")
            execute(f"PRAGMA user_version = {_FORMAT}")
        elif (application, found) != (_APPLICATION, _FORMAT):
            raise DataUnusable(f"{self._path} was not written by this version of the API server: use another directory")
        execute("COMMIT")
        damage = execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)

    def _objects(self) -> Iterator[tuple[Key, bytes]]:
        rows = self._database.execute(
            "SELECT api_group, plural, json FROM objects ORDER BY api_group, plural, namespace, name"
        )
        for group, plural, raw in rows:
            yield (group, plural), raw

    def _refused(self, error: sqlite3.Error) -> ApiFailure:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")
        return internal_error(f"{self._path} can't be written: {error}")


def write_backup(store: Store, folder: Path) -> None:
    """Write all that is stored, and the version it has, into a new data directory.

    Raises:
        DataUnusable: the directory can't be written, or is in use.
        ApiFailure: the disk refuses.
    """
    journal = SqliteJournal(folder)
    try:
        for key in store.stored_keys():
            for entry in store.entries(key):
                meta = entry.object["metadata"]
                journal.record(entry.revision, key, (meta.get("namespace", ""), meta["name"]), entry.raw)
        # The deletion of what is not there tells the last version, which no object may have any longer.
        journal.record(store.revision, ("", ""), ("", ""), None)
        journal.commit()
    finally:
        journal.close()


def _sentence(folder: Path, error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"the data directory {folder} is in use by another server"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or not name:
        return f"the data in {folder} is damaged ({error}): restore it, or use another directory"
    return f"the data directory {folder} can't be used: {error}"
