"""Every row of the feature census has a test, a reason why it does not apply, or stands as not built; `make features`.

The rows of the census begin with their id: in a table's first cell, in a numbered list, in a paragraph, or at the end
of a heading. Tests carry `@pytest.mark.feature("A-11")`. docs/features.md has the rest, under three headings: what does
not apply, what applies in part (such rows have a test too), and what is not built, wholly or in part. How a census is
read and where it lies is in hack/census.py.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hack.census import Files, Findings, numbered, read_reasons, read_tests, run

NOT_APPLYING, IN_PART, NOT_BUILT = "Does not apply", "Applies in part", "Not built"
"""The headings of docs/features.md. One that is missing, or another one with a table, is an error."""

_ROW = re.compile(r"(?:\| |\d+\. |#+ .*\()?([A-E](?:-[A-Z]+)?-\d+)\b")


@dataclass(slots=True)
class Answers:
    """What is known of each row: its tests, and what docs/features.md says under each of its headings."""

    findings: Findings = field(default_factory=Findings)
    said: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def one(self, id_: str) -> str:
        """A row's answer in a line; empty if there is none."""
        words = [self.findings.first_test(id_)]
        words += [f"{heading.lower()}: {rows[id_]}" for heading, rows in self.said.items() if id_ in rows]
        return "; ".join(filter(None, words))


def read_census(text: str) -> dict[str, str]:
    """Each row's id and the section it counts for (`B-WQ-04` is of `B-WQ`), in the order of the text."""
    matches = filter(None, map(_ROW.match, text.splitlines()))
    return {match[1]: match[1].rpartition("-")[0] for match in matches}


def read_answers(files: Files, known: Mapping[str, str]) -> Answers:
    """The marks of the tests, and docs/features.md by its headings."""
    answers = Answers()
    lines: dict[str, list[tuple[int, str]]] = {heading: [] for heading in (NOT_APPLYING, IN_PART, NOT_BUILT)}
    heading = ""
    for number, line in numbered(files.reasons):
        heading = line.removeprefix("## ").strip() if line.startswith("## ") else heading
        lines.setdefault(heading, []).append((number, line))
    for heading, below in lines.items():
        rows = read_reasons(below, "docs/features.md", known, answers.findings.problems)
        if rows and heading not in (NOT_APPLYING, IN_PART, NOT_BUILT):
            answers.findings.problems.append(f"docs/features.md: rows under {heading!r}, which means nothing here")
        answers.said[heading] = rows
    read_tests(files.tests, "feature", known, answers.findings)
    return answers


def examine(known: Mapping[str, str], answers: Answers) -> None:
    """Add what is wrong with the whole: rows without an answer, and answers that contradict each other."""
    tests, said, problems = answers.findings.tests, answers.said, answers.findings.problems
    for id_ in known:
        if not answers.one(id_):
            problems.append(f"{id_}: neither a test nor a reason")
        if id_ in tests and id_ in said[NOT_APPLYING]:
            problems.append(f"{id_}: a reason why it does not apply, and a test: {tests[id_][0]}")
        if id_ not in tests and id_ in said[IN_PART]:
            problems.append(f"{id_}: applies in part, and that part has no test")
        if id_ in said[NOT_APPLYING] and (id_ in said[IN_PART] or id_ in said[NOT_BUILT]):
            problems.append(f"{id_}: does not apply, and applies or is to be built")


def counts(known: Mapping[str, str], answers: Answers) -> Iterator[str]:
    """How many rows of each section have a test, and how many stand under each heading; then those not built, by id."""
    columns = [answers.findings.tests, *(answers.said[heading] for heading in (IN_PART, NOT_APPLYING, NOT_BUILT))]
    every = Counter(known.values())
    by_section = [Counter(known[id_] for id_ in column) for column in columns]
    yield f"{'section':<10}{'rows':>6}{'tests':>7}{'in part':>9}{'not apply':>11}{'not built':>11}"
    for section, rows in [*every.items(), ("in all", every.total())]:
        counted = [count.total() if section == "in all" else count[section] for count in by_section]
        yield f"{section:<10}{rows:>6}{counted[0]:>7}{counted[1]:>9}{counted[2]:>11}{counted[3]:>11}"
    for title, tested in (("not built at all", False), ("not built in part", True)):
        ids = [id_ for id_ in known if id_ in answers.said[NOT_BUILT] and (id_ in answers.findings.tests) is tested]
        yield f"{title}: {', '.join(ids) or 'none'}"


def report(files: Files) -> tuple[list[str], list[str], list[str]]:
    """One line for each row: its first test and whatever docs/features.md says of it; the counts; what is wrong."""
    known = read_census(files.census.read_text(encoding="utf-8"))
    answers = read_answers(files, known)
    examine(known, answers)
    table = [f"{id_:<10}{answers.one(id_) or '-'}" for id_ in known]
    return table, list(counts(known, answers)), answers.findings.problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what is wrong; the exit code is 1 if anything is."""
    return run("features", (__doc__ or "").splitlines()[0], report, arguments)


if __name__ == "__main__":
    sys.exit(main())
