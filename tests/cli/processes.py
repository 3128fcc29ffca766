"""Programs in the background, whose output is waited for."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK

SECONDS = 60.0


@contextmanager
def in_background(folder: Path, variables: Mapping[str, str], *command: str, sign: str) -> Iterator[Path]:
    """Runs a program; the block begins once it has said `sign`, and with the block it is told to end, as by Ctrl-C."""
    with tempfile.NamedTemporaryFile("w+", dir=folder.parent, delete=False) as log:
        program = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    said = Path(log.name)
    try:
        wait_for(said, sign, program)
        yield said
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGINT)
        program.wait(20)


def wait_for(said: Path, sign: str, program: subprocess.Popen[bytes] | None = None) -> None:
    """Until a program has said `sign`; if it ends before, that is a failure at once."""
    deadline = SYSTEM_CLOCK.now() + SECONDS
    while sign not in said.read_text():
        assert program is None or program.poll() is None, f"it ended:\n{said.read_text()}"
        assert SYSTEM_CLOCK.now() < deadline, f"{sign!r} is not in:\n{said.read_text()}"
        SYSTEM_CLOCK.sleep(threading.Event(), 0.05)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
