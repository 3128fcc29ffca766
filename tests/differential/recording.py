"""Recorded outcomes of sequences on a real API server (Kubernetes 1.36.2): compressed lines of JSON."""

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.differential.playing import Outcome
from tests.differential.sequences import Write

RECORDED = Path(__file__).parent / "recorded.jsonl.xz"


class Recorded(NamedTuple):
    """The writes of one sequence, and their outcomes."""

    seed: int
    kind: str
    writes: list[Write]
    outcomes: list[Outcome]


def write(path: Path, sequences: Iterable[Recorded]) -> None:
    """Write sequences, one line each."""
    with lzma.open(path, "wt", preset=9) as file:
        for sequence in sequences:
            file.write(json.dumps(sequence, separators=(",", ":"), sort_keys=True) + "\n")


def read(path: Path) -> Iterator[Recorded]:
    """Iterate over the recorded sequences."""
    with lzma.open(path, "rt") as file:
        for line in file:
            seed, kind, writes, outcomes = json.loads(line)
            yield Recorded(seed, kind, writes, [Outcome(*outcome) for outcome in outcomes])
