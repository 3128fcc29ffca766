"""Background processes of a project."""

import re
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clientgo.envtest.webhooks import free_port as free_port
from clientgo.testing.eventually import eventually
from tests.processes import Child

SECONDS = 60.0


@contextmanager
def in_background(folder: Path, variables: Mapping[str, str], *command: str, sign: str) -> Iterator[Path]:
    """Run a command for the block and yield its output file, once that contains `sign`."""
    with tempfile.NamedTemporaryFile(dir=folder.parent, delete=False) as log:
        output = Path(log.name)
    with Child(command, output, cwd=folder, env=variables) as program:
        program.wait_for(re.escape(sign), SECONDS)
        try:
            yield output
        finally:
            # Like Ctrl-C: signal make and every process it started.
            program.signal_group(signal.SIGINT)
            program.process.wait(20)


def wait_for(output: Path, sign: str) -> None:
    """Wait until an output file contains `sign`."""
    eventually(output.read_text, lambda text: sign in text, seconds=SECONDS)
