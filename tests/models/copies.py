"""Second copies of modules over another `threading`, with an optional mistake.

The code under test needs no hooks for its locks: a copy is compiled from the same source. Copies import each other; the
rest of the program does not see them.
"""

import importlib
import inspect
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from tests.models.locks import threading

Edit = tuple[str, str]
"""A piece of source that stands there once, and what to put in its place."""


class Copies:
    """Copies of modules, by their last name: `Copies([...]).queue`."""

    def __init__(self, names: Sequence[str], edits: Mapping[str, Edit] | None = None) -> None:
        """Load the copies; `edits` are replacements by module name."""
        self._made: dict[str, types.ModuleType] = {}
        # First, so that nothing else is loaded while the other `threading` stands in.
        sources = {name: inspect.getsource(importlib.import_module(name)) for name in names}
        expected = dict(edits or {})
        before = {name: sys.modules[name] for name in (*names, "threading")}
        try:
            sys.modules["threading"] = threading
            for name, source in sources.items():
                self._load(name, _edited(source, expected.pop(name.rpartition(".")[2], None)))
        finally:
            sys.modules.update(before)
        assert not expected, f"no modules are called {sorted(expected)}"

    def __getattr__(self, name: str) -> Any:
        return self._made[name]

    def _load(self, name: str, source: str) -> None:
        module = types.ModuleType(name)
        module.__file__ = f"<copy of {name}>"
        sys.modules[name] = self._made[name.rpartition(".")[2]] = module
        exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))


def _edited(source: str, edit: Edit | None) -> str:
    if edit is None:
        return source
    old, new = edit
    assert source.count(old) == 1, f"{old!r} stands there {source.count(old)} times"
    return source.replace(old, new)
