"""Network of namespaces: a client and a server with a router between them that can drop packets.

    client 10.213.1.2, .3 ── 10.213.1.1 router 10.213.2.1 ── 10.213.2.2 server

Three Linux network namespaces joined by virtual cables: TCP is the kernel's, and dropped packets cause no reset, which
a proxy cannot simulate. This requires `ip` (iproute2) and the permission to create namespaces: see `why_not`.
"""

import ctypes
import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from clientgo.stop.lifecycle import Group

T = TypeVar("T")

SERVER = "10.213.2.2"
CLIENT = "10.213.1.2"
OTHER = "10.213.1.3"
"""The client's second address, for connections that a router has not forgotten."""

_CLONE_NEWNET = 0x40000000
_NAMES = ("client", "router", "server")
_SET_UP = f"""
-n client addr add {CLIENT}/24 dev near
-n client addr add {OTHER}/24 dev near
-n router addr add 10.213.1.1/24 dev left
-n router addr add 10.213.2.1/24 dev right
-n server addr add {SERVER}/24 dev near
-n client link set lo up
-n router link set lo up
-n server link set lo up
-n client link set near up
-n router link set left up
-n router link set right up
-n server link set near up
-n client route add default via 10.213.1.1 src {CLIENT}
-n server route add default via 10.213.2.1
"""


class NotAllowed(Exception):
    """Network namespaces are not available, or not permitted."""


class Network:
    """The three namespaces, until `close`; their names contain this process' number.

    Raises:
        NotAllowed: they cannot be created.
    """

    def __init__(self) -> None:
        self._names = {name: f"faults-{os.getpid()}-{name}" for name in _NAMES}
        try:
            for name in _NAMES:
                self._ip(f"netns add {self._names[name]}")
            self._cable("client", "left")
            self._cable("server", "right")
            for line in _SET_UP.strip().splitlines():
                self._ip(line)
            self.run("router", lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
        except (NotAllowed, OSError) as error:
            self.close()
            raise NotAllowed(str(error)) from error

    def close(self) -> None:
        """Delete everything."""
        for name in self._names.values():
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False, timeout=60)

    def run(self, location: str, call: Callable[[], T]) -> T:
        """Run `call()` in a namespace; threads and sockets that it creates stay there."""
        results: list[T] = []

        def there() -> None:
            with Path(f"/run/netns/{self._names[location]}").open() as file:
                # From Python 3.12 on, os.setns.
                if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), f"the namespace {location} can't be entered")
            results.append(call())

        group = Group()
        group.start(there, name=f"at-the-{location}")
        group.join()
        return results[0]

    def lose(self, *addresses: str) -> None:
        """Drop packets to these addresses."""
        for address in addresses:
            self._ip(f"-n router route add blackhole {address}/32")

    def deliver(self, *addresses: str) -> None:
        """Deliver packets again."""
        for address in addresses:
            self._ip(f"-n router route delete blackhole {address}/32")

    def move(self, address: str) -> None:
        """Use this client address for new connections; existing ones are unchanged."""
        self._ip(f"-n client route replace default via 10.213.1.1 src {address}")

    def _cable(self, location: str, end: str) -> None:
        existing, router = self._names[location], self._names["router"]
        self._ip(f"link add near netns {existing} type veth peer name {end} netns {router}")

    def _ip(self, words: str) -> None:
        command = ["ip", *(self._names.get(word, word) for word in words.split())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            raise NotAllowed(f"`{' '.join(command)}`: {done.stderr.strip()}")


@contextmanager
def network() -> Iterator[Network]:
    """Provide a network for the block."""
    with closing(Network()) as built:
        yield built


@functools.cache
def why_not() -> str:
    """Return the reason why networks cannot be created here, or ""."""
    if shutil.which("ip") is None:
        return "program `ip` (iproute2) not found, required for network namespaces"
    try:
        with network():
            return ""
    except NotAllowed as error:
        return f"network namespaces can't be made here: {error}"
