"""Open ports: only loopback unless a flag requests more. Read from the kernel of Linux."""

import ipaddress
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.processes import Child

ROOT = Path(__file__).parent.parent.parent
LISTEN = "0A"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux has /proc/net"),
]

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def address(hexadecimal: str) -> Address:
    """Convert an address from the kernel, which writes each 32 bits in the machine's byte order."""
    words = [int(hexadecimal[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(hexadecimal), 8)]
    return ipaddress.ip_address(b"".join(words))


def sockets(pid: int) -> set[str]:
    result = set[str]()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            result.update(re.findall(r"^socket:\[(\d+)\]$", str(link.readlink())))
    return result


def listeners(pid: int) -> dict[int, Address]:
    """Return port and address of every listening TCP socket and every bound UDP socket of a process."""
    mine, result = sockets(pid), dict[int, Address]()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if inode in mine and (state == LISTEN or table.startswith("udp")):
                location, _, port = local.partition(":")
                result[int(port, 16)] = address(location)
    return result


def beyond_loopback(pid: int) -> dict[int, Address]:
    return {port: location for port, location in listeners(pid).items() if not location.is_loopback}


@contextmanager
def running(folder: Path, *flags: str) -> Iterator[int]:
    """Run `main.py --embedded` until its workers run; provide its process id."""
    command = [sys.executable, "-u", str(ROOT / "main.py"), "--embedded", *flags]
    with Child(command, folder / "output.txt", cwd=folder) as program:
        program.wait_for("starting workers")
        yield program.pid
        program.end(signal.SIGTERM, seconds=20)


def test_program_listens_on_loopback_alone(tmp_path: Path) -> None:
    with running(tmp_path) as pid:
        assert listeners(pid), "its API server listens, or this test looks in the wrong place"
        assert beyond_loopback(pid) == {}


def test_probes_are_reached_from_elsewhere_when_a_flag_says_so(tmp_path: Path) -> None:
    """No other port is open; this shows that the test above can fail."""
    with running(tmp_path, "--health-probe-bind-address=:0") as pid:
        [values] = beyond_loopback(pid).values()
        assert values.is_unspecified
