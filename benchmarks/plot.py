"""Chart of the results: the cost of each subject relative to the library, for steady figures with peers."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks.model import FLOOR, GO, KOPF, LIGHTKUBE, OFFICIAL, OURS, URLLIB3
from benchmarks.results import CaseResult, Results

COLOURS = {
    OURS: "#1f6feb",
    FLOOR: "#8b949e",
    GO: "#00acd7",
    KOPF: "#d29922",
    OFFICIAL: "#cf222e",
    LIGHTKUBE: "#2da44e",
    URLLIB3: "#8250df",
}
NAMES = {GO: "Go's sample", OFFICIAL: "kubernetes (official)"}


HEADLINES = (
    ("create", "seconds", "500 objects synced, time in s"),
    ("create", "cpu", "500 objects synced, CPU time in s"),
    ("create", "peak", "500 objects synced, memory in MB"),
    ("cold-start", "seconds", "20,000 objects cached, time in s"),
    ("cold-start", "resident", "20,000 objects cached, memory in MB"),
    ("idle", "core", "1,000 objects idle, % of a core"),
)
"""Figures of the summary: case, figure, title."""
GO_HEADLINES = (
    ("create", "seconds", "500 synced, 2 workers, time in s"),
    ("create", "cpu", "500 synced, 2 workers, CPU time in s"),
    ("create-16", "seconds", "1,000 synced, 16 workers, time in s"),
    ("create-16", "scale_seconds", "1,000 scaled, 16 workers, time in s"),
    ("large-cluster", "seconds", "100,000 objects, start, time in s"),
    ("large-cluster", "resident", "100,000 objects, memory in MB"),
)
"""Figures of the summary where Kubernetes' sample-controller was measured, too."""


def summarize(results: Results, file: Path) -> None:
    """Write a bar chart of the headline figures of the library and its peers; nothing unless all were measured."""
    headlines = GO_HEADLINES if any(GO in case.subjects for case in results.cases.values()) else HEADLINES
    matches = [
        (title, results.cases[case].figures[key])
        for case, key, title in headlines
        if case in results.cases and key in results.cases[case].figures
    ]
    if len(matches) < len(headlines):
        return
    mpl.use("Agg")
    figure, panels = plt.subplots(2, 3, figsize=(11, 3.6), layout="constrained")
    for axes, (title, item) in zip(panels.flat, matches, strict=True):
        medians = {s: median for s in (OURS, GO, KOPF, OFFICIAL, LIGHTKUBE) if (median := item.median(s)) is not None}
        bars = axes.barh(
            [NAMES.get(subject, subject) for subject in medians],
            list(medians.values()),
            color=[COLOURS[subject] for subject in medians],
        )
        axes.bar_label(bars, fmt=_label, fontsize=8, padding=2)
        axes.set_title(title, fontsize=9, loc="left")
        axes.margins(x=0.15)
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.tick_params(axis="y", labelsize=8, length=0)
        axes.spines[:].set_visible(False)
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


@dataclass(frozen=True)
class Course:
    """Chart of figures of one case against a number, which is the end of their keys."""

    case: str
    number: str
    """What the number is: the label of the horizontal axis."""
    panels: tuple[tuple[str, str], ...]
    """First part of the keys, and title."""
    log: bool = False
    """The horizontal axis is logarithmic."""


COURSES = {
    "growth": Course(
        "million",
        "objects",
        (
            ("cpu", "processor time for each object, us"),
            ("memory", "memory for each object, bytes"),
            ("pause", "longest pause of the collector, ms"),
        ),
        log=True,
    ),
    "start": Course(
        "large-cluster",
        "seconds after the start",
        (("memory", "100,000 objects, memory in MB"), ("cpu", "100,000 objects, processor time in s")),
    ),
}
"""Charts by the end of their files' names."""


def draw(course: Course, results: Results, file: Path) -> None:
    """Write a chart; nothing unless its figures were measured."""
    case = results.cases.get(course.case)
    if case is None:
        return
    panels = [(title, lines) for key, title in course.panels if (lines := _lines(case, key))]
    if not panels:
        return
    mpl.use("Agg")
    figure, axes_of = plt.subplots(1, len(panels), figsize=(3.7 * len(panels), 3), layout="constrained", squeeze=False)
    for axes, (title, lines) in zip(axes_of.flat, panels, strict=True):
        for subject, line in lines.items():
            axes.plot(list(line), list(line.values()), "o-", color=COLOURS[subject], label=NAMES.get(subject, subject))
        if course.log:
            axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.set_title(title, fontsize=9, loc="left")
        axes.set_xlabel(course.number, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    axes_of.flat[0].legend(fontsize=8)
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


def _lines(case: CaseResult, key: str) -> dict[str, dict[int, float]]:
    figures = {
        int(number): item
        for name, item in case.figures.items()
        for first, _, number in (name.rpartition("_"),)
        if first == key and number.isdigit()
    }
    lines = {
        subject: {number: median for number, item in figures.items() if (median := item.median(subject)) is not None}
        for subject in case.subjects
    }
    return {subject: line for subject, line in lines.items() if line}


def _label(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def plot(results: Results, file: Path) -> None:
    """Write the chart; nothing if there is nothing to compare."""
    rows = _rows(results)
    if not rows:
        return
    # A backend that needs no display.
    mpl.use("Agg")
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.28 * len(rows)), layout="constrained")
    for height, (_, ratios) in enumerate(reversed(rows)):
        axes.axhline(height, color="#eaeef2", linewidth=1, zorder=0)
        for subject, ratio in ratios.items():
            axes.plot(ratio, height, "o", color=COLOURS[subject], markersize=7)
    axes.set_yticks(range(len(rows)), [words for words, _ in reversed(rows)], fontsize=8)
    _decorate(axes, results)
    figure.savefig(file, dpi=120, metadata={"Software": None})
    plt.close(figure)


def _rows(results: Results) -> list[tuple[str, dict[str, float]]]:
    rows = []
    for name, case in results.cases.items():
        for value in case.figures.values():
            ratios = {s: 1 / ratio for s in case.subjects if s != OURS and (ratio := value.ratio(s)) is not None}
            if value.steady and ratios:
                rows.append((f"{name}: {value.words}", {OURS: 1.0, **ratios}))
    return rows


def within(span: tuple[float, float], value: float) -> bool:
    """Return whether a value lies in a range."""
    return span[0] <= value <= span[1]


def _decorate(axes: Axes, results: Results) -> None:
    axes.set_xscale("log")
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if within(axes.get_xlim(), tick)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color=COLOURS[OURS], linewidth=1, zorder=0)
    axes.set_xlabel("cost, as a multiple of clientgo's (right of the line: dearer than clientgo)")
    axes.set_title(f"Cost of the same work, {results.machine.get('processor', '')}", fontsize=10)
    for subject, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, label=NAMES.get(subject, subject))
    axes.legend(fontsize=8, loc="upper right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
