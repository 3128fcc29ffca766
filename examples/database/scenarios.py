"""One scenario for both operators.

clientgo perturb examples/database/scenarios.py --scenario clientgo
clientgo perturb examples/database/scenarios.py --scenario kopf --smoke
"""

import os
import sys
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from clientgo.perturb import ClusterState, OperatorCommand, Scenario, change, create, delete
from examples.database.server import DatabaseServer
from examples.database.with_clientgo import DatabaseReconciler

HERE = Path(__file__).resolve().parent
SHOP = {
    "apiVersion": "databases.example.com/v1",
    "kind": "Database",
    "metadata": {"name": "shop", "namespace": "default"},
    "spec": {"connections": 10},
}


class OwnServer:
    """The database server of this process and of the operators that it starts: empty at the start of each run."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="databases-")

    def reset(self) -> None:
        """Start the server anew."""
        os.environ["DATABASE_SERVER"] = str(Path(self._folder.name, str(os.getpid())))
        DatabaseServer().stop()
        DatabaseServer().start()

    def state(self) -> dict[str, int]:
        """Return the number of connections by database; passwords are random."""
        return {name: account.connections for name, account in DatabaseServer().accounts().items()}


def passwords_match(state: ClusterState) -> bool:
    """Return whether each Secret has the password of its database, if that exists."""
    accounts = DatabaseServer().accounts()
    stored = {f"default_{secret['metadata']['name']}": secret["data"]["password"] for secret in state.all("secrets")}
    return all(b64decode(stored[name]).decode() == accounts[name].password for name in stored.keys() & accounts.keys())


STEPS = [
    create(SHOP),
    change(SHOP, {"spec": {"connections": 20}}),
    delete(SHOP),
    create({**SHOP, "spec": {"connections": 5}}),
    delete(SHOP),
]

CLIENTGO = Scenario(
    DatabaseReconciler,
    STEPS,
    name="clientgo",
    crds=[HERE / "crd.yaml"],
    at_rest=[passwords_match],
    outside=OwnServer(),
)

KOPF = Scenario(
    OperatorCommand(
        [sys.executable, "-m", "kopf", "run", "--all-namespaces", "-m", "examples.database.with_kopf"],
        environ={"PYTHONPATH": str(HERE.parents[1])},
    ),
    STEPS,
    name="kopf",
    crds=[HERE / "crd.yaml"],
    at_rest=[passwords_match],
    outside=OwnServer(),
    settle=3.0,
)
