"""Servers with a data directory, killed during writes and restarted."""

import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import urllib3

from clientgo.stop.lifecycle import Group
from tests.processes import Child

pytestmark = pytest.mark.e2e

COMMAND = [sys.executable, "-m", "clientgo_apiserver", "--anonymous", "--data-dir"]
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS, ENOUGH = 3, 150


@contextmanager
def server(folder: Path) -> Iterator[tuple[Child, str]]:
    """Run the command; return it and its URL."""
    with Child([*COMMAND, str(folder)], folder.with_name(f"{folder.name}-{uuid.uuid4()}")) as process:
        yield process, process.wait_for("^API server at ").split()[3].rstrip(",")


class Clients:
    """Three threads that create, change and delete until the server is gone, and one that watches them.

    `acknowledged` has the responses of the three, `seen` the version of the last event of each name.
    """

    def __init__(self, url: str, life: int) -> None:
        self.url = url + CONFIG_MAPS
        self.life = life
        self.acknowledged: dict[str, dict[str, Any] | None] = {}
        self.uncertain: set[str] = set()
        self.seen: dict[str, int] = {}
        self.count = 0
        self.enough = threading.Event()
        self.group = Group()
        self.group.start(self.watch, name="watcher")
        for number in range(CLIENTS):
            self.group.start(self.write, number, name=f"client-{number}")

    def write(self, number: int) -> None:
        with urllib3.PoolManager(retries=False, timeout=10) as http:
            for index in range(100_000):
                name = f"life-{self.life}-client-{number}-{index // 3}"
                try:
                    self.step(http, name, index % 3)
                except urllib3.exceptions.HTTPError:
                    self.uncertain.add(name)  # killed while it was asked: either way is right
                    return

    def watch(self) -> None:
        with urllib3.PoolManager(retries=False, timeout=10) as http, suppress(urllib3.exceptions.HTTPError):
            stream = http.request("GET", f"{self.url}?watch=1", preload_content=False)
            line = b""
            for part in stream.stream(65536):
                *lines, line = (line + part).split(b"\n")
                for meta in (json.loads(item)["object"]["metadata"] for item in lines):
                    self.seen[meta["name"]] = int(meta["resourceVersion"])

    def step(self, http: urllib3.PoolManager, name: str, step: int) -> None:
        body = json.dumps({"metadata": {"name": name}, "data": {"step": str(step)}}).encode()
        kind = {"Content-Type": "application/json"}
        if step == 0:
            response = http.request("POST", self.url, body=body, headers=kind)
        elif step == 1:
            response = http.request("PUT", f"{self.url}/{name}", body=body, headers=kind)
        elif name.endswith("0"):
            response = http.request("DELETE", f"{self.url}/{name}")
        else:
            return
        assert response.status < 300, response.data
        self.acknowledged[name] = response.json() if step < 2 else None
        self.count += 1
        if self.count >= ENOUGH:
            self.enough.set()


def state(http: urllib3.PoolManager, url: str) -> tuple[int, dict[str, Any]]:
    listed = http.request("GET", url + CONFIG_MAPS).json()
    items = {item["metadata"]["name"]: item for item in listed["items"]}
    return int(listed["metadata"]["resourceVersion"]), items


@pytest.mark.timeout(120)
def test_killed_server_restarts_with_every_acknowledged_write(tmp_path: Path) -> None:
    messages: dict[str, dict[str, Any] | None] = {}
    uncertain: set[str] = set()
    for life in range(2):
        with server(tmp_path) as (process, url):
            clients = Clients(url, life)
            assert clients.enough.wait(60)
            process.kill()
            clients.group.join(timeout=30)
        messages |= clients.acknowledged
        uncertain |= clients.uncertain
        versions = [int(obj["metadata"]["resourceVersion"]) for obj in messages.values() if obj is not None]
        with server(tmp_path) as (_, url), urllib3.PoolManager(retries=False, timeout=10) as http:
            revision, stored = state(http, url)
        assert revision >= max(versions)
        # No client has seen a version that the restarted server does not have.
        assert 0 < max(clients.seen.values()) <= revision
        for name in clients.seen.keys() & stored.keys():
            assert clients.seen[name] <= int(stored[name]["metadata"]["resourceVersion"])
        for name, obj in messages.items():
            if name in uncertain:
                continue
            result = stored.get(name)
            assert (result is None) is (obj is None), name
            if obj is not None:
                assert result is not None
                assert (result["metadata"], result["data"]) == (obj["metadata"], obj["data"])
        assert set(stored) <= set(messages) | uncertain | {"kube-root-ca.crt"}


def test_data_directory_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with server(tmp_path):
        done = subprocess.run([*COMMAND, str(tmp_path)], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert done.stderr == f"cannot start the API server: the data directory {tmp_path} is in use by another server\n"
