"""Generator of docs/reports/reliability.md from a run of the fault suite; run by `make reliability`."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reports" / "reliability.md"
RESULTS = "RELIABILITY_RESULTS"

Row = Mapping[str, object]

_HEAD = """\
# Reliability: faults and recovery

Each row is a run of `tests/faults`: a controller over real HTTP, and one fault. After each run every Foo has its
Deployment and a correct status; the caches equal the server, version for version; no two workers processed one Foo at
once; the number of threads and open files is unchanged; there was no unexpected exception; and the controller was not
restarted. `make test-all ARGS=tests/faults` runs the suite; `make reliability` writes this page; `make soak` injects
random faults. A router between network namespaces drops packets (Linux, root and iproute2; skipped elsewhere). Only
`make reliability` runs the rows "with the defaults", which take minutes.

- **Healed**: seconds from the end of the fault until all of that held, in the run for this page; `*`: from its
  start, because it ends by itself. The bound is that of the test, with short timeouts; the line below it applies to the
  default timeouts, where they differ.
- **Lists**: maximum for one kind within one step of the reflector's backoff. A step may cost three: a streamed list,
  a regular one, and the newest state. Steps are 0.8 s, doubled up to 30 s, with jitter up to twice that.
- **Shows as**: a line of the log, and a metric that increases.
"""

_DIFFERENCES = """\
## Differences from client-go

According to its code and documentation; not measured.
"""


def main(arguments: Sequence[str]) -> int:
    """Run the suite and write the page, if every fault heals."""
    parser = argparse.ArgumentParser(prog="python -m hack.reliability", description=__doc__)
    parser.add_argument("--results", type=Path, help="rows of an earlier run, one line of JSON each")
    options = parser.parse_args(arguments)
    rows = _rows(options.results) if options.results else _measured()
    if not rows:
        return 1
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(rows)} faults")  # noqa: T201  # for the person who ran it
    return 0


def page(rows: Sequence[Row]) -> str:
    """Return the page as Markdown."""
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
    rendered = [f"`{_cell(row[key])}`" for key in ("log", "metric") if row[key]]
    return f"| {row['fault']} | {row['does']} | {healed} | {row['burst']} | {'<br>'.join(rendered) or 'nothing'} |"


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
