"""Update of the tables in docs/reports/parity/ from the tests; run by `make parity`, with --check by `make check`.

A row is `| id | behaviour | evidence |`. A test refers to a row by `@pytest.mark.behaviour("WQ-04")` or
`feature("A-11")`, on a function, a class, a `pytest.param` or the module. This script writes the tests into the third
column and keeps the text after `REASON`, which a row without a test needs.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("apiserver/tests", "olm/tests", "tests")
PLACES = tuple(f"`{folder}/" for folder in FOLDERS)
REASON = "; "
PAGES = {"behaviour": "behaviours.md", "feature": "features.md"}

_ROW = re.compile(r"\| ([A-Z]+(?:-[A-Z]+)?-\d+(?:\.\.\d+)?) \| (.+?) \| (.*?) ?\|")


def marks(path: Path, mark: str) -> Iterator[tuple[str, str]]:
    """Yield (id, name of the test) of each mark in a test file; the name is empty for a mark outside of a test."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    owners = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    first = {owner: min([owner.lineno, *(each.lineno for each in owner.decorator_list)]) for owner in owners}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: call.lineno):
        if ast.unparse(call.func).endswith(f"mark.{mark}"):
            name = next((o.name for o in owners if first[o] <= call.lineno <= (o.end_lineno or 0)), "")
            yield from ((ast.literal_eval(argument), name) for argument in call.args)


def shown(root: Path, mark: str) -> dict[str, list[str]]:
    """Return the tests of each id, in pytest's format: `tests/test_x.py::test_y`."""
    result: defaultdict[str, list[str]] = defaultdict(list)
    files = (path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    for path in sorted(path for path in files if path.name.startswith("test_") or path.stem.endswith("cases")):
        for id_, name in marks(path, mark):
            location = path.relative_to(root).as_posix()
            result[id_].append(f"{location}::{name}" if name else location)
    return result


def updated(page: str, tests: dict[str, list[str]]) -> tuple[str, list[str]]:
    """Return the page with the tests of each row, and the problems found."""
    lines, problems, remaining = [], list[str](), dict(tests)
    for line in page.splitlines():
        row = _ROW.fullmatch(line)
        if row is None:
            lines.append(line)
            continue
        id_, text, evidence = row.groups()
        reason = evidence.partition(REASON)[2] if evidence.startswith(PLACES) else evidence
        names = remaining.pop(id_, [])
        more = f" (+{len(names) - 1})" if len(names) > 1 else ""
        evidence = REASON.join(filter(None, [f"`{names[0]}`{more}" if names else "", reason]))
        if not evidence:
            problems.append(f"{id_}: expected a test or a reason")
        lines.append(f"| {id_} | {text} | {evidence} |")
    problems += [f"{id_}: row not found, used in {names[0]}" for id_, names in remaining.items()]
    return "\n".join([*lines, ""]), problems


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Write the pages, or compare them with --check; return 1 for a problem."""
    problems = []
    for mark, name in PAGES.items():
        path = root / "docs" / "reports" / "parity" / name
        old = path.read_text(encoding="utf-8")
        new, wrong = updated(old, shown(root, mark))
        problems += [f"{name}: {problem}" for problem in wrong]
        if "--check" not in arguments:
            path.write_text(new, encoding="utf-8")
        elif new != old:
            problems.append(f"{name}: not up to date; run `make parity`")
    sys.stderr.write("".join(f"error: {problem}\n" for problem in problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
