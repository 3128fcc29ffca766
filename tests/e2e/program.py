"""`python main.py ...` as a child process."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.processes import Child

ROOT = Path(__file__).parent.parent.parent


class Program(Child):
    """Controller with these flags, in the folder `cwd`, which is also its home; `script` replaces `main.py`."""

    def __init__(self, flags: Sequence[str], cwd: Path, *, script: Path = ROOT / "main.py", **environ: str) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "COV"))}
        cwd.mkdir(exist_ok=True)
        command = [sys.executable, str(script), *flags]
        super().__init__(command, cwd / "output.txt", cwd=cwd, env={**clean, "HOME": str(cwd), **environ})
