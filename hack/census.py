"""What `make behaviours` and `make features` share: rows of a census, tests that are marked with them, and the rest.

A census is a Markdown file beside the checkout. A test says which rows it shows by `@pytest.mark.<mark>("AB-01")`, on
a function, a class or one `pytest.param`; tests are read, not imported, so the answer needs none of their
dependencies. Rows that no test shows have a line in a table, `id | reason`. A clone without the census has nothing to
be held to.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_ID = re.compile(r"([A-Z]+(?:-[A-Z]+)?)-(\d+)(?:\.\.(?:\1-)?(\d+))?")


@dataclass(slots=True)
class Findings:
    """What is known of each id, and what is wrong."""

    tests: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    reasons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def first_test(self, id_: str) -> str:
        """The first test of an id and how many more there are; empty if it has none."""
        tests = self.tests.get(id_, [])
        return (tests[0] if tests else "") + (f" (and {len(tests) - 1} more)" if len(tests) > 1 else "")


def expand(text: str) -> list[str]:
    """The ids that one id or one range (`LE-01..08`, `LE-01..LE-08`) stands for; none if it is neither."""
    match = _ID.fullmatch(text)
    if match is None:
        return []
    group, first, last = match.groups()
    return [f"{group}-{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1)]


def read_reasons(
    lines: Iterable[tuple[int, str]], where: str, known: Mapping[str, str], problems: list[str]
) -> dict[str, str]:
    """The rows of `id | reason` tables in numbered lines; the first cell may list ids and ranges that span gaps."""
    reasons: dict[str, str] = {}
    for number, line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|", 1)]
        if len(cells) < 2 or not _ID.match(cells[0].strip("`* ")):
            continue
        for part in re.split(r"[,\s]+", cells[0]):
            wanted = expand(part.strip("`*"))
            there = [id_ for id_ in wanted if id_ in known]
            if not there or wanted[-1] != there[-1]:
                problems.append(f"{where}:{number}: {part}: no such id")
            for id_ in there:
                if id_ in reasons:
                    problems.append(f"{where}:{number}: {id_}: has a reason already")
                if not cells[1]:
                    problems.append(f"{where}:{number}: {id_}: the reason is empty")
                reasons[id_] = cells[1]
    return reasons


def read_tests(folder: Path, mark: str, known: Mapping[str, str], findings: Findings) -> None:
    """Take in the marks of every test file below a folder."""
    for path in sorted(folder.rglob("test_*.py")):
        where = path.relative_to(folder.parent).as_posix()
        for name, line, id_ in marks(path.read_text(encoding="utf-8"), mark):
            if id_ in known:
                findings.tests[id_].append(where if name == "pytestmark" else f"{where}::{name}")
            else:
                findings.problems.append(f"{where}:{line}: {id_ or 'a mark that is not a literal'}: no such id")


def marks(source: str, mark: str) -> Iterator[tuple[str, int, str]]:
    """(test, line, id) of each mark in a module; the id is empty where it is not a literal.

    Marks in a module's variable (cases outside their decorator) count for the tests whose decorators name it; those in
    `pytestmark` are of the whole module.
    """
    tree = ast.parse(source)
    variables = {name: statement for statement in tree.body for name in _assigned(statement)}
    used: set[str] = set()
    for name, decorators in _decorated(tree.body):
        for node in _nodes(decorators):
            if isinstance(node, ast.Name) and node.id in variables:
                used.add(node.id)
                yield from ((name, line, id_) for line, id_ in _ids([variables[node.id]], mark))
        yield from ((name, line, id_) for line, id_ in _ids(decorators, mark))
    for variable, statement in variables.items():
        if variable not in used:
            yield from ((variable, line, id_) for line, id_ in _ids([statement], mark))


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


def _ids(roots: Iterable[ast.AST], mark: str) -> Iterator[tuple[int, str]]:
    for node in _nodes(roots):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in (f"pytest.mark.{mark}", f"mark.{mark}"):
            for argument in node.args:
                literal = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                yield node.lineno, ast.literal_eval(argument) if literal else ""


@dataclass(frozen=True, slots=True)
class Files:
    """What a run reads: the census, the reasons, the folder of the tests."""

    census: Path
    reasons: Path
    tests: Path


Report = Callable[[Files], tuple[list[str], list[str], list[str]]]
"""The table's lines, the lines of its counts, the problems."""


def run(name: str, summary: str, report: Report, arguments: Sequence[str] | None) -> int:
    """The command of one census: print its table and what is wrong; the exit code is 1 if anything is."""
    parser = argparse.ArgumentParser(prog=name, description=summary)
    parser.add_argument(
        "--census", type=Path, default=ROOT.parent / "shared" / f"{name}.md", help="the file with the ids"
    )
    parser.add_argument("--reasons", type=Path, default=ROOT / "docs" / f"{name}.md", help="the file with the reasons")
    parser.add_argument("--tests", type=Path, default=ROOT / "tests", help="the folder of the tests")
    parser.add_argument("--quiet", action="store_true", help="print the counts and the problems alone")
    options = parser.parse_args(arguments)
    if not options.census.is_file():
        sys.stdout.write(f"{name}: there is no {options.census} to hold the tests to; nothing to check\n")
        return 0
    table, counts, problems = report(Files(options.census, options.reasons, options.tests))
    sys.stdout.write("\n".join([*([] if options.quiet else [*table, ""]), *counts, ""]))
    sys.stderr.write("".join(f"error: {problem}\n" for problem in problems))
    return 1 if problems else 0


def numbered(path: Path) -> list[tuple[int, str]]:
    """The lines of a text file with their numbers; none if there is no such file."""
    return list(enumerate(path.read_text(encoding="utf-8").splitlines(), 1)) if path.is_file() else []
