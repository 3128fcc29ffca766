"""Deadlines of commands, copies and forwarded ports, whatever the peer does."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ClientGoError
from clientgo.kubernetes.clients.core_v1 import CoreV1, PodClient
from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from tests.streams.misbehaving import BEHAVIOURS, misbehaving

pytestmark = pytest.mark.integration

TIMEOUT = 0.3
MARGIN = 1.0


def endless() -> Iterator[bytes]:
    while True:
        yield bytes(65536)


def run(pods: PodClient, folder: Path) -> None:
    pods.run("web", ["cat"], timeout=TIMEOUT)


def run_with_input(pods: PodClient, folder: Path) -> None:
    pods.run("web", ["cat"], stdin=endless(), timeout=TIMEOUT)


def copy_to(pods: PodClient, folder: Path) -> None:
    (folder / "large").write_bytes(bytes(20_000_000))
    pods.copy_to("web", folder / "large", "/srv/", timeout=TIMEOUT)


def copy_from(pods: PodClient, folder: Path) -> None:
    pods.copy_from("web", "/srv/large", folder / "copy", timeout=TIMEOUT)


def execute_and_read(pods: PodClient, folder: Path) -> None:
    with pods.exec("web", ["sh"], stdin=True, timeout=TIMEOUT / 2) as process:
        read_all(process.read)


def attach_and_read(pods: PodClient, folder: Path) -> None:
    with pods.attach("web", stdin=True, timeout=TIMEOUT / 2) as process:
        read_all(process.read)


def read_all(read: Callable[[float], object]) -> None:
    # Each read has its timeout; a program that wants one for all of them uses `communicate`.
    end = SYSTEM_CLOCK.now() + TIMEOUT / 2
    while (remaining := end - SYSTEM_CLOCK.now()) > 0 and read(remaining) is not None:
        continue


def communicate(pods: PodClient, folder: Path) -> None:
    with pods.exec("web", ["sh"], stdin=True, timeout=TIMEOUT / 2) as process:
        process.communicate(endless(), timeout=TIMEOUT / 2)


def forward(pods: PodClient, folder: Path) -> None:
    # The local program neither reads nor closes, even after the end of the block.
    with ExitStack() as late, pods.port_forward("web", 80, timeout=TIMEOUT / 2) as port, suppress(OSError):
        local = late.enter_context(socket.create_connection((port.host, port.port), timeout=TIMEOUT / 2))
        local.sendall(bytes(20_000_000))


def forward_unread(pods: PodClient, folder: Path) -> None:
    with ExitStack() as late, pods.port_forward("web", 80, timeout=TIMEOUT / 2) as port, suppress(OSError):
        late.enter_context(socket.create_connection((port.host, port.port), timeout=TIMEOUT / 2))
        SYSTEM_CLOCK.sleep(threading.Event(), TIMEOUT / 2)


FUNCTIONS = [
    run,
    run_with_input,
    copy_to,
    copy_from,
    execute_and_read,
    attach_and_read,
    communicate,
    forward,
    forward_unread,
]


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_ends_by_its_timeout(
    function: Callable[[PodClient, Path], None], behaviour: str, tmp_path: Path
) -> None:
    with misbehaving(BEHAVIOURS[behaviour]) as address, closing(RESTClient(Config(address))) as client:
        pods = CoreV1(client).pods("ns")
        began = SYSTEM_CLOCK.now()
        with suppress(ClientGoError):
            function(pods, tmp_path)
        assert SYSTEM_CLOCK.now() - began < TIMEOUT + MARGIN
