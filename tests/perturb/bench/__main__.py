"""Plays the bench: `python -m tests.perturb.bench [NAME ...]` prints what found each bug, and false alarms."""

import sys
import time
from collections.abc import Sequence

from clientgo.perturb import PerturbResults, run_scenario
from clientgo.perturb.report import counted
from tests.perturb.bench.cases import CASES, Case


def row(case: Case) -> tuple[str, bool, bool]:
    """Play a case; return its line, whether the bug was found, and whether the twin is blamed."""
    began = time.perf_counter()
    broken, correct = run_scenario(case.scenario(case.broken)), run_scenario(case.scenario(case.correct))
    seconds = time.perf_counter() - began
    plans = len(broken) + len(correct)
    alarm = f"; FALSE ALARM: {correct.failed[0].verdict}" if correct.failed else ""
    line = f"| {case.name} | {case.bug} | {plans} | {seconds:.1f} | {_finding(broken)}{alarm} |"
    return line, bool(broken.failed), bool(alarm)


def _finding(results: PerturbResults) -> str:
    if not results.failed:
        return "NOT FOUND"
    first = results.failed[0]
    return f"`{first.plan}`: {first.findings[0].oracle} ({counted(len(results.failed))})"


def main(names: Sequence[str]) -> int:
    """Play all cases, or those named."""
    result = alarms = 0
    cases = [case for case in CASES if not names or case.name in names]
    print("| case | bug | plans | seconds | found by |\n| --- | --- | --- | --- | --- |")
    for case in cases:
        line, is_found, is_alarm = row(case)
        print(line, flush=True)
        result, alarms = result + is_found, alarms + is_alarm
    print(f"\nFound {result} of {len(cases)}, false alarms {alarms}")
    return int(result < len(cases) or alarms > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
