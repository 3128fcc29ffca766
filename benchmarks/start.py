"""Instructions of the sample controller until it connects for its first request: `python -m benchmarks.start`.

They are counted by valgrind, so other load does not matter. `make static` fails if they exceed `BUDGET` by more than
2 %, as much as processors and paths differ; a change that saves more lowers it. Nothing is counted without valgrind, or
with another Python than 3.11, whose imports cost more or less.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUDGET = 645
"""Million instructions."""

_TOLERANCE = 0.02
_PYTHON = (3, 11)
_ROOT = Path(__file__).resolve().parents[1]
_KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {username: u, password: p}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
"""
# Only development tools install typing_extensions, which msgspec imports where it is there.
_PROGRAM = """
import os, sys
sys.modules["typing_extensions"] = None
sys.addaudithook(lambda event, _: os._exit(0) if event == "socket.connect" else None)
sys.argv[0] = "main.py"
with open("main.py") as file:
    source = file.read()
exec(compile(source, "main.py", "exec"))
"""


def count() -> float:
    """Return the million instructions until the first connection."""
    ignored = ("PYTHONDONTWRITEBYTECODE", "KUBERNETES_SERVICE_HOST", "COVERAGE_PROCESS_START")
    environ = {name: value for name, value in os.environ.items() if name not in ignored} | {"PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        kubeconfig.write_text(_KUBECONFIG)
        start = [sys.executable, "-c", _PROGRAM, "--kubeconfig", str(kubeconfig)]
        options = {"cwd": _ROOT, "env": environ, "check": True, "capture_output": True, "text": True, "timeout": 600}
        subprocess.run(start, **options)  # type: ignore[call-overload]  # writes the bytecode
        counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        report = subprocess.run(counting + start, **options).stderr  # type: ignore[call-overload]
    match = re.search(r"I +refs: +([\d,]+)", report)
    assert match is not None, report
    return int(match[1].replace(",", "")) / 1e6


def main() -> int:
    """Print the instructions, and return whether they exceed the budget."""
    if sys.version_info[:2] != _PYTHON or shutil.which("valgrind") is None:
        print("start not counted: it takes valgrind, and Python {}.{}".format(*_PYTHON))
        return 0
    instructions = count()
    print(f"{instructions:.0f} million instructions until the first request, of {BUDGET} million")
    if instructions < BUDGET * (1 - _TOLERANCE):
        print(f"lower BUDGET in {Path(__file__).name} to {instructions:.0f}")
    return int(instructions > BUDGET * (1 + _TOLERANCE))


if __name__ == "__main__":
    sys.exit(main())
