"""Feature gates by version, from `gates.txt`.

A row has the name of a gate and its stages, each from a version on: `1.35:Beta-off 1.37:GA-locked-on`. A version before
the first stage of a row does not have the gate, nor one from the stage `removed` on.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clientgo.version import minor_of

_REMOVED = "removed"


class Gate(NamedTuple):
    """State of a gate: its stage (Alpha, Beta, GA or Deprecated), whether that is `locked`, and whether it is `on`."""

    stage: str
    on: bool
    locked: bool


@cache
def _rows() -> Mapping[str, str]:
    lines = Path(__file__).with_name("gates.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


@cache
def gate_of(version: str, name: str) -> Gate | None:
    """Return a gate of a version such as `1.36`, with its default; None if the version does not have it."""
    target, gate = minor_of(version), None
    for since, _, state in (stage.partition(":") for stage in _rows().get(name, "").split()):
        if minor_of(since) <= target:
            stage, *words = state.split("-")
            gate = None if stage == _REMOVED else Gate(stage, words[-1] == "on", "locked" in words)
    return gate


def gates_of(version: str) -> dict[str, Gate]:
    """Return the gates of a version, with their defaults, by name."""
    gates = ((name, gate_of(version, name)) for name in _rows())
    return {name: gate for name, gate in gates if gate is not None}
