"""Run to judge."""

from collections.abc import Mapping
from dataclasses import dataclass

from clientgo.perturb.compare import Masks
from clientgo.perturb.record import ScenarioRun
from clientgo.perturb.state import (
    ObjectRef,
)


@dataclass(frozen=True)
class Judged:
    """Run to judge, the reference, and what does not count."""

    run: ScenarioRun
    reference: ScenarioRun
    masks: Masks
    allowed: Mapping[str, int]
    """Objects of a resource that may exist at a time; by default as many as in the reference."""
    is_blind: bool
    """True if the plan shows the operator old states, on which it may base a status."""
    is_prompt: bool = False
    """True if the run begins at the time of the reference, and delays the operator by no more than retries."""
    lasting: frozenset[str] = frozenset()
    """Resources whose objects stay on purpose."""
    due: frozenset[ObjectRef] = frozenset()
    """Objects that are deleted soon after the reference's end, such as at a time of theirs."""
