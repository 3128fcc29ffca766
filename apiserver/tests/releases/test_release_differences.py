"""Requests whose answers differ between versions, as listed in `differing.txt`."""

import json
from functools import cache
from typing import Any

import pytest

from apiserver.tests.guarded import Guarded
from apiserver.tests.releases.differing import VERSIONS, Difference, Reply, agrees, answer, differences

ROWS = list(differences())


@cache
def _server(version: str) -> Guarded:
    return Guarded(version=version)


def answer_at(version: str, row: Difference) -> str:
    """Return the answer of a server of this version, which keeps nothing of what it is sent."""
    server = _server(version) if row.verb in ("get", "schema", "columns", "role", "gate") else Guarded(version=version)

    def send(method: str, path: str, body: Any = None, kind: str = "application/json", **headers: str) -> Reply:
        response = server.send(method, path, body, kind, **headers)
        warnings = " ".join(value.replace("\\", "") for name, value in response.headers if name == "Warning")
        is_json = response.content_type.startswith("application/json")
        return Reply(response.status, json.loads(response.body) if is_json else response.body.decode(), warnings)

    return answer(send, row)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_each_version_answers_as_its_server(row: Difference) -> None:
    answers = {version: answer_at(version, row) for version in VERSIONS}
    assert all(agrees(row.answers[version], answers[version]) for version in VERSIONS), answers


def test_every_request_of_the_table_has_different_answers() -> None:
    assert len(ROWS) > 200
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert [row.name for row in ROWS if len(set(row.answers.values())) == 1] == []
