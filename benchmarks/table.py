"""Markdown page of the results, with a table per case."""

from benchmarks.model import FLOOR, OURS
from benchmarks.results import CaseResult, FigureResult, LimitResult, Results

_INTRODUCTION = """\
# Benchmarks

Medians; every subject of a case was run in turn, round after round, on the same machine. In brackets: what `clientgo`
costs against that subject, as a factor (below 1 it is cheaper, or faster). *floor* is the same work by Python's own
`http.client`, `json` and `queue`. How each subject does the work: `benchmarks/peers/`. To run it: `make bench`.
"""


def table(results: Results) -> str:
    """Return the page."""
    pieces = [_INTRODUCTION, _about(results)]
    if missed := [line for name, case in results.cases.items() for line in _missed(name, case)]:
        pieces.append("Targets missed:\n\n" + "\n".join(missed) + "\n")
    pieces += [_case(name, case) for name, case in results.cases.items()]
    return "\n".join(pieces)


def number(value: float) -> str:
    """Format a number with three significant digits."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _about(results: Results) -> str:
    machine = ", ".join(f"{key}: {value}" for key, value in results.machine.items())
    versions = ", ".join(f"{key} {value}" for key, value in results.versions.items())
    sizes = "\nSmall sizes (`--quick`): to see that it works, not to quote.\n" if results.quick else ""
    return f"Machine: {machine}.\nVersions: {versions}.\nServer: {results.server}.\n{sizes}"


def _missed(name: str, case: CaseResult) -> list[str]:
    return [
        f"- {name}, {figure.words}: {_with_unit(figure, ours)} in place of {_limit(figure, limit)}"
        for figure in case.figures.values()
        for limit in figure.limits
        if limit.met is False and (ours := figure.median(OURS)) is not None
    ]


def _case(name: str, case: CaseResult) -> str:
    lines = [f"## {name}", "", f"{case.words[0].upper()}{case.words[1:]}. ({case.date}, load {case.load:.1f})", ""]
    if case.skipped:
        return "\n".join([*lines, f"Not run: {case.skipped}.", ""])
    other_items = [FLOOR, *(s for s in case.subjects if s not in {OURS, FLOOR})]
    other_items = [s for s in other_items if s in case.subjects]
    lines.append("| " + " | ".join(["figure", OURS, "target", *other_items]) + " |")
    lines.append("| --- |" + " --- |" * (2 + len(other_items)))
    lines += [_row(figure, other_items) for figure in case.figures.values()]
    lines += ["", *(f"{subject} failed: {_one_line(reason)}\n" for subject, reason in case.failures.items())]
    return "\n".join(lines)


def _row(figure: FigureResult, other_items: list[str]) -> str:
    ours = figure.median(OURS)
    rendered = _with_unit(figure, ours) if ours is not None else ""
    targets = "; ".join(_limit(figure, limit) + _mark(limit) for limit in figure.limits)
    return "| " + " | ".join([figure.words, rendered, targets, *(_other(figure, s) for s in other_items)]) + " |"


def _other(figure: FigureResult, subject: str) -> str:
    value, ratio = figure.median(subject), figure.ratio(subject)
    if value is None:
        return ""
    return _with_unit(figure, value) + (f" ({ratio:.2f} x)" if ratio is not None else "")


def _limit(figure: FigureResult, limit: LimitResult) -> str:
    sign = "≥" if figure.more_is_better else "≤"
    bound = f"{number(limit.bound)} x {limit.of}" if limit.of else _with_unit(figure, limit.bound)
    return f"{sign} {bound}"


def _mark(limit: LimitResult) -> str:
    return {True: " ✓", False: " **✗**", None: ""}[limit.met]


def _with_unit(figure: FigureResult, value: float) -> str:
    return f"{number(value)} {figure.unit}".strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
