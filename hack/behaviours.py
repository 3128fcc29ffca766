"""Every behaviour of the census has a test or a reason why it does not apply; run by `make behaviours`.

The ids of the census stand in bold (`**WQ-04**`, `**LE-01..08**`); tests carry `@pytest.mark.behaviour("WQ-04")`, and
the reasons are in docs/behaviours.md. How a census is read and where it lies is in hack/census.py.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hack.census import Files, Findings, expand, numbered, read_reasons, read_tests, run

MOST_REASONS = 0.2
"""How much of what is not about Go's own types may be answered by a reason instead of a test."""

_BOLD = re.compile(r"\*\*([A-Z]{2,}-[\dA-Z.-]+)\*\*")
_TYPES = re.compile(r"FIFO \*types\* \(([A-Z, ]+)\)")


@dataclass(frozen=True, slots=True)
class Census:
    """The ids in their order, each with its section, and the groups that are about Go's own types."""

    sections: Mapping[str, str]
    types: frozenset[str]


def read_census(text: str) -> Census:
    """The census in a Markdown text: ids in bold, under headings of the second level."""
    sections: dict[str, str] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        for match in _BOLD.finditer(line):
            sections.update((id_, section) for id_ in expand(match[1]) if id_ not in sections)
    types = _TYPES.search(text)
    return Census(sections, frozenset(re.findall(r"[A-Z]+", types[1])) if types else frozenset())


def examine(census: Census, findings: Findings) -> None:
    """Add what is wrong with the whole: ids with neither test nor reason, ids with both, too many reasons."""
    for id_ in census.sections:
        tested, excused = id_ in findings.tests, id_ in findings.reasons
        if not tested and not excused:
            findings.problems.append(f"{id_}: neither a test nor a reason")
        if tested and excused:
            findings.problems.append(f"{id_}: a reason why it does not apply, and a test: {findings.tests[id_][0]}")
    share = excused_share(census, findings)
    if share > MOST_REASONS:
        findings.problems.append(f"{share:.1%} of the ids outside Go's own types have a reason; at most 20 % may")


def excused_share(census: Census, findings: Findings) -> float:
    """The share of ids with a reason among those that are not about Go's own types."""
    others = [id_ for id_ in census.sections if id_.split("-")[0] not in census.types]
    return sum(id_ in findings.reasons for id_ in others) / len(others) if others else 0.0


def counts(census: Census, findings: Findings) -> Iterator[str]:
    """How many ids of each section have a test, and how many a reason."""
    every = Counter(census.sections.values())
    tested = Counter(census.sections[id_] for id_ in findings.tests)
    excused = Counter(census.sections[id_] for id_ in findings.reasons)
    yield f"{'section':<24}{'ids':>6}{'tests':>7}{'reasons':>9}"
    for section, ids in every.items():
        yield f"{section[:23]:<24}{ids:>6}{tested[section]:>7}{excused[section]:>9}"
    yield f"{'in all':<24}{every.total():>6}{tested.total():>7}{excused.total():>9}"
    yield f"reasons outside Go's own types ({', '.join(sorted(census.types))}): {excused_share(census, findings):.1%}"


def report(files: Files) -> tuple[list[str], list[str], list[str]]:
    """One line for each id: its first test, or the reason; the counts of each section; what is wrong."""
    census, findings = read_census(files.census.read_text(encoding="utf-8")), Findings()
    sections = census.sections
    findings.reasons = read_reasons(numbered(files.reasons), "docs/behaviours.md", sections, findings.problems)
    read_tests(files.tests, "behaviour", sections, findings)
    examine(census, findings)
    table = [f"{id_:<8}{findings.first_test(id_) or findings.reasons.get(id_, '-')}" for id_ in sections]
    return table, list(counts(census, findings)), findings.problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what is wrong; the exit code is 1 if anything is."""
    return run("behaviours", (__doc__ or "").splitlines()[0], report, arguments)


if __name__ == "__main__":
    sys.exit(main())
