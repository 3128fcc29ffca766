"""Page of all public names, which is built from the code."""

import importlib
import re

from hack import reference_page

TEXT = reference_page.page()
MODULES = [name for _, names in reference_page.modules() for name in names]


def listed(module: str) -> list[str]:
    """Return the names that the page has for a module."""
    section = TEXT.partition(f"\n### [{module}](")[2].partition("\n### ")[0]
    return re.findall(r"^- `(\w+)", section, re.MULTILINE)


def test_page_has_every_public_name_of_every_module() -> None:
    expected = {name: reference_page.public_names(importlib.import_module(name)) for name in MODULES}
    assert len(expected) > 50
    assert {name: listed(name) for name in MODULES} == expected


def test_arguments_are_those_of_calls() -> None:
    for entry in (
        "- `too_long(path, limit)`: Report a text of more than `limit` bytes.\n",
        "- `retry_on_conflict(fn, backoff=, *, clock=, stop=)`: ",
        "- `LeadershipLost`: ",
        "- `Denied(message, *, code=, reason=, warnings=)`: ",
        "- `FakeClock(",
    ):
        assert entry in TEXT
