"""Fixtures for tests of complete projects."""

from collections.abc import Mapping

import pytest

from tests.cli.projects import environment
from tests.e2e.clusters import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Environment variables for a project's programs."""
    return environment(tmp_path_factory.mktemp("library"))
