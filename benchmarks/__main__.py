"""Command `python -m benchmarks`: run the cases; write table, plot and all measurements to `benchmarks/results/`."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.cases.all import CASES
from benchmarks.compare import has_ratios, losses
from benchmarks.machine import BUSY, load, machine, until_quiet, used_cores, versions
from benchmarks.model import OURS, RESULTS, Case, Failed, Setting
from benchmarks.plot import COURSES, draw, plot, summarize
from benchmarks.results import CaseResult, Results, found, judged, merged, read, write
from benchmarks.rounds import run
from benchmarks.table import table


def main(arguments: Sequence[str], cases: Sequence[Case] = CASES, used: Callable[[], float] = used_cores) -> int:
    """Run the requested cases; return the exit code."""
    options = _parser(cases).parse_args(arguments)
    if options.list:
        for case in cases:
            print(f"{case.name:12} {case.words}")
        return 0
    chosen = [case for case in cases if not options.case or case.name in options.case]
    options.used = used
    try:
        return _check(options, chosen) if options.check else _bench(options, chosen, cases)
    except (Failed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"interrupted; the cases that were finished are kept in {options.output}", file=sys.stderr)
        return 130


def _parser(cases: Sequence[Case]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    names = [case.name for case in cases]
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("--case", action="append", choices=names, metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--subject", action="append", metavar="NAME", help=f"only {OURS} and this one; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it works")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds; long cases run fewer (default: 3)")
    parser.add_argument(
        "--server",
        default="",
        metavar="KUBECONFIG",
        help="a real cluster; best without nodes, as it makes thousands of Deployments",
    )
    parser.add_argument(
        "--go-controller",
        default="",
        metavar="PATH",
        help="Kubernetes' sample-controller, built to take QPS and WORKERS from its environment; measured beside ours",
    )
    parser.add_argument("--plain", action="store_true", help="the bundled server without TLS and tokens")
    parser.add_argument("--busy", action="store_true", help="measure even if other processes use the machine")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="DIR", help="where results are written")
    parser.add_argument("--check", action="store_true", help="compare with the results kept there, and write nothing")
    return parser


def _bench(options: argparse.Namespace, chosen: Sequence[Case], cases: Sequence[Case]) -> int:
    options.output.mkdir(parents=True, exist_ok=True)
    base: Path = options.output / _stem(options)
    file, setting, failed, page = base.with_suffix(".json"), _setting(options), False, ""
    for number, case in enumerate(chosen, 1):
        setting.tell(f"{case.name}, case {number} of {len(chosen)}: {case.words}")
        now = _measure(options, setting, [case])
        failed |= OURS in now.cases[case.name].failures
        # After each case: a run that is cut off keeps what it has. A case takes its place among those not run now.
        stored = judged(merged(read(file), now), cases)
        write(stored, file)
        page = table(stored)
        base.with_suffix(".md").write_text(page, encoding="utf-8")
        plot(stored, base.with_suffix(".png"))
        summarize(stored, base.with_name(f"{base.name}-summary.png"))
        for name, course in COURSES.items():
            draw(course, stored, base.with_name(f"{base.name}-{name}.png"))
    print(page)
    return 1 if failed else 0


def _check(options: argparse.Namespace, chosen: Sequence[Case]) -> int:
    file: Path = options.output / f"{_stem(options)}.json"
    before = read(file)
    if before is None:
        raise Failed(f"nothing to compare with: {file} is missing; make it by the same command without --check")
    setting = _setting(options)
    compared = [case for case in chosen if case.name in before.cases and has_ratios(before.cases[case.name])]
    for case in chosen:
        if case not in compared:
            setting.tell(f"{case.name}: not measured, {file.name} has no other subject to compare with")
    lost = losses(before, _measure(options, setting, compared))
    if lost:
        # Believed only when seen twice: a machine has bad minutes.
        names = {loss.case for loss in lost}
        print(f"measuring again: {', '.join(sorted(names))}", flush=True)
        again = losses(before, _measure(options, setting, [case for case in chosen if case.name in names]))
        lost = [loss for loss in again if (loss.case, loss.figure) in {(it.case, it.figure) for it in lost}]
    for loss in lost:
        print(f"LOST: {loss}")
    print("no figure was lost" if not lost else f"{len(lost)} ratios are more than 20 % worse than in {file.name}")
    return 1 if lost else 0


def _stem(options: argparse.Namespace) -> str:
    if options.server:
        return "cluster"
    return "quick" if options.quick else "latest"


def _setting(options: argparse.Namespace) -> Setting:
    began = time.perf_counter()

    def tell(line: str) -> None:
        print(f"[{time.perf_counter() - began:6.1f} s] {line}", file=sys.stderr, flush=True)

    return Setting(
        quick=options.quick,
        rounds=options.rounds,
        kubeconfig=options.server,
        go_controller=options.go_controller,
        plain=options.plain,
        tell=tell,
    )


def _quiet(used: Callable[[], float]) -> None:
    """Wait until the machine is quiet.

    Raises:
        Failed: it stays busy.
    """
    if (cores := until_quiet(used)) > BUSY:
        raise Failed(
            f"the machine is busy: other processes use {cores:.2f} cores, more than {BUSY}; end them, or add --busy"
        )


def _measure(options: argparse.Namespace, setting: Setting, cases: Sequence[Case]) -> Results:
    subjects = [OURS, *options.subject] if options.subject else []
    measured: dict[str, CaseResult] = {}
    for case in cases:
        if not options.busy:
            _quiet(options.used)
        date, busy = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC", load()
        measured[case.name] = found(run(case, setting, subjects), date=date, load=busy)
    server = "a real cluster" if options.server else f"bundled, {'plain HTTP' if options.plain else 'TLS and a token'}"
    return Results(machine=machine(), versions=versions(), quick=options.quick, server=server, cases=measured)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
