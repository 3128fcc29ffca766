"""The bundled server as a process of its own, which can be killed; stands where an `Environment` would."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from clientgo.envtest.apiserver.server import BundledServer
from clientgo.rest import Config, load_config


class ServerProcess:
    """`python -m clientgo.envtest.apiserver` at one port, with data that outlive it."""

    server: BundledServer | None = None

    def __init__(self, folder: Path, crds: Path, *flags: str, secure: bool = False) -> None:
        self._folder = folder
        self._crds = crds
        self._flags = flags
        self._secure = secure
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Config:
        """Start it; returns when it answers."""
        data, audit = self._folder / "server-data", self._folder / "audit.log"
        kubeconfig = self._folder / "kubeconfig"
        # One that was killed leaves its file.
        kubeconfig.unlink(missing_ok=True)
        flags = [f"--port={self._port}", f"--crd={self._crds}", f"--data-dir={data}", f"--audit-log={audit}"]
        flags += [f"--kubeconfig-out={kubeconfig}", "--ready-seconds=0", *self._flags]
        flags += [] if self._secure else ["--anonymous"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clientgo.envtest.apiserver", *flags],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
            env={k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "COV"))},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = re.search(r"https?://127\.0\.0\.1:(\d+)", line)
        assert found, line
        self._port = int(found[1])
        return load_config(kubeconfig=str(kubeconfig))

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process is not None, "it has been started"
        return self._process.pid

    def signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a word."""
        self._end(signal.SIGKILL)

    def forget(self) -> None:
        """Lose its data."""
        shutil.rmtree(self._folder / "server-data")

    def stop(self) -> None:
        """End it; may be called again."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(number)
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()
