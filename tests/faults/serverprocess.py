"""Bundled server as a process, which can be killed; replaces an `Environment`."""

import os
import re
import shutil
import sys
from pathlib import Path

from clientgo.rest import Config, load_config
from clientgo_apiserver.server import ApiServer
from tests.processes import Child


class ServerProcess:
    """`python -m clientgo_apiserver` at one port, with persistent data."""

    server: ApiServer | None = None

    def __init__(self, folder: Path, crds: Path, *flags: str, secure: bool = False) -> None:
        self._folder = folder
        self._crds = crds
        self._flags = flags
        self._secure = secure
        self._port = 0
        self._process: Child | None = None

    def start(self) -> Config:
        """Start the process; return when it answers."""
        data, audit = self._folder / "server-data", self._folder / "audit.log"
        kubeconfig = self._folder / "kubeconfig"
        # One that was killed leaves its file.
        kubeconfig.unlink(missing_ok=True)
        flags = [f"--port={self._port}", f"--crd={self._crds}", f"--data-dir={data}", f"--audit-log={audit}"]
        flags += [f"--kubeconfig-out={kubeconfig}", "--ready-seconds=0", *self._flags]
        flags += [] if self._secure else ["--anonymous"]
        output = self._folder / "server.txt"
        output.unlink(missing_ok=True)
        self._process = Child(
            [sys.executable, "-m", "clientgo_apiserver", *flags],
            output,
            cwd=Path(__file__).parent.parent.parent,
            env={k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "COV"))},
        )
        line = self._process.wait_for(r"https?://127\.0\.0\.1:(\d+)")
        match = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
        assert match, line
        self._port = int(match[1])
        return load_config(kubeconfig=kubeconfig)

    @property
    def pid(self) -> int:
        """Process id."""
        assert self._process is not None, "it has been started"
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process, as a crash would."""
        self.stop()

    def forget(self) -> None:
        """Delete its data."""
        shutil.rmtree(self._folder / "server-data")

    def stop(self) -> None:
        """End the process; may be called again."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
