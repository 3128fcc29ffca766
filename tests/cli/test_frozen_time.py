"""freezegun together with the official client, in the tests of a scaffolded project."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.projects import new_project, run

TEST = """\
from datetime import datetime

import kubernetes.client
from freezegun import freeze_time


def test_time_is_frozen_and_passes_again() -> None:
    assert kubernetes.client.V1Pod  # the first access loads the models
    with freeze_time("2020-01-01"):
        assert datetime.now().year == 2020
    assert datetime.now().year > 2020
"""


@pytest.mark.e2e
def test_time_can_be_frozen_beside_the_official_client(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = new_project(tmp_path / "foo")
    (project / "tests/test_frozen.py").write_text(TEST)
    assert "1 passed" in run(project, variables, "python", "-m", "pytest", "tests/test_frozen.py")
