"""Progress of the command while it installs many CRDs."""

import io

import pytest

from clientgo_apiserver.__main__ import with_progress


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        (0, []),
        (99, []),
        (100, ["installing 100 CRDs"]),
        (201, ["installing 201 CRDs", "installed 100 of 201 CRDs", "installed 200 of 201 CRDs"]),
    ],
)
def test_progress_is_written_only_if_there_are_many(count: int, lines: list[str]) -> None:
    err, definitions = io.StringIO(), [{"metadata": {"name": str(number)}} for number in range(count)]
    assert [*with_progress(definitions, err)] == definitions
    assert err.getvalue().splitlines() == lines
