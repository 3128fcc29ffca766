"""Tables of objects: a line for each, with what the server says about it."""

from typing import Any


def cases(table: str) -> list[tuple[str, str]]:
    """Return the object and the text of each line; a line that begins with spaces continues the one before."""
    joined = table.strip().replace("\n    ", " ").splitlines()
    return [(obj, text) for line in joined for obj, _, text in [line.partition(" => ")]]


def check(status: dict[str, Any], errors: str, shortened: dict[str, str]) -> None:
    """Check that a Status has these causes; fields that begin with a key of `shortened` are written shorter."""
    causes = []
    for cause in status["details"]["causes"]:
        prefix = next((prefix for prefix in shortened if cause["field"].startswith(prefix)), "")
        causes.append(f"{shortened.get(prefix, '')}{cause['field'].removeprefix(prefix)}: {cause['message']}")
    expected = errors.split(" && ")
    assert len(causes) == len(expected), causes
    assert all(cause.startswith(start) for cause, start in zip(causes, expected, strict=True)), causes
