"""Tables of invalid objects: a line for each, with the start of the error of each field."""

from typing import Any


def cases(table: str) -> list[tuple[str, str]]:
    """Return the fields of each object and the errors; a line that begins with spaces continues the one before."""
    joined = table.strip().replace("\n    ", " ").splitlines()
    return [(fields, errors) for line in joined for fields, _, errors in [line.partition(" => ")]]


def check(status: dict[str, Any], errors: str, shortened: dict[str, str]) -> None:
    """Check that a Status has these causes; fields that begin with a key of `shortened` are written shorter."""
    causes = []
    for cause in status["details"]["causes"]:
        prefix = next((prefix for prefix in shortened if cause["field"].startswith(prefix)), "")
        causes.append(f"{shortened.get(prefix, '')}{cause['field'].removeprefix(prefix)}: {cause['message']}")
    expected = errors.split(" && ")
    assert len(causes) == len(expected), causes
    assert all(cause.startswith(start) for cause, start in zip(causes, expected, strict=True)), causes
