"""Reports of results: a line per plan, failures grouped by cause, timelines, and JUnit XML."""

import re
from collections.abc import Sequence
from html import escape

from clientgo.perturb.engine import PerturbResults, PlanResult
from clientgo.perturb.kinds.rehearsal import EXPECTED_FROM
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.plans import PLANS, REFERENCE
from clientgo.perturb.record import ScenarioRun, TimelineEntry, Violation
from clientgo.perturb.scenario import Scenario
from clientgo.perturb.state import owner_uids

MARKS = {
    "step": "──",
    "saw": "◂ saw",
    "wrote": "▸ wrote",
    "read": "  read",
    "change": "  ",
    "perturb": "✗",
    "fault": "!!",
}
MAX_TIMELINE = 60
_WORD = re.compile(r"[0-9A-Za-z]+")
_CONTEXT = 12


def progress(result: PlanResult, done: int, total: int, seconds_left: float) -> str:
    """Return the line about a plan that has run."""
    remaining = f", {seconds_left:.0f} s left" if done < total else ""
    return f"[{done}/{total}{remaining}] {_mark(result)} {result.verdict.removesuffix(': ok')}"


def _mark(result: PlanResult) -> str:
    if not result.is_applicable:
        return "n/a "
    return "ok  " if result.passed else "FAIL"


def cause_of(result: PlanResult) -> tuple[str, ...]:
    """Return what failed results of one cause have in common: oracles, and differences without their numbers."""
    first = result.findings[0]
    of_writes = {finding.oracle for finding in result.findings} & {"rejected", "bug", "quiet"}
    lines = [line for line in first.details if not line.startswith(EXPECTED_FROM)] or [first.text]
    return first.oracle, *sorted(of_writes), *(_WORD.sub(_without_number, line) for line in lines)


def _without_number(word: re.Match[str]) -> str:
    """Return a word; `#` in place of a number, or of a word with one, such as a random name."""
    return "#" if any(map(str.isdigit, word[0])) else word[0]


def groups(results: Sequence[PlanResult]) -> list[list[PlanResult]]:
    """Return the failed results in groups of one cause, the shortest plan first."""
    causes: dict[tuple[str, ...], list[PlanResult]] = {}
    for result in results:
        if result.findings:
            causes.setdefault(cause_of(result), []).append(result)
    return sorted(
        (sorted(group, key=lambda r: (len(str(r.plan)), str(r.plan))) for group in causes.values()),
        key=len,
        reverse=True,
    )


def counted(number: int) -> str:
    """Return a number of plans in words, such as `1 plan`."""
    return f"{number} plan{'' if number == 1 else 's'}"


def summary(results: PerturbResults, *, command: str = "", timelines: bool = True) -> str:
    """Return what is wrong, for people: each cause with a plan that shows it, its timeline, and how to repeat it."""
    lines: list[str] = []
    for number, group in enumerate(groups(results.results), 1):
        heading = [f"Cause {number}: {counted(len(group))}"] if len(results) > 1 else []
        lines += ["", *heading, *_cause(results, group, command, timelines=timelines)]
    lines += _not_applicable(results)
    lines += _not_watched(results)
    if results.masks.lines():
        lines += ["", "Not compared, because it differs between two equal runs:"]
        lines += [f"  {line}" for line in results.masks.lines()]
    failed, seconds = len(results.failed), results.seconds / max(len(results), 1)
    total, empty = counted(len(results)), len(results.not_applicable)
    verdict = f"{failed} of {total} failed" if failed else f"{total} passed"
    verdict += f", {empty} of them not applicable" if empty else ""
    left_out = f", {counted(results.left_out)} not run" if results.left_out else ""
    lines += ["", f"{verdict} in {results.seconds:.1f} s ({seconds:.2f} s each){left_out}"]
    return "\n".join(lines).lstrip("\n")


def _not_applicable(results: PerturbResults) -> list[str]:
    """Return the plans that show nothing, by kind and reason."""
    reasons: dict[tuple[str, str], list[PlanResult]] = {}
    for result in results.not_applicable:
        reasons.setdefault((result.plan.kind, result.run.not_applicable), []).append(result)
    lines = [f"  {counted(len(plans))} of {kind}: {reason}" for (kind, reason), plans in reasons.items()]
    return ["", "Not applicable, so that they show nothing about the operator:", *lines] if lines else []


def _not_watched(results: PerturbResults) -> list[str]:
    """Return the kinds of children that the operator does not watch: it may do so on purpose."""
    runs = [result.run for result in results if result.plan == REFERENCE]
    children = {
        change.ref.resource: None
        for run in runs
        for change in run.changes
        if change.actor == "operator" and change.kind == "ADDED" and owner_uids(change.new or {"metadata": {}})
        if change.ref.resource not in run.watched
    }
    lines = [f"  {name}: what others change or delete is not noticed" for name in children]
    return ["", "Created with an owner, and not watched (owns=):", *lines] if lines else []


