"""Record of one run: what the operator did and saw, the state after each step, and what was wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from clientgo.perturb.programs.gate import Frame, RequestTarget
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef, is_deleting, most_objects


class OperatorWrite(NamedTuple):
    """Write of the operator: its number, the object, the status of the response (0 for none) and the step."""

    number: int
    method: str
    subject: RequestTarget
    status: int
    step: int
    revision: int
    body: bytes
    message: str = ""
    injected: bool = False

    def __str__(self) -> str:
        return f"#{self.number} {self.method} {self.subject}"


class TimelineEntry(NamedTuple):
    """Line of the timeline; the lane is `step`, `saw`, `wrote`, `read`, `change`, `perturb` or `fault`."""

    at: float
    step: int
    lane: str
    text: str
    detail: str = ""
    subject: str = ""


class Violation(NamedTuple):
    """A broken promise: the oracle that noticed it, a line for people, and details."""

    oracle: str
    text: str
    details: tuple[str, ...] = ()
    step: int | None = None
    """Index of the step after which a state differs."""

    def __str__(self) -> str:
        return f"{self.oracle}: {self.text}"


@dataclass
class ScenarioRun:
    """One run of a scenario; `blind` has the steps at whose end the operator could not see the current state.

    `revisions` are those after each step, `outside` the states of the system outside the cluster.
    """

    steps: list[str]
    states: list[ClusterState] = field(default_factory=list)
    revisions: list[int] = field(default_factory=list)
    outside: list[Any] = field(default_factory=list)
    blind: set[int] = field(default_factory=set)
    writes: list[OperatorWrite] = field(default_factory=list)
    frames: list[tuple[int, Frame]] = field(default_factory=list)
    changes: list[ObjectChange] = field(default_factory=list)
    trace: list[TimelineEntry] = field(default_factory=list)
    watched: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    """Resources that the operator has read, by a watch or a request."""
    remaining: frozenset[ObjectRef] = frozenset()
    """Objects that stay after everything is deleted, also without a perturbation."""
    keys: tuple[str, ...] = ()
    """Keys of labels and annotations in the operator's code."""
    base_revision: int = 0
    noise: str = ""
    exit: str = ""
    bugs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    definitions: list[Object] = field(default_factory=list)
    examples: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    failure: str = ""
    """Why the scenario itself could not be run; empty usually."""
    not_applicable: str = ""
    """Why the run shows nothing about the operator; empty usually."""

    @cached_property
    def most(self) -> dict[tuple[str, str], int]:
        """Largest number of objects at a time by resource and owner, once the run is over."""
        return most_objects(self.changes)

    @cached_property
    def created_by_user(self) -> dict[ObjectRef, int]:
        """Objects that the user has created, with the step of the last creation, once the run is over."""
        created = (change for change in self.changes if change.actor == "user" and change.kind == "ADDED")
        return {change.ref: change.step for change in created}

    @cached_property
    def created_by_server(self) -> set[ObjectRef]:
        """Objects that the server created, once the run is over."""
        return {change.ref for change in self.changes if change.actor == "server" and change.kind == "ADDED"}

    @cached_property
    def deleted_by_user(self) -> set[str]:
        """Uids of the objects that the user has asked to delete, and that finalizers held, once the run is over."""
        objects = (change.new for change in self.changes if change.actor == "user" and change.new is not None)
        return {obj["metadata"]["uid"] for obj in objects if is_deleting(obj)}


def not_quiet(step: int, writes: Sequence[OperatorWrite]) -> str:
    """Return why a step does not end: its writes."""
    text = f"step {step}: not quiet after {len(writes)} writes"
    if writes:
        text += (
            f"; the last ones: {', '.join(dict.fromkeys(f'{write.method} {write.subject}' for write in writes[-6:]))}"
        )
    return text
