"""Feed everything that reads input from others with inputs made by chance; run by `make fuzz`, as long as asked.

    python -m hack.fuzz --minutes 10
    python -m hack.fuzz --targets kubeconfigs watch-frames --inputs 100000 --keep

Each target (tests/fuzz) is tried with its kept corpus first, then with relatives of it. What breaks one is added to its
corpus, where the tests replay it, and the command fails. At the end it prints how many inputs were tried, by target;
`--tally` adds the same to a file. The share of time each target gets is its weight; nothing else is tuned.
"""

import argparse
import gc
import json
import logging
import os
import random
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK
from clientgo.flags import amount, natural
from tests.fuzz.engine import Crash, Fuzzer, digest, keep
from tests.fuzz.targets import TARGETS

TURN = 2.0
"""Seconds a target of weight 1 is tried before the next has its turn."""

MEMORY = 2 * 1024**3
"""Bytes of address space beyond which an allocation fails, and so the input that asked for it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for as long as asked; returns 1 if anything broke."""
    options = _parser().parse_args(arguments)
    if unknown := sorted(set(options.targets) - TARGETS.keys()):
        _parser().error(f"there is no target {', '.join(unknown)}: choose from {', '.join(TARGETS)}")
    os.nice(19 - os.nice(0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    logging.disable(logging.CRITICAL)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    fuzzers = [Fuzzer(TARGETS[name], seed) for name in options.targets or TARGETS]
    _say(f"seed {seed}, {len(fuzzers)} targets, {options.minutes:g} minutes")
    began = SYSTEM_CLOCK.now()
    for fuzzer in fuzzers:
        fuzzer.replay()
    _rounds(fuzzers, began + options.minutes * 60, options.inputs)
    _report(fuzzers, SYSTEM_CLOCK.now() - began)
    _save(fuzzers, new=options.keep)
    if options.tally:
        _tally(options.tally, fuzzers, seed)
    return 1 if any(fuzzer.tally.crashes for fuzzer in fuzzers) else 0


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # for the person who runs it


def _rounds(fuzzers: Sequence[Fuzzer], deadline: float, most: int) -> None:
    told: dict[str, int] = {}
    while (left := deadline - SYSTEM_CLOCK.now()) > 0 and not 0 < most <= _inputs(fuzzers):
        for fuzzer in fuzzers:
            # The last round is a short one, so that each target has had its share when the time is over.
            fuzzer.spend(fuzzer.target.weight * min(TURN, left / sum(each.target.weight for each in fuzzers)))
            if fuzzer.tally.crashes[told.get(fuzzer.target.name, 0) :]:
                told[fuzzer.target.name] = len(fuzzer.tally.crashes)
                _say(f"  {fuzzer.target.name}: {fuzzer.tally.crashes[-1].place}")
        gc.collect()
        _say(f"  {_inputs(fuzzers):,} inputs, {sum(len(f.tally.crashes) for f in fuzzers)} crashes")


def _inputs(fuzzers: Sequence[Fuzzer]) -> int:
    return sum(fuzzer.tally.inputs for fuzzer in fuzzers)


def _report(fuzzers: Sequence[Fuzzer], seconds: float) -> None:
    _say(f"{'target':<18}{'inputs':>12}{'a second':>10}{'answers':>9}{'crashes':>9}")
    for fuzzer in fuzzers:
        tally = fuzzer.tally
        rate = tally.inputs / tally.seconds if tally.seconds else 0.0
        _say(f"{fuzzer.target.name:<18}{tally.inputs:>12,}{rate:>10,.0f}{len(tally.answers):>9}{len(tally.crashes):>9}")
    total = _inputs(fuzzers)
    broken = sum(len(fuzzer.tally.crashes) for fuzzer in fuzzers)
    _say(f"{total:,} inputs in {seconds:,.0f} s, {total / seconds:,.0f} a second, {broken} crashes")
    for fuzzer in fuzzers:
        for crash in fuzzer.tally.crashes:
            _say(f"\n{fuzzer.target.name}: {crash.place}\n  {crash.data[:300]!r}\n{crash.error}")


def _save(fuzzers: Sequence[Fuzzer], *, new: bool) -> None:
    for fuzzer in fuzzers:
        found = [(crash.data, _note(crash)) for crash in fuzzer.tally.crashes]
        if new:
            found += [(data, "") for data in fuzzer.tally.new if len(data) <= 400][:25]
        if found:
            keep(fuzzer.target.name, found)


def _note(crash: Crash) -> str:
    return f"{digest(crash.data)} broke it: {crash.place}"


def _tally(path: Path, fuzzers: Sequence[Fuzzer], seed: int) -> None:
    counts = {fuzzer.target.name: fuzzer.tally.inputs for fuzzer in fuzzers}
    crashes = {fuzzer.target.name: len(fuzzer.tally.crashes) for fuzzer in fuzzers if fuzzer.tally.crashes}
    line = {"date": time.strftime("%Y-%m-%d %H:%M"), "seed": seed, "inputs": counts, "crashes": crashes}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=amount, default=1.0, help="how long (default: 1)")
    parser.add_argument("--inputs", type=natural, default=0, metavar="N", help="end after N inputs, if that is earlier")
    parser.add_argument("--targets", nargs="*", default=[], metavar="NAME", help="these alone (default: all)")
    parser.add_argument("--seed", type=natural, help="of the chances (default: by chance, and printed)")
    parser.add_argument(
        "--keep", action="store_true", help="add inputs that were answered as none before to the corpus"
    )
    parser.add_argument("--tally", type=Path, metavar="FILE", help="add the counts to this file, a line of JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
