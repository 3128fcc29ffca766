"""Data directories that an accident has emptied."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from apiserver.tests.inprocess import Kube
from clientgo_apiserver.api.users import ADMIN
from clientgo_apiserver.auth.authentication import user_of_token
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.storage.sqlite import (
    FILE_NAME,
    DataUnusable,
    SqliteJournal,
    load_or_create_key,
    load_or_store_random,
)


@pytest.mark.parametrize("content", [b"", b"\n"])
def test_empty_secret_is_an_error_and_not_a_key_that_all_know(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token.key").write_bytes(content)
    with pytest.raises(DataUnusable, match=r"token\.key is empty: restore it, or delete it"):
        load_or_create_key(tmp_path, "token.key", lambda: b"new")


@pytest.mark.parametrize("content", [b"\xff\x00", b"a\nb", "é".encode()])
def test_token_that_no_header_can_contain_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "admin.token").write_bytes(content)
    with pytest.raises(DataUnusable, match=r"admin\.token is damaged: restore it, or delete it"):
        EmbeddedServer(secure=True, data_dir=tmp_path).start()


@pytest.mark.parametrize("content", [b"garbage", b"\xff\x00", bytes(32), b"x" * 32, b"k" * 4096, bytes(range(31))])
def test_damaged_key_of_tokens_is_an_error_and_not_a_key_that_others_may_know(tmp_path: Path, content: bytes) -> None:
    random_bytes = bytes(range(32))
    (tmp_path / "token.key").write_bytes(content)
    with pytest.raises(DataUnusable, match=r"token\.key is damaged: restore it, or delete it"):
        load_or_store_random(tmp_path, "token.key", random_bytes)


@pytest.mark.parametrize("random_bytes", [bytes(range(32)), bytes(range(9)) * 3 + bytes(5)])
def test_key_of_tokens_outlives_a_restart(tmp_path: Path, random_bytes: bytes) -> None:
    assert load_or_store_random(tmp_path, "token.key", random_bytes) == random_bytes
    assert load_or_store_random(tmp_path, "token.key", bytes(range(32, 64))) == random_bytes


def test_empty_database_is_an_error_and_not_an_empty_cluster(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    with pytest.raises(DataUnusable, match="is empty: restore it, or delete it"):
        SqliteJournal(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'{"metadata": {"na', id="truncated"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"null", id="null"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"kind":"ConfigMap"}', id="without metadata"),
        pytest.param(b'{"kind":"Pod","metadata":{"name":"a","namespace":"n"}}', id="without a version"),
        pytest.param(b'{"kind":"Pod","metadata":{"name":"b","namespace":"n","resourceVersion":"2"}}', id="name"),
        pytest.param(b'{"kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"x"}}', id="version"),
    ],
)
def test_damaged_object_is_named_and_no_object_is_lost(tmp_path: Path, content: bytes) -> None:
    journal = SqliteJournal(tmp_path)
    journal.record(2, ("", "configmaps"), ("n", "a"), content)
    journal.commit()
    _, objects = journal.load()
    with pytest.raises(DataUnusable, match=r"configmaps n/a in .*\.db is damaged \(.+\): restore it, or use"):
        list(objects)
    journal.close()


def test_table_without_a_column_is_an_error_in_one_line(tmp_path: Path) -> None:
    SqliteJournal(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.execute("ALTER TABLE objects RENAME COLUMN json TO other")
    journal = SqliteJournal(tmp_path)
    with pytest.raises(DataUnusable, match="cannot use the data directory"):
        journal.load()
    journal.close()


def test_empty_bearer_token_is_no_user(kube: Kube) -> None:
    kube.api.state.options.tokens[""] = ADMIN
    assert user_of_token(kube.api.state, "") is None
