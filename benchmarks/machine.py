"""What the results were obtained on."""

import os
import platform
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("kopf", "kubernetes", "lightkube", "msgspec", "urllib3", "uvicorn")


def machine() -> dict[str, str]:
    """The machine, in a few words."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> dict[str, str]:
    """Python's version and those of the libraries that are measured or used."""
    found = {"Python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def load() -> float:
    """The load average over the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
