"""HTML page of results, in one file: each cause with the difference and a picture of what happened."""

from html import escape
from importlib.resources import files

from clientgo.perturb.engine import PerturbResults, PlanResult
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.record import ScenarioRun, TimelineEntry
from clientgo.perturb.report import counted, excerpt, explanation, groups, repeat
from clientgo.perturb.scenario import Scenario

MAX_ENTRIES = 80
MAX_OBJECTS = 8
_WIDTH, _HEIGHT, _LEFT, _TOP = 26, 42, 20, 30
_NAME = 30
"""Pixels from the top of a lane's name to its line."""

_LANES = {"step": "user", "saw": "operator saw", "read": "operator read", "wrote": "operator wrote"}


def page(results: PerturbResults, command: str = "") -> str:
    """Return the page."""
    template = files("clientgo.perturb").joinpath("page.html").read_text(encoding="utf-8")
    total = counted(len(results))
    verdict = f"{len(results.failed)} of {total} failed" if results.failed else f"{total} passed"
    causes = groups(results.results)
    sections = [_cause(number, results, group, command) for number, group in enumerate(causes, 1)]
    if not causes and results.results:
        sections = [f"<section><h2>Undisturbed run</h2>{picture(results.results[0].run, results.scenario)}</section>"]
    masks = "".join(f"<li><code>{escape(line)}</code></li>" for line in results.masks.lines())
    plans = "".join(
        f"<tr class={'ok' if result.passed else 'bad'}><td><code>{escape(str(result.plan))}</code><td>"
        f"{escape(str(result.findings[0]) if result.findings else 'ok')}"
        for result in results
    )
    words = {
        "TITLE": escape(results.scenario.name), "VERDICT": escape(f"{verdict} in {results.seconds:.1f} s"),
        "CAUSES": "".join(sections), "PLANS": plans,
        "MASKS": f"<h2>Not compared</h2><ul>{masks}</ul>" if masks else "",
    }  # fmt: skip
    for word, text in words.items():
        template = template.replace(f"<!--{word}-->", text)
    return template


def _cause(number: int, results: PerturbResults, group: list[PlanResult], command: str) -> str:
    result = group[0]
    blocks = []
    for finding in result.findings:
        about = ORACLES[finding.oracle].explanation if finding.oracle in ORACLES else ""
        blocks.append(
            f"<p><b>{escape(finding.oracle)}</b> <span class=dim>{escape(about)}</span><br>{escape(finding.text)}"
        )
        if finding.details:
            blocks.append(f"<pre class=diff>{''.join(map(_diff_line, finding.details))}</pre>")
    also = ", ".join(f"<code>{escape(str(other.plan))}</code>" for other in group[1:])
    return (
        f"<section><h2>Cause {number}: <code>{escape(str(result.plan))}</code></h2>"
        f"<p>{escape(explanation(result))}</p>{''.join(blocks)}{picture(result.run, results.scenario)}"
        f"<p>Repeat it: <code>{escape(repeat(results, result, command))}</code></p>"
        f"{f'<p class=dim>Also: {also}</p>' if also else ''}</section>"
    )


def _diff_line(line: str) -> str:
    kind = {"-": "gone", "+": "extra"}.get(line[:1], "")
    return f"<span class='{kind}'>{escape(line)}</span>\n"


def picture(run: ScenarioRun, scenario: Scenario) -> str:
    """Return a picture of a run, and the texts of its marks below.

    It has lanes for the user, the operator and each object, from left to right.
    """
    part = (run.trace[index] for index in excerpt(run, scenario, MAX_ENTRIES))
    entries = [entry for entry in part if entry.lane != "read" or entry.detail != "200"]
    objects = list(dict.fromkeys(entry.subject for entry in entries if entry.subject))[:MAX_OBJECTS]
    used = {entry.lane for entry in entries}
    lanes = [*(name for lane, name in _LANES.items() if lane in used), *objects]
    drawing = _Drawing({name: _TOP + index * _HEIGHT for index, name in enumerate(lanes, 1)})
    width = _LEFT + (len(entries) + 2) * _WIDTH
    marks = [drawing.lane(name, width) for name in lanes]
    marks += [drawing.mark(entry, _LEFT + index * _WIDTH) for index, entry in enumerate(entries, 1)]
    # Names are above their lanes, and stay where they are when the picture is scrolled.
    names = "".join(f"<span style='top:{y - _NAME}px'>{escape(name)}</span>" for name, y in drawing.rows.items())
    svg = f"<svg width={width} height={drawing.bottom} role=img>{''.join(marks)}</svg>"
    texts = "".join(f"<li class={kind}>{escape(text)}" for kind, text in drawing.texts)
    drawn = f"<div class=scroll><div class=drawing><div class=lanes>{names}</div>{svg}</div></div>"
    return f"{drawn}<ol class=texts>{texts}</ol>"


class _Drawing:
    """Marks of one picture; steps and perturbations have numbers, under which `texts` has what they are."""

    def __init__(self, rows: dict[str, int]) -> None:
        self.rows = rows
        self.bottom = _TOP + len(rows) * _HEIGHT + 20
        self.texts: list[tuple[str, str]] = []

    def lane(self, name: str, width: int) -> str:
        """Return the line of a lane."""
        y = self.rows[name]
        return f"<line class=lane x1=0 x2={width} y1={y} y2={y} />"

    def mark(self, entry: TimelineEntry, x: int) -> str:
        """Return the mark of an entry."""
        title = f"<title>{escape(f'{entry.at:.2f} s {entry.text} {entry.detail}')}</title>"
        upright = f"<line x1={x} x2={x} y1=22 y2={self.bottom} />"
        row = self.rows.get(entry.subject)
        if entry.lane in ("perturb", "fault"):
            return f"<g class=perturb>{title}{upright}{self._number('perturb', entry.text, x)}</g>"
        if entry.lane == "step":
            circle = f"<circle cx={x} cy={self.rows['user']} r=6 />"
            return f"<g class=step>{title}{upright}{circle}{self._number('step', entry.text, x)}</g>"
        if entry.lane == "change":
            if row is None:
                return f"<g class=start>{title}{upright}</g>"
            kind = entry.text.partition(" ")[0].lower()
            return f"<g class={kind}>{title}<rect x={x - 8} y={row - 8} width=16 height=16 rx=3 /></g>"
        y = self.rows[_LANES[entry.lane]]
        link = f"<line class=link x1={x} y1={y} x2={x} y2={row} />" if row is not None else ""
        return f"<g class={entry.lane}>{title}{link}<circle cx={x} cy={y} r=6 /></g>"

    def _number(self, kind: str, text: str, x: int) -> str:
        """Return the number of a text that is below the picture."""
        self.texts.append((kind, text))
        return f"<text x={x} y=16 text-anchor=middle>{len(self.texts)}</text>"
