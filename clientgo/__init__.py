"""client-go for Python: caches, queues, clients, events, leader election; clientgo-tools adds generators and fakes."""

import os.path
import sys

from clientgo import version

__all__ = ["__version__"]

__version__ = version.VERSION

# In a checkout the packages of clientgo-tools are not in this folder but below another entry of sys.path. Like
# `__path__ = __import__("pkgutil").extend_path(__path__, __name__)`, words that mkdocstrings looks for; they take 2 ms.
_folders = (f"{entry}/clientgo" for entry in sys.path if entry)
__path__ += [path for path in _folders if path not in __path__ and os.path.isdir(path)]  # noqa: PTH112
