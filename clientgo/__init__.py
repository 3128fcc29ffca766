"""client-go for Python: caches, queues, clients, events, leader election, generators, and a server to test on."""

from clientgo import version

__all__ = ["__version__"]

__version__ = version.VERSION