def _cause(results: PerturbResults, group: list[PlanResult], command: str, *, timelines: bool) -> list[str]:
    shortest, findings = group[0], group[0].findings
    lines = [f"  {shortest.plan}: {explanation(shortest)}"]
    for finding in findings:
        oracle = ORACLES.get(finding.oracle)
        lines.append(f"  {finding.oracle} ({oracle.explanation})" if oracle is not None else "")
        lines.append(f"    {finding.text}")
        lines += [f"    No bug if {oracle.none_if}"] if oracle is not None else []
        lines += [f"      {line}" for line in finding.details]
    if timelines:
        lines += ["  Timeline:", *(f"    {line}" for line in timeline(shortest.run, results.scenario))]
    return [*lines, f"  Repeat it: {repeat(results, shortest, command)}", *_also(group)]


def _also(group: list[PlanResult]) -> list[str]:
    further = [str(result.plan) for result in group[1:]]
    more = f" and {len(further) - 8} more" if len(further) > 8 else ""
    return [f"  Also: {', '.join(further[:8])}{more}"] if further else []


def brief(group: list[PlanResult], command: str) -> list[str]:
    """Return one cause without details: the shortest plan, its first finding, and how to repeat it by `command`."""
    shortest = group[0]
    heading, finding = f"  {shortest.plan}: {explanation(shortest)}", f"  {shortest.findings[0]}"
    return [heading, finding, f"  Repeat it: {command.replace('{plan}', str(shortest.plan))}", *_also(group)]


def explanation(result: PlanResult) -> str:
    """Return what a plan does."""
    return "the scenario itself" if result.plan == REFERENCE else PLANS[result.plan.kind].explanation


def repeat(results: PerturbResults, result: PlanResult, command: str = "") -> str:
    """Return how to repeat a plan: `command`, in which {plan} and {steps} stand for the arguments."""
    steps = f" --steps {','.join(map(str, results.steps))}" if results.steps else ""
    command = command or 'perturb(..., plans=["{plan}"])'
    return command.replace("{steps}", steps).replace("{plan}", str(result.plan))


def timeline(run: ScenarioRun, scenario: Scenario) -> list[str]:
    """Return the timeline as lines, of a long one the part around what the plan changes."""
    part = excerpt(run, scenario)
    lines = [_line(run.trace[index]) for index in part]
    earlier, later = part.start, len(run.trace) - part.stop
    before = [f"… {earlier} earlier entries are left out"] if earlier else []
    return [*before, *lines, *([f"… {later} later entries are left out"] if later else [])]


def excerpt(run: ScenarioRun, scenario: Scenario, most: int = MAX_TIMELINE) -> range:
    """Return the indices of the entries from shortly before the perturbation, or the first step of the plan's own.

    Short timelines are whole.
    """
    usual = [step.name for step in scenario.steps]
    changed = next(
        (number for number, name in enumerate(run.steps) if usual[number : number + 1] != [name]), len(usual)
    )
    hits = (
        index
        for index, entry in enumerate(run.trace)
        if entry.lane == "perturb" or (entry.lane == "step" and entry.step >= changed)
    )
    begin = max(0, next(hits, 0) - _CONTEXT) if len(run.trace) > most else 0
    return range(begin, min(begin + most, len(run.trace)))


def _line(entry: TimelineEntry) -> str:
    detail = f"  ({entry.detail})" if entry.detail else ""
    return f"{entry.at:8.2f} s {MARKS.get(entry.lane, ''):8}{entry.text}{detail}"


def junit(results: PerturbResults) -> str:
    """Return the results as JUnit XML, a test case for each plan."""
    name = _attribute(results.scenario.name)
    cases = []
    for result in results:
        failure = "".join(map(_junit_failure, result.findings))
        if not result.is_applicable:
            failure = f"<skipped message={_attribute(result.run.not_applicable)}/>"
        case = f'<testcase classname={name} name={_attribute(str(result.plan))} time="{result.seconds:.3f}">'
        cases.append(f"  {case}{failure}</testcase>")
    numbers = {"tests": len(results), "failures": len(results.failed), "skipped": len(results.not_applicable)}
    head = " ".join(f'{name}="{number}"' for name, number in numbers.items())
    suite = f'<testsuite name={name} {head} time="{results.seconds:.3f}">'
    return "\n".join(('<?xml version="1.0" encoding="UTF-8"?>', suite, *cases, "</testsuite>", ""))


def _junit_failure(finding: Violation) -> str:
    details = escape("\n".join(finding.details))
    return f"<failure type={_attribute(finding.oracle)} message={_attribute(finding.text)}>{details}</failure>"


def _attribute(text: str) -> str:
    return f'"{escape(text)}"'
