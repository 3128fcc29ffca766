"""Operator in a process of its own, by the kubeconfig of its argument: `correct`, `status-first` or `dumps`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from clientgo.manager import Manager, Options, stop_on_signals
from clientgo.rest import load_config
from tests.perturb.dumps import Dumps
from tests.perturb.greetings import Correct, StatusFirst

OPERATORS = {"correct": Correct, "status-first": StatusFirst, "dumps": Dumps}

if __name__ == "__main__":
    _, kind, kubeconfig = sys.argv
    manager = Manager(load_config(kubeconfig=kubeconfig), options=Options(name="greeter"))
    manager.add_reconciler(OPERATORS[kind])
    manager.run(stop_on_signals())
