"""Replicas of the controller as processes, each with its own service account, for a server process.

They run `controller.program` with the command line's defaults, except for the lease's times and the watch idle timeout:
with 85 s, most of a run would be waiting.
"""

import json
import logging
import re
import signal
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ClientGoError
from clientgo.log import setup
from clientgo.rest import Config, RESTClient, load_config
from clientgo.rest.kubeconfigwriter import write_kubeconfig
from clientgo.stop.signals import stop_on_signals
from controller.options import parse
from controller.program import run
from tests.faults.oracle import Resources
from tests.processes import Child

ROOT = Path(__file__).parent.parent.parent
SILENCE = 5.0
"""Seconds that a watch or a request may be silent."""

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


class Replica:
    """One replica; restarted when it has exited, as by a Deployment."""

    def __init__(self, name: str, folder: Path, admin: Config, host: str) -> None:
        self.name = name
        self.user = f"system:serviceaccount:default:{name}"
        self._folder = folder / name
        self._folder.mkdir()
        token = _account(admin, name)
        self._kubeconfig = write_kubeconfig(
            self._folder / "kubeconfig", host, token=token, ca=admin.ca_data.encode() or None
        )
        self.starts = 0
        self.began = 0.0
        self._process: Child | None = None

    @property
    def output(self) -> Path:
        """File that its processes write to."""
        return self._folder / "output.txt"

    @property
    def running(self) -> bool:
        """True while its process runs."""
        return self._process is not None and self._process.process.poll() is None

    def start(self) -> None:
        """Start it, if it is not running."""
        flags = [f"--kubeconfig={self._kubeconfig}", "--leader-elect", "--metrics-bind-address=127.0.0.1:0"]
        flags += ["--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s"]
        flags += ["--leader-elect-retry-period=1s", "--resync-period=0"]
        self.starts += 1
        self.began = SYSTEM_CLOCK.now()
        self._process = Child([sys.executable, "-m", "tests.faults.replicas", *flags], self.output, cwd=ROOT)

    def signal(self, number: int) -> None:
        """Send a signal."""
        if self._process is not None:
            self._process.signal(number)

    def resources(self) -> Resources | None:
        """Measure its process; None if it has exited."""
        return Resources.now(self._process.pid) if self._process is not None and self.running else None

    def caches(self) -> list[Mapping[str, Any]]:
        """Return the contents of its caches, from its debug page."""
        urls = re.findall(r'"serving" server="metrics".*?url="(http://[^"]+)"', self.output.read_text(encoding="utf-8"))
        with urllib.request.urlopen(f"{urls[-1]}/debug/caches", timeout=10) as page:
            result: list[Mapping[str, Any]] = json.load(page)["caches"]
        return result

    def end(self) -> int:
        """Terminate it; return the exit code."""
        if self._process is None:
            return 0
        return self._process.end(signal.SIGCONT, signal.SIGTERM, seconds=40)[0]


def _account(admin: Config, name: str) -> str:
    """Create a service account with all permissions; return its token."""
    client = RESTClient(admin)
    try:
        _post(client, ACCOUNTS, {"metadata": {"name": name}})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        _post(client, BINDINGS, {"metadata": {"name": f"soak-{name}"}, "roleRef": role, "subjects": [subject]})
        response = _post(client, f"{ACCOUNTS}/{name}/token", {"spec": {"expirationSeconds": 86400}})
        return str(response["status"]["token"])
    finally:
        client.close()


def _post(client: RESTClient, path: str, body: Mapping[str, Any]) -> Any:
    return json.loads(client.raw("POST", path, body=json.dumps(body).encode()))


def main() -> None:
    """Run the controller's program with a shorter idle timeout."""
    options = parse(sys.argv[1:])
    setup(level="info")
    config = load_config(kubeconfig=options.kubeconfig)
    try:
        run(replace(config, timeout=SILENCE, watch_idle_timeout=SILENCE), options, stop_on_signals())
    except ClientGoError as error:
        logging.getLogger("sample-controller").error(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
