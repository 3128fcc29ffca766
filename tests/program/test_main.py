"""Main function of a program, in processes of their own: signals belong to a process."""

import signal
import sys
from pathlib import Path

import pytest

from tests.processes import Child

pytestmark = pytest.mark.e2e

PROGRAM = """
import sys
from clientgo.program.commandline import LoggingFlags
from clientgo.errors import ConfigError
from clientgo.program.main import run_program

def start(flags, stop):
    if sys.argv[1:] == ["misconfigured"]:
        raise ConfigError("no cluster")
    print("ready", flush=True)
    stop.wait()

sys.exit(run_program(start, LoggingFlags()))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_program_with_exit_code_0(number: signal.Signals, tmp_path: Path) -> None:
    with Child([sys.executable, "-c", PROGRAM], tmp_path / "output") as process:
        process.wait_for("ready")
        code, output = process.end(number)
    assert (code, "shutting down; a second signal exits at once" in output) == (0, True)


def test_error_of_the_configuration_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    with Child([sys.executable, "-c", PROGRAM, "misconfigured"], tmp_path / "output") as process:
        code, output = process.end()
    assert (code, "no cluster" in output, "Traceback" in output) == (1, True, False)
