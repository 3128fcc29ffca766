"""`python main.py ...` as a process of its own, its output kept in a file so that it never waits for a reader."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK

ROOT = Path(__file__).parent.parent.parent


class Program:
    """The controller with these flags, in the folder `cwd`, which is its home too."""

    def __init__(self, flags: Sequence[str], cwd: Path, **environ: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "COV"))}
        cwd.mkdir(exist_ok=True)
        self._output = cwd / "output.txt"
        self._read = 0
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "main.py"), *flags],
                cwd=cwd,
                env={**clean, "HOME": str(cwd), **environ},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        """What was printed so far."""
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, pattern: str, seconds: float = 30.0) -> str:
        """The first line, behind those that were waited for before, in which `pattern` is found."""
        deadline = SYSTEM_CLOCK.now() + seconds
        while SYSTEM_CLOCK.now() < deadline:
            ended = self.process.poll() is not None
            text = self.output
            if match := re.compile(pattern, re.MULTILINE).search(text, self._read):
                begin, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
                if end >= 0:
                    self._read = end + 1
                    return text[begin:end]
            if ended:
                break
            threading.Event().wait(0.01)
        self.process.kill()
        self.process.wait()
        raise AssertionError(f"{pattern!r} did not come: {self.output}")

    def end(self, *signals: int, seconds: float = 15.0) -> tuple[int, str]:
        """Send signals, and return the exit code and everything that was printed."""
        for number in signals:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds), self.output
        finally:
            self.process.kill()
            self.process.wait()
