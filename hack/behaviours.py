"""Every behaviour of the census has a test or a reason why it does not apply; run by `make behaviours`.

The census is a Markdown file beside the checkout whose ids stand in bold (`**WQ-04**`, `**LE-01..08**`). Tests say
which behaviour they show by `@pytest.mark.behaviour("WQ-04")`, on a function, a class or one `pytest.param`; they are
read, not imported, so the answer needs none of their dependencies. Reasons are the rows of a table, `id | reason`, in
docs/behaviours.md. A clone without the census has nothing to be held to, and passes.
"""

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CENSUS = ROOT.parent / "shared" / "behaviours.md"
REASONS = ROOT / "docs" / "behaviours.md"
TESTS = ROOT / "tests"

MOST_REASONS = 0.2
"""How much of what is not about Go's own types may be answered by a reason instead of a test."""

_ID = re.compile(r"([A-Z]{2,})-(\d+)(?:\.\.(?:\1-)?(\d+))?")
_BOLD = re.compile(r"\*\*([A-Z]{2,}-[\dA-Z.-]+)\*\*")
_TYPES = re.compile(r"FIFO \*types\* \(([A-Z, ]+)\)")


@dataclass(frozen=True, slots=True)
class Census:
    """The ids in their order, each with its section, and the groups that are about Go's own types."""

    sections: Mapping[str, str]
    types: frozenset[str]


@dataclass(slots=True)
class Findings:
    """What is known of each id, and what is wrong."""

    tests: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    reasons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def expand(text: str) -> list[str]:
    """The ids that one id or one range (`LE-01..08`, `LE-01..LE-08`) stands for; none if it is neither."""
    match = _ID.fullmatch(text)
    if match is None:
        return []
    group, first, last = match.groups()
    return [f"{group}-{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]


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


def read_reasons(text: str, census: Census, findings: Findings) -> None:
    """Take in the rows of `id | reason` tables; the first cell may list ids and ranges, a range may span gaps."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|", 1)]
        if len(cells) < 2 or not _ID.match(cells[0].strip("`* ")):
            continue
        for part in re.split(r"[,\s]+", cells[0]):
            wanted = expand(part.strip("`*"))
            known = [id_ for id_ in wanted if id_ in census.sections]
            if not known or wanted[-1] != known[-1]:
                findings.problems.append(f"docs/behaviours.md:{number}: {part}: no such id")
            for id_ in known:
                if id_ in findings.reasons:
                    findings.problems.append(f"docs/behaviours.md:{number}: {id_}: has a reason already")
                if not cells[1]:
                    findings.problems.append(f"docs/behaviours.md:{number}: {id_}: the reason is empty")
                findings.reasons[id_] = cells[1]


def read_tests(folder: Path, census: Census, findings: Findings) -> None:
    """Take in the marks of every test file below a folder."""
    for path in sorted(folder.rglob("test_*.py")):
        where = path.relative_to(folder.parent).as_posix()
        for name, line, id_ in marks(path.read_text(encoding="utf-8")):
            if id_ in census.sections:
                findings.tests[id_].append(f"{where}::{name}")
            else:
                findings.problems.append(f"{where}:{line}: {id_ or 'a mark that is not a literal'}: no such id")


def marks(source: str) -> Iterator[tuple[str, int, str]]:
    """(test, line, id) of each mark in a module; the id is empty where it is not a literal.

    Marks in a module's variable (cases outside their decorator) count for the tests whose decorators name it.
    """
    tree = ast.parse(source)
    variables = {name: statement for statement in tree.body for name in _assigned(statement)}
    used: set[str] = set()
    for name, decorators in _decorated(tree.body):
        for node in _nodes(decorators):
            if isinstance(node, ast.Name) and node.id in variables:
                used.add(node.id)
                yield from ((name, line, id_) for line, id_ in _ids([variables[node.id]]))
        yield from ((name, line, id_) for line, id_ in _ids(decorators))
    for variable, statement in variables.items():
        if variable not in used:
            yield from ((variable, line, id_) for line, id_ in _ids([statement]))


def _assigned(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _decorated(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Sequence[ast.AST]]]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            # A mark on something that pytest does not collect shows nothing.
            if statement.name.startswith("test"):
                yield prefix + statement.name, statement.decorator_list
        elif isinstance(statement, ast.ClassDef) and statement.name.startswith("Test"):
            yield prefix + statement.name, statement.decorator_list
            yield from _decorated(statement.body, f"{prefix}{statement.name}::")


def _nodes(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    return (node for root in roots for node in ast.walk(root))


def _ids(roots: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in _nodes(roots):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.mark.behaviour", "mark.behaviour"):
            for argument in node.args:
                literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield node.lineno, ast.literal_eval(argument) if literal else ""


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


def table(census: Census, findings: Findings) -> Iterator[str]:
    """One line for each id: its first test, or the reason; then the counts of each section."""
    for id_ in census.sections:
        tests = findings.tests.get(id_, [])
        more = f" (and {len(tests) - 1} more)" if len(tests) > 1 else ""
        yield f"{id_:<8}{tests[0] + more if tests else findings.reasons.get(id_, '-')}"
    yield ""
    every = Counter(census.sections.values())
    tested = Counter(census.sections[id_] for id_ in findings.tests)
    excused = Counter(census.sections[id_] for id_ in findings.reasons)
    yield f"{'section':<24}{'ids':>6}{'tests':>7}{'reasons':>9}"
    for section, ids in every.items():
        yield f"{section[:23]:<24}{ids:>6}{tested[section]:>7}{excused[section]:>9}"
    yield f"{'in all':<24}{every.total():>6}{tested.total():>7}{excused.total():>9}"
    yield f"reasons outside Go's own types ({', '.join(sorted(census.types))}): {excused_share(census, findings):.1%}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table and what is wrong; the exit code is 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--census", type=Path, default=CENSUS, help="the Markdown file with the ids")
    parser.add_argument("--reasons", type=Path, default=REASONS, help="the Markdown file with the reasons")
    parser.add_argument("--tests", type=Path, default=TESTS, help="the folder of the tests")
    parser.add_argument("--quiet", action="store_true", help="print the counts and the problems alone")
    options = parser.parse_args(arguments)
    if not options.census.is_file():
        sys.stdout.write(f"behaviours: there is no {options.census} to hold the tests to; nothing to check\n")
        return 0
    census, findings = read_census(options.census.read_text(encoding="utf-8")), Findings()
    if options.reasons.is_file():
        read_reasons(options.reasons.read_text(encoding="utf-8"), census, findings)
    read_tests(options.tests, census, findings)
    examine(census, findings)
    lines = list(table(census, findings))
    sys.stdout.write("\n".join([*(lines[lines.index("") + 1 :] if options.quiet else lines), ""]))
    sys.stderr.write("".join(f"error: {problem}\n" for problem in findings.problems))
    return 1 if findings.problems else 0


if __name__ == "__main__":
    sys.exit(main())
