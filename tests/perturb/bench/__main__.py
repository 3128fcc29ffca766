"""Plays the bench: `python -m tests.perturb.bench [NAME ...]` prints what found each bug, and false alarms."""

import sys
import time
from collections.abc import Sequence

from clientgo.perturb import run_scenario
from clientgo.perturb.engine import Engine, PlanResult
from tests.perturb.bench.cases import CASES, Case


def row(case: Case) -> tuple[str, bool, bool]:
    """Play a case; return its line, whether the bug was found, and whether the twin is blamed."""
    began = time.perf_counter()
    finding, number = first_finding(case)
    correct = run_scenario(case.scenario(case.correct))
    seconds = time.perf_counter() - began
    alarm = f"; FALSE ALARM: {correct.failed[0].verdict}" if correct.failed else ""
    text = "NOT FOUND" if finding is None else f"`{finding.plan}`: {finding.findings[0].oracle}"
    line = f"| {case.name} | {case.bug} | {number} | {len(correct)} | {seconds:.1f} | {text}{alarm} |"
    return line, finding is not None, bool(alarm)


def first_finding(case: Case) -> tuple[PlanResult | None, int]:
    """Return the first plan that finds the bug, or None, and the number of plans that ran."""
    engine = Engine(case.scenario(case.broken))
    for number, plan in enumerate(engine.plans(), 1):
        result = engine.result(plan)
        if not result.passed:
            return result, number
    return None, number


def main(names: Sequence[str]) -> int:
    """Play all cases, or those named."""
    result = alarms = 0
    cases = [case for case in CASES if not names or case.name in names]
    print("| case | bug | plans to find it | plans of the twin | seconds | found by |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in cases:
        line, is_found, is_alarm = row(case)
        print(line, flush=True)
        result, alarms = result + is_found, alarms + is_alarm
    print(f"\nFound {result} of {len(cases)}, false alarms {alarms}")
    return int(result < len(cases) or alarms > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
