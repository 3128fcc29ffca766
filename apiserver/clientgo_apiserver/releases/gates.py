"""Feature gates by version, from `gates.txt`.

A row has the name of a gate and its stages, each from a version on: `1.35:Beta-off 1.37:GA-locked-on`. A version before
the first stage of a row does not have the gate, nor one from the stage `removed` on.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_REMOVED = "removed"


class Gate(NamedTuple):
    """State of a gate: its stage (Alpha, Beta, GA or Deprecated), whether that is `locked`, and whether it is `on`."""

    stage: str
    on: bool
    locked: bool


@cache
def gates_of(version: str) -> Mapping[str, Gate]:
    """Return the gates of a version such as `1.36`, with their defaults, by name."""
    gates = {}
    target = minor_of(version)
    for row in (files(__package__) / "gates.txt").read_text(encoding="utf-8").splitlines():
        name, *stages = row.split()
        if name == "#":
            continue
        for since, _, state in (stage.partition(":") for stage in stages):
            if minor_of(since) <= target:
                stage, *words = state.split("-")
                gates[name] = Gate(stage, words[-1:] == ["on"], "locked" in words)
    return {name: gate for name, gate in gates.items() if gate.stage != _REMOVED}


@cache
def minor_of(version: str) -> int:
    """Return the minor number of a version: 36 of `1.36`."""
    return int(version.partition(".")[2])
