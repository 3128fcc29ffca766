"""Operator in a process of its own, by the kubeconfig of its argument; a start adds a line to the file in $STARTS."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from clientgo.manager import Manager, Options, stop_on_signals
from clientgo.rest import load_config
from tests.perturb.dumps import Dumps
from tests.perturb.greetings import Correct, EndsOnError, Evicts, RetriesLate, StatusFirst

OPERATORS = {
    "correct": Correct, "status-first": StatusFirst, "dumps": Dumps, "retries-late": RetriesLate, "ends": EndsOnError,
    "evicts": Evicts,
}  # fmt: skip

if __name__ == "__main__":
    _, kind, kubeconfig = sys.argv
    if "STARTS" in os.environ:
        with Path(os.environ["STARTS"]).open("a") as starts:
            print(kind, file=starts)
    manager = Manager(load_config(kubeconfig=kubeconfig), options=Options(name="greeter"))
    manager.add_reconciler(OPERATORS[kind])
    manager.run(stop_on_signals())
