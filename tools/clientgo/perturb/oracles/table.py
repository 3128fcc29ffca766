"""Oracles: what must hold of a run, each with a name and an explanation.

An oracle compares a perturbed run with the reference, or judges a run by itself: those that are `alone` judge the
reference, too. `ORACLES` is the table.
"""

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

from clientgo.perturb.kinds.refusals import is_reported
from clientgo.perturb.oracles.claims import truthful
from clientgo.perturb.oracles.judged import Judged
from clientgo.perturb.oracles.lives import deleted, left_behind, ownerless, repeated, too_many
from clientgo.perturb.oracles.states import final_state, outside
from clientgo.perturb.record import OperatorWrite, Violation

_REJECTED = frozenset((400, 401, 403, 405, 406, 413, 415, 422))
_INVALID = frozenset((400, 422))


@dataclass(frozen=True)
class Oracle:
    """One check: why a violation is a bug, `none_if` it is none; `alone` if it judges the reference itself, too."""

    explanation: str
    none_if: str
    check: Callable[[Judged], Iterator[Violation]]
    alone: bool = False


def _quiet(judged: Judged) -> Iterator[Violation]:
    if judged.run.noise:
        yield Violation("quiet", judged.run.noise)


def _rejected(judged: Judged) -> Iterator[Violation]:
    for write in judged.run.writes:
        if write.status not in _REJECTED or write.injected or _is_conflict(write):
            continue
        if write.status not in _INVALID or not is_reported(write, judged.run):
            yield Violation("rejected", f"write {write} is rejected with {write.status}: {write.message}")
            return


def _is_conflict(write: OperatorWrite) -> bool:
    """Return whether a uid or a test in a patch kept it from another object or version: a conflict in spite of 422."""
    is_refused = write.method == "PATCH" and write.status == 422
    has_test = write.body.lstrip()[:1] == b"[" and re.search(rb'"op"\s*:\s*"test"', write.body) is not None
    return is_refused and ("metadata.uid: " in write.message or has_test)


def _bugs(judged: Judged) -> Iterator[Violation]:
    for text in dict.fromkeys(judged.run.bugs):
        yield Violation("bug", f"the operator logs a bug: {text}")
    if judged.run.exit:
        yield Violation("bug", f"the operator ends: {judged.run.exit}")


def _invariants(judged: Judged) -> Iterator[Violation]:
    yield from judged.run.violations


def _nothing(_: Judged) -> Iterator[Violation]:
    return iter(())  # judged by the variations, which have both states


ORACLES: dict[str, Oracle] = {
    "final-state": Oracle(
        "the state after each step equals the reference's",
        "the field records what happened: ignore; or its values are assigned in the order of service: any_order",
        final_state,
    ),
    "outside": Oracle(
        "the state outside the cluster after each step equals the reference's",
        "the system may be called again, and the value counts the calls: ignore outside:PATH",
        outside,
    ),
    "quiet": Oracle("the operator stops writing", "it reports by the clock: off, or a settle", _quiet, alone=True),
    "deleted": Oracle(
        "nothing is deleted that the reference keeps: data and connections are lost although it comes back; "
        "before a deletion, ask client.is_current, or client.api_reader if labels or annotations decide",
        "it has nothing to lose: off",
        deleted,
    ),
    "too-many": Oracle(
        "never more objects of a kind exist than in the reference", "so many may exist at a time: allow", too_many
    ),
    "repeated": Oracle(
        "no Job or pod that the operator has deleted is created again", "its work may be repeated: off", repeated
    ),
    "left-behind": Oracle(
        "nothing is left behind after all that the user created is gone", "it stays on purpose: lasting",
        left_behind, alone=True,
    ),
    "ownerless": Oracle("no child without an owner", "it has none on purpose: off", ownerless),
    "rejected": Oracle(
        "the server rejects no write, except for conflicts", "the operator asks the server what is valid: off",
        _rejected, alone=True,
    ),
    "bug": Oracle("no bug in the log, and no exit", "the input is impossible: a stricter schema", _bugs, alone=True),
    "status": Oracle(
        "the status claims a generation only once it is reached", "the condition means something else: off",
        truthful, alone=True,
    ),
    "transition": Oracle(
        "the same objects lead to the same state, regardless of their history",
        "the field records what happened: ignore; or its values are assigned in the order of service: any_order; "
        "or the effect is not undone: lasting; or the change is impossible, and the status says so, as by Ready=False",
        _nothing,
    ),
    "foreign": Oracle(
        "what another controller owns is not taken over", "the other controller gives it away: off", _nothing
    ),
    "second-writer": Oracle(
        "what the custom resource leaves open belongs to others, such as a scaler, and a child that others delete is "
        "created again",
        "an absent number means a fixed one: give the field a default in the schema; or a child is created once: off",
        _nothing,
    ),
    "invariant": Oracle(
        "the user's invariants hold at every revision", "the invariant is too strict", _invariants, alone=True
    ),
}  # fmt: skip
"""Oracles by name."""


def judge(judged: Judged, off: Container[str]) -> list[Violation]:
    """Return what is wrong with a run; oracles in `off` are not asked."""
    is_reference = judged.run is judged.reference
    findings: list[Violation] = []
    if judged.run.failure:
        findings.append(Violation("scenario", judged.run.failure))
    for name, oracle in ORACLES.items():
        if name not in off and (oracle.alone or not is_reference):
            findings += oracle.check(judged)
    return findings
