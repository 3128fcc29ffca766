"""Writes docs/reliability.md from a run of the fault suite; run by `make reliability`."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = "RELIABILITY_RESULTS"

Row = Mapping[str, object]

_HEAD = """\
# Reliability: what goes wrong, and what happens then

Each row is a run of `tests/faults`: a controller of its own, over real HTTP, and the fault. After each of them every
Foo has its Deployment as specified and a true status; the caches hold what the server has, version for version; no two
workers were ever at one Foo; threads and files are as many as before; nothing was raised that nobody expected; and the
controller was not restarted. `make test-all ARGS=tests/faults` checks it again; `make reliability` writes this page;
`make soak` lets faults happen at random, for as long as wanted. Packets are lost by a router between network namespaces
(Linux, root and iproute2; skipped elsewhere). Runs "with the defaults" take minutes: only `make reliability` has them.

- **Healed**: seconds from the fault's end until all of that was so, in the run that made this page; `*`: from its
  beginning, because nobody has to end it. The bound is the one that the run had, with timeouts short enough for a test;
  below it stands what follows with the defaults, where that differs.
- **Lists**: the most of one kind within one step of the reflector's backoff. A step may cost three: a streamed list,
  a plain one, and the newest state. Steps are 0.8 s, doubled each time up to 30 s, and jittered up to twice that.
- **Shows as**: a line of the log, and a metric that grows. What is no trouble to the controller shows nowhere.
"""

_DIFFERENCES = """\
## Where client-go does otherwise

From what its code and documentation say; nobody ran it for this page.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the suite and write the page, unless a fault does not heal."""
    parser = argparse.ArgumentParser(prog="python -m hack.reliability", description=__doc__)
    parser.add_argument("--results", type=Path, help="the rows of a run that was made before, one line of JSON each")
    given = parser.parse_args(arguments)
    rows = _rows(given.results) if given.results else _measured()
    if not rows:
        return 1
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(rows)} faults")  # noqa: T201  # for the person who ran it
    return 0


def page(rows: Sequence[Row]) -> str:
    """The page, as Markdown."""
    lines = [
        _HEAD,
        "| Fault | The controller | Healed in (at most) | Lists | Shows as |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_line(row) for row in rows]
    lines += ["", _DIFFERENCES, "| Fault | client-go |", "| --- | --- |"]
    lines += [f"| {row['fault']} | {row['differs']} |" for row in rows if row["differs"]]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    star = "*" if row["since"] == "its beginning" else ""
    healed = f"{row['healed']:.1f}{star} s ({row['bound']:.1f} s)"
    if row["real"]:
        healed += f"<br>{row['real']}"
    shown = [f"`{_cell(row[key])}`" for key in ("log", "metric") if row[key]]
    return f"| {row['fault']} | {row['does']} | {healed} | {row['burst']} | {'<br>'.join(shown) or 'nothing'} |"


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("`", "'")


def _measured() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "rows"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "tests/faults",
            "--deselect",
            "tests/faults/test_faults.py::" + _CHECK,
        ]
        ended = subprocess.run(command, cwd=ROOT, env={**os.environ, RESULTS: str(results)}, check=False)
        return _rows(results) if ended.returncode == 0 else []


_CHECK = "test_the_page_has_a_row_for_every_fault"


def _rows(results: Path) -> list[Row]:
    return [msgspec.json.decode(line, type=dict[str, object]) for line in results.read_bytes().splitlines()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
