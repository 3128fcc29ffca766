"""Clients in a process that forks."""

import subprocess
import sys

import pytest

from tests.rest import forking


@pytest.mark.e2e
@pytest.mark.parametrize("requests", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_parent_and_children_of_a_fork_get_their_own_answers_only(requests: int) -> None:
    # In a process of its own: a fork of this one would have its threads' locks, pytest's included.
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-m", forking.__name__, str(requests), "8"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == f"8 children, 0 wrong answers of {requests // 9 * 9}\n"
