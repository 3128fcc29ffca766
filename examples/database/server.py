"""Stand-in for a database server outside the cluster: an SQLite file, which both operators use.

The environment variable DATABASE_SERVER has its path; while the file does not exist, the server is down.
"""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path


class ServerUnavailable(Exception):
    """The server cannot be reached, or does not respond."""


class DatabaseExists(Exception):
    """The server has a database of that name."""


@dataclass(frozen=True)
class Account:
    """Password and greatest number of connections of a database's user."""

    password: str
    connections: int


class DatabaseServer:
    """Connections to the server, one for each call."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or Path(os.environ["DATABASE_SERVER"])

    def start(self) -> None:
        """Create the file."""
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute("CREATE TABLE databases (name PRIMARY KEY, password, connections)")

    def stop(self) -> None:
        """Delete the file, and with it all databases."""
        self._path.unlink(missing_ok=True)

    def create(self, name: str, account: Account) -> None:
        """Create a database and its user; DatabaseExists if the name is in use."""
        with self._connection() as connection:
            try:
                row = (name, account.password, account.connections)
                connection.execute("INSERT INTO databases VALUES (?, ?, ?)", row)
            except sqlite3.IntegrityError as error:
                raise DatabaseExists(f"database {name} exists") from error

    def alter(self, name: str, account: Account) -> None:
        """Change the user of a database."""
        with self._connection() as connection:
            row = (account.password, account.connections, name)
            connection.execute("UPDATE databases SET password = ?, connections = ? WHERE name = ?", row)

    def drop(self, name: str) -> None:
        """Delete a database and its user, if there is one."""
        with self._connection() as connection:
            connection.execute("DELETE FROM databases WHERE name = ?", (name,))

    def find(self, name: str) -> Account | None:
        """Return the user of a database, or None."""
        return self.accounts().get(name)

    def accounts(self) -> dict[str, Account]:
        """Return the users of all databases by name."""
        with self._connection() as connection:
            rows = connection.execute("SELECT * FROM databases ORDER BY name").fetchall()
        return {name: Account(password, connections) for name, password, connections in rows}

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"file:{self._path}?mode=rw", uri=True)) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:
            raise ServerUnavailable(f"database server {self._path}: {error}") from error
