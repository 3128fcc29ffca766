"""Description of the machine and the versions of a run."""

import os
import platform
from importlib import metadata
from pathlib import Path

_LIBRARIES = ("kopf", "kubernetes", "lightkube", "msgspec", "urllib3", "uvicorn")


def machine() -> dict[str, str]:
    """Describe the machine."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
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


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
