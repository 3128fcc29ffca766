"""Description of the machine and the versions of a run."""

import os
import platform
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("kopf", "kubernetes", "lightkube", "msgspec", "urllib3", "uvicorn")


def machine() -> dict[str, str]:
    """Describe the machine."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": platform.system(),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are measured or used."""
    result = {"Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            result[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return result


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]


def used_cores(seconds: float = 2.0) -> float:
    """Return how many cores are in use for some seconds, as time stolen from a virtual machine."""
    before = _ticks()
    threading.Event().wait(seconds)
    idle, total = (now - then for now, then in zip(_ticks(), before, strict=True))
    return (os.cpu_count() or 1) * (1 - idle / total)


BUSY = 0.25
"""Cores that other processes may use: more changes even ratios."""
PATIENCE = 30
"""How often a busy machine is looked at again, for two seconds each, before it is taken as it is."""


def until_quiet(used: Callable[[], float] = used_cores) -> float:
    """Wait until at most `BUSY` cores are in use, or patience ends; return how many were in use at last."""
    for _ in range(PATIENCE):
        if (cores := used()) <= BUSY:
            break
    return cores


def _ticks() -> tuple[int, int]:
    """Return the ticks in which all cores were idle, and all ticks, since the start of the machine."""
    # user nice system idle iowait irq softirq steal; those of guests are part of user.
    ticks = [int(text) for text in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
