import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import urllib3

from apiserver.tests.inprocess import DEFINITIONS, FOOS, definition, foo, result_of
from apiserver.tests.storage.things import KEY, thing
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.server import ApiServer, build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.sqlite import FILE_NAME, DataUnusable, SqliteJournal
from clientgo_apiserver.storage.store import Store
from tests.fulldisk import full_disk


@contextmanager
def stored(folder: Path) -> Iterator[Store]:
    with closing(SqliteJournal(folder)) as journal:
        yield Store(journal=journal)


def test_objects_are_restored_with_their_revision(tmp_path: Path) -> None:
    with stored(tmp_path / "new" / "data") as store:
        for name in ("b", "a", "c"):
            store.put(KEY, thing(name))
        store.put(KEY, thing("a", value=2))
        store.remove(KEY, "ns", "c")
        before, revision = store.list(KEY), store.revision
    with stored(tmp_path / "new" / "data") as again:
        assert (again.list(KEY), again.revision) == (before, revision)


def test_revision_of_the_last_deletion_is_not_reused(tmp_path: Path) -> None:
    with stored(tmp_path) as store:
        store.put(KEY, thing("a"))
        store.remove(KEY, "ns", "a")
        revision = store.revision
    with stored(tmp_path) as again:
        assert again.put(KEY, thing("a")).revision == revision + 1


def test_data_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    with stored(tmp_path):
        assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_directory_of_another_server_is_rejected(tmp_path: Path) -> None:
    with stored(tmp_path), pytest.raises(DataUnusable) as raised:
        SqliteJournal(tmp_path)
    assert str(raised.value) == f"the data directory {tmp_path} is in use by another server"
    with stored(tmp_path):
        pass  # given back when the other has gone


def another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (x)")


def damaged(path: Path) -> None:
    with stored(path.parent) as store:
        for number in range(200):
            store.put(KEY, thing(f"n{number}"))
    data = path.read_bytes()
    path.write_bytes(data[:8192] + os.urandom(4096) + data[12288:])


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: path.write_text("no database at all, but a text that is long enough"), "is damaged"),
        (damaged, "is damaged"),
        (another_program, "was not written by this version of the API server"),
        (Path.mkdir, "cannot use .*: Is a directory"),
    ],
    ids=["text", "damaged", "another program's", "folder"],
)
def test_unreadable_data_is_reported_in_one_line(tmp_path: Path, spoil: Callable[[Path], Any], reason: str) -> None:
    spoil(tmp_path / FILE_NAME)
    with pytest.raises(DataUnusable, match=reason):
        SqliteJournal(tmp_path)


def test_data_path_that_is_not_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataUnusable, match="cannot use "):
        SqliteJournal(tmp_path / "file" / "data")


def served(journal: SqliteJournal) -> Api:
    scheduler = ManualScheduler(FakeClock())
    api = build(scheduler, ServerOptions(simulate=False), clock=FakeClock(), journal=journal)
    scheduler.run()
    return api


def call(api: Api, method: str, path: str, body: Any = None) -> Any:
    response = result_of(api, api.handle(method, path, "", {"content-type": "application/json"}, body or b""))
    api.state.scheduler.run()  # type: ignore[attr-defined]
    return response.status, response.json()


def test_full_disk_fails_the_write_and_the_server_continues(tmp_path: Path) -> None:
    with closing(SqliteJournal(tmp_path)) as journal:
        api = build(ManualScheduler(FakeClock()), ServerOptions(simulate=False), clock=FakeClock(), journal=journal)
        url = "/api/v1/namespaces/default/configmaps"
        assert call(api, "POST", url, b'{"metadata":{"name":"a"}}')[0] == 201
        before = api.state.store.revision
        with full_disk((tmp_path / f"{FILE_NAME}-wal").stat().st_size):
            status, printed = call(api, "POST", url, b'{"metadata":{"name":"b"},"data":{"x":"%s"}}' % (b"x" * 9000))
            refused, _ = call(api, "DELETE", f"{url}/a")
        assert (status, refused) == (500, 500)
        assert "cannot write " in printed["message"]
        assert api.state.store.revision == before
        assert call(api, "GET", f"{url}/b")[0] == 404
        assert call(api, "POST", url, b'{"metadata":{"name":"c"}}')[0] == 201
    with closing(SqliteJournal(tmp_path)) as journal:
        names = [item["metadata"]["name"] for item in call(served(journal), "GET", url)[1]["items"]]
        assert names == ["a", "c"]


@pytest.mark.integration
def test_http_write_is_answered_after_its_commit(tmp_path: Path) -> None:
    with ApiServer(data_dir=tmp_path, simulate=False) as server, urllib3.PoolManager(retries=False) as http:
        url = f"{server.url}/api/v1/namespaces/default/configmaps"
        watch = http.request("GET", f"{url}?watch=1&timeoutSeconds=1", preload_content=False)
        with full_disk((tmp_path / f"{FILE_NAME}-wal").stat().st_size):
            refused = http.request("POST", url, body=b'{"metadata":{"name":"b"},"data":{"x":"%s"}}' % (b"x" * 9000))
        assert (refused.status, "cannot write " in refused.json()["message"]) == (500, True)
        built = http.request("POST", url, body=b'{"metadata":{"name":"a"}}').json()
        seen = [json.loads(line)["object"] for line in watch.read().splitlines()]
    assert seen == [built]
    with ApiServer(data_dir=tmp_path, simulate=False) as server, urllib3.PoolManager(retries=False) as http:
        assert http.request("GET", f"{server.url}/api/v1/namespaces/default/configmaps").json()["items"] == [
            {key: built[key] for key in built if key not in ("kind", "apiVersion")}
        ]


def test_definitions_and_their_objects_are_served_again(tmp_path: Path) -> None:
    with closing(SqliteJournal(tmp_path)) as journal:
        api = served(journal)
        assert call(api, "POST", DEFINITIONS, json.dumps(definition()).encode())[0] == 201
        built = call(api, "POST", FOOS, json.dumps(foo()).encode())[1]
    with closing(SqliteJournal(tmp_path)) as journal:
        api = served(journal)
        assert call(api, "GET", f"{FOOS}/a") == (200, built)
        assert api.state.store.revision == int(built["metadata"]["resourceVersion"])


@pytest.mark.integration
def test_server_that_cannot_have_its_directory_does_not_start_and_frees_its_port(tmp_path: Path) -> None:
    with ApiServer(data_dir=tmp_path, simulate=False) as first:
        port = int(first.url.rpartition(":")[2])
        with pytest.raises(DataUnusable, match="in use by another server"):
            ApiServer(data_dir=tmp_path).start()
    with ApiServer(data_dir=tmp_path, port=port, simulate=False) as again:
        assert again.url == first.url
