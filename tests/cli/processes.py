"""Commands of a project in the background."""

import re
import signal
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clientgo.testing.eventually import eventually
from tests.processes import Child

SECONDS = 60.0


@contextmanager
def in_background(folder: Path, variables: Mapping[str, str], *command: str, sign: str) -> Iterator[Path]:
    """Run a command until the block ends, which begins as soon as the output contains `sign`; yield the output file."""
    with tempfile.NamedTemporaryFile(dir=folder.parent, delete=False) as log:
        output = Path(log.name)
    with Child(command, output, cwd=folder, env=variables) as program:
        program.wait_for(re.escape(sign), SECONDS)
        try:
            yield output
        finally:
            # As Ctrl-C does: make and all that it started are told.
            program.signal_group(signal.SIGINT)
            program.process.wait(20)


def wait_for(output: Path, sign: str) -> None:
    """Wait until an output file contains `sign`."""
    eventually(output.read_text, lambda text: sign in text, seconds=SECONDS)


def free_port() -> int:
    """Return a port that nothing listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
