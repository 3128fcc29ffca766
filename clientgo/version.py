"""Versions of the distribution and of the Kubernetes API, in one place."""

from functools import cache

VERSION = "0.1.0"

KUBERNETES = "1.37"
"""Newest version of Kubernetes that the library is written for, and that of the built-in types."""

KUBERNETES_VERSIONS = ("1.35", "1.36", KUBERNETES)
"""Versions of Kubernetes that the library is tested with and that the bundled server serves, oldest first."""


@cache
def minor_of(version: str) -> int:
    """Return the minor number of a version of Kubernetes: 36 of `1.36`."""
    return int(version.partition(".")[2])
