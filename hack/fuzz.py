"""Fuzzer for every parser of external input; run by `make fuzz`.

    python -m hack.fuzz --minutes 10
    python -m hack.fuzz --targets kubeconfigs watch-frames --inputs 100000 --keep

Each target (tests/fuzz) gets its corpus first, then mutations of it. An input that breaks a target is added to its
corpus, which the tests replay, and the command fails. At the end it prints the number of inputs by target; `--tally`
appends them to a file. A target's weight is its share of the time.
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
from clientgo.program.flags import amount, natural
from tests.fuzz.engine import Fuzzer, digest, keep
from tests.fuzz.targets import TARGETS

TURN = 2.0
"""Seconds that a target of weight 1 runs before the next one."""

MEMORY = 2 * 1024**3
"""Limit of the address space in bytes: an input that needs more fails."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for the given time; return 1 if anything broke."""
    options = _parser().parse_args(arguments)
    if unknown := sorted(set(options.targets) - TARGETS.keys()):
        _parser().error(f"invalid target {', '.join(unknown)}: choose from {', '.join(TARGETS)}")
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
    reported: dict[str, int] = {}
    while (seconds := deadline - SYSTEM_CLOCK.now()) > 0 and not 0 < most <= _inputs(fuzzers):
        for fuzzer in fuzzers:
            # The last round is shorter, so that each target gets its share.
            fuzzer.spend(fuzzer.target.weight * min(TURN, seconds / sum(each.target.weight for each in fuzzers)))
            if fuzzer.tally.crashes[reported.get(fuzzer.target.name, 0) :]:
                reported[fuzzer.target.name] = len(fuzzer.tally.crashes)
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
        matches = [(crash.data, f"{digest(crash.data)} broke it: {crash.place}") for crash in fuzzer.tally.crashes]
        if new:
            matches += [(data, "") for data in fuzzer.tally.new if len(data) <= 400][:25]
        if matches:
            keep(fuzzer.target.name, matches)


def _tally(path: Path, fuzzers: Sequence[Fuzzer], seed: int) -> None:
    counts = {fuzzer.target.name: fuzzer.tally.inputs for fuzzer in fuzzers}
    crashes = {fuzzer.target.name: len(fuzzer.tally.crashes) for fuzzer in fuzzers if fuzzer.tally.crashes}
    line = {"date": time.strftime("%Y-%m-%d %H:%M"), "seed": seed, "inputs": counts, "crashes": crashes}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=amount, default=1.0, help="duration (default: 1)")
    parser.add_argument("--inputs", type=natural, default=0, metavar="N", help="stop after N inputs")
    parser.add_argument("--targets", nargs="*", default=[], metavar="NAME", help="targets to run (default: all)")
    parser.add_argument("--seed", type=natural, help="random seed (default: random, printed)")
    parser.add_argument("--keep", action="store_true", help="add inputs with a new kind of result to the corpus")
    parser.add_argument("--tally", type=Path, metavar="FILE", help="append the counts to this file, as a line of JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
