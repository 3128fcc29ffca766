"""State of logging, restored after each test."""

import logging
from collections.abc import Iterator

import pytest

from clientgo.log.credentials import _SECRETS


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the handlers, and the levels that `setup` changes."""
    root, urllib3 = logging.getLogger(), logging.getLogger("urllib3")
    handlers, level, urllib3_level = root.handlers[:], root.level, urllib3.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    urllib3.setLevel(urllib3_level)


@pytest.fixture
def registering() -> Iterator[None]:
    """Restore the registered secrets."""
    registered, forms = dict(_SECRETS._forms), _SECRETS.forms
    yield
    _SECRETS._forms.clear()
    _SECRETS._forms.update(registered)
    _SECRETS.forms = forms
