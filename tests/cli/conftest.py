"""What tests of whole projects share."""

from collections.abc import Mapping

import pytest

from tests.cli.projects import environment
from tests.e2e.clusters import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]


@pytest.fixture(scope="session")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Variables for the programs of a project; what mypy learns of the library is kept from one to the next."""
    cache = tmp_path_factory.mktemp("mypy")
    return {**environment(tmp_path_factory.mktemp("library")), "MYPY_CACHE_DIR": str(cache)}
