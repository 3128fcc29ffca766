"""Report of the fault runs at the end of a test session, and rows for docs/reports/reliability.md."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.faults.case import Row

RESULTS = "RELIABILITY_RESULTS"
"""The variable that names a file to which each run's row is appended, one line of JSON."""

_rows: list[Row] = []


@pytest.fixture
def record() -> Callable[[Row], None]:
    """Return a function that stores a row."""

    def keep(row: Row) -> None:
        _rows.append(row)
        if RESULTS in os.environ:
            with Path(os.environ[RESULTS]).open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures of each fault."""
    if not _rows:
        return
    terminalreporter.section("faults: seconds until healed (at most), lists in one backoff step, requests/s, MB")
    for row in _rows:
        terminalreporter.write_line(
            f"{row.healed:6.2f} ({row.bound:5.1f}) {row.burst} {row.requests:6.1f} {row.megabytes:+5.0f}  {row.fault}"
        )
