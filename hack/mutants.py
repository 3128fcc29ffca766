"""Do the tests notice when the code is broken? Run by `make mutants`; takes long, and is no part of `make check`.

Each module of a group is broken a bit at a time (`hack/mutations.py`), in copies of the tree in a temporary folder, and
the group's own tests are run on it. A mutant is killed if they fail, or do not end in time; else it survives: either
the tests are missing something, or the change means nothing (docs/mutants.md tells which). Large groups are sampled,
by a seed that is printed.
"""

import argparse
import ast
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hack.mutations import Mutant, mutants

ROOT = Path(__file__).resolve().parent.parent

WANTED = 0.85
"""The share of mutants that a group's tests have to kill."""


HANGING = 8
"""Seconds after which a single test has noticed that something never happens."""


@dataclass(frozen=True, slots=True)
class Group:
    """Modules and the tests that are to notice when one of them is broken."""

    modules: tuple[str, ...]
    tests: str


GROUPS = {
    "workqueue": Group(("clientgo/workqueue/*.py",), "tests/workqueue"),
    "informer": Group(("clientgo/cache/informer.py",), "tests/cache"),
    "reflector": Group(("clientgo/cache/reflector.py",), "tests/cache"),
    "record": Group(("clientgo/record/correlator.py",), "tests/record"),
    "leaderelection": Group(("clientgo/leaderelection/*.py",), "tests/leaderelection"),
}


class Tree:
    """A copy of what the tests need, in which one module at a time is broken."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.folder = folder
        for name in ("artifacts", "clientgo", "controller", "generated", "tests"):
            if (source / name).is_dir():
                shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("setup.cfg", "pyproject.toml"):
            if (source / name).is_file():
                shutil.copy(source / name, folder / name)

    def passes(self, tests: Sequence[str], limit: float, *, keep_bytecode: bool = False) -> bool:
        """Whether the tests pass within `limit` seconds."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-o",
            f"timeout={HANGING}",
            *tests,
        ]
        environment = {**os.environ} if keep_bytecode else {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            # With whatever the tests have started.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return False

    def survives(self, module: str, mutant: Mutant, tests: Sequence[str], limit: float) -> bool:
        """Whether the tests pass although the module is broken."""
        path = self.folder / module
        original = path.read_text(encoding="utf-8")
        # Bytecode is matched by second and size: a mutant of the same length would run as the one before.
        for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            stale.unlink()
        path.write_text(mutant.text, encoding="utf-8")
        try:
            return self.passes(tests, limit)
        finally:
            path.write_text(original, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the mutants of one module."""

    module: str
    tried: int
    possible: int
    survivors: tuple[Mutant, ...]

    @property
    def killed(self) -> int:
        """How many the tests noticed."""
        return self.tried - len(self.survivors)


def sampled(found: Sequence[Mutant], most: int, seed: int) -> list[Mutant]:
    """At most `most` of the mutants (all if it is 0), always the same ones for one seed, in their order."""
    if not most or most >= len(found):
        return list(found)
    return [found[index] for index in sorted(random.Random(seed).sample(range(len(found)), most))]  # nosec B311  # a draw, no secret


def tests_for(root: Path, module: str, folder: str) -> list[str]:
    """The group's test files, those named after the module first: they are the likeliest to notice."""
    stem = Path(module).stem
    files = sorted((root / folder).glob("test_*.py"), key=lambda path: (f"_{stem}" not in path.stem, path.name))
    return [path.relative_to(root).as_posix() for path in files]


def run(group: Group, trees: Sequence[Tree], options: argparse.Namespace) -> Iterator[Result]:
    """Break each module of the group, as it was when the trees were copied.

    Raises:
        RuntimeError: the tests fail on a module that is not broken; their failing on a broken one would mean nothing.
    """
    root = trees[0].folder
    for tree in trees:
        # For the bytecode of all the rest, which a mutant's run does not write.
        tree.passes([group.tests], 300.0, keep_bytecode=True)
    paths = [path for glob in group.modules for path in sorted(root.glob(glob))]
    for module in (path.relative_to(root).as_posix() for path in paths):
        source = (root / module).read_text(encoding="utf-8")
        tests = tests_for(root, module, group.tests)
        found = list(mutants(source))
        if found:
            limit = max(10.0, 4 * seconds_unbroken(trees[0], module, source, tests))
            tried = sampled(found, options.sample, options.seed)
            outcomes = break_in_parallel(trees, module, tried, tests, limit)
            lived = tuple(mutant for mutant, lives in zip(tried, outcomes, strict=True) if lives)
            sys.stderr.write(f"{module}: {len(tried) - len(lived)} of {len(tried)} killed\n")
            yield Result(module, len(tried), len(found), lived)


def seconds_unbroken(tree: Tree, module: str, source: str, tests: Sequence[str]) -> float:
    """How long the tests take on the module as the mutants have it (without comments), but with nothing broken."""
    began = time.perf_counter()
    if not tree.survives(module, Mutant(0, "", ast.unparse(ast.parse(source)), ""), tests, 300.0):
        raise RuntimeError(f"{module}: its tests fail on the code as it is")
    return time.perf_counter() - began


def break_in_parallel(
    trees: Sequence[Tree], module: str, tried: Sequence[Mutant], tests: Sequence[str], limit: float
) -> list[bool]:
    """Which of the mutants survive, each tree being busy with one at a time."""
    free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
    for tree in trees:
        free.put(tree)

    def survives(mutant: Mutant) -> bool:
        tree = free.get()
        try:
            return tree.survives(module, mutant, tests, limit)
        finally:
            free.put(tree)

    with ThreadPoolExecutor(len(trees)) as pool:
        return list(pool.map(survives, tried))


def report(name: str, results: Sequence[Result]) -> Iterator[str]:
    """The group's counts and survivors, as Markdown."""
    tried, killed = sum(result.tried for result in results), sum(result.killed for result in results)
    yield f"\n## {name}: {killed} of {tried} killed ({killed / max(1, tried):.1%})\n"
    yield "| module | mutants | tried | killed | survived |"
    yield "| --- | --- | --- | --- | --- |"
    for result in results:
        counts = (result.possible, result.tried, result.killed, len(result.survivors))
        yield f"| {result.module} | {' | '.join(map(str, counts))} |"
    yield ""
    for result in results:
        for mutant in result.survivors:
            yield f"- {Path(result.module).name}:{mutant.line} {mutant.kind}: `{mutant.original}`"


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Break, test and report; the exit code is 1 if a group's tests kill too few, 2 if they can't be judged."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", default=sorted(GROUPS), metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="at most N mutants a module (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="picks the sample (default: 1)")
    parser.add_argument("--processes", type=int, default=2, choices=(1, 2), help="test runs at a time (default: 2)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.groups) - set(GROUPS)):
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    sampling = f"at most {options.sample} a module, seed {options.seed}" if options.sample else "all"
    sys.stdout.write(f"# Mutants: {sampling}\n")
    enough = True
    with tempfile.TemporaryDirectory() as folder:
        trees = [Tree(root, Path(folder) / str(number)) for number in range(options.processes)]
        for name in options.groups:
            try:
                results = list(run(GROUPS[name], trees, options))
            except RuntimeError as error:
                sys.stderr.write(f"error: {error}\n")
                return 2
            sys.stdout.write("".join(f"{line}\n" for line in report(name, results)))
            sys.stdout.flush()
            enough &= sum(result.killed for result in results) >= WANTED * sum(result.tried for result in results)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
