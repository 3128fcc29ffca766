"""Import cost of generated groups beyond msgspec; `python -m benchmarks.imports`.

Each figure is the median CPU time of 15 new interpreters in milliseconds; the modules take turns, so that other load
affects the same round of all. A first round, not measured, writes the bytecode; PYTHONDONTWRITEBYTECODE is removed from
the environment.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import median

from clientgo.program import natural

BASE = "msgspec"
STATEMENTS = (
    "from generated.clientset import Clientset",
    "from generated.informers import SharedInformerFactory",
    *(
        f"import generated.{layer}.samplecontroller_v1alpha1"
        for layer in ("clientset", "listers", "informers", "applyconfigurations")
    ),
    *(f"import clientgo.kubernetes.{layer}.apps_v1" for layer in ("clients", "listers", "informers")),
)

_PROGRAM = f"""
from time import process_time
first = process_time()
import {BASE}
began = process_time()
{{}}
print(began - first, process_time() - began)
"""


def once(statement: str) -> tuple[float, float]:
    """Return the CPU seconds of importing msgspec, and then of the statement, in a new interpreter."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    program = [sys.executable, "-c", _PROGRAM.format(statement)]
    done = subprocess.run(program, env=environ, capture_output=True, text=True, check=True)
    base, spent = map(float, done.stdout.split())
    return base, spent


def measured(rounds: int, statements: Sequence[str] = STATEMENTS) -> Mapping[str, float]:
    """Return the median of each statement, and of msgspec, in milliseconds."""
    result: dict[str, list[float]] = {BASE: []}
    for number in range(rounds + 1):
        for statement in statements:
            base, spent = once(statement)
            if number:
                result[BASE].append(base)
                result.setdefault(statement, []).append(spent)
    return {name: 1000 * median(each) for name, each in result.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per import."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=natural, default=15, metavar="N", help="interpreters for each (default: 15)")
    figures = measured(max(1, parser.parse_args(arguments).rounds))
    for name, figure in figures.items():
        print(f"{figure:6.1f} ms  {name}{'' if name == BASE else f', beyond {BASE}'}")


if __name__ == "__main__":
    main()
