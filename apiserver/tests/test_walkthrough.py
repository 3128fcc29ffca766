"""One POST and one watch through the bundled server, as in ARCHITECTURE.md."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
import urllib3

from apiserver.tests.inprocess import DEFINITIONS, FOOS, definition, foo
from clientgo.testing.eventually import eventually
from clientgo_apiserver.server import ApiServer

pytestmark = pytest.mark.integration

ARCHITECTURE = Path(__file__).parents[1] / "ARCHITECTURE.md"
ROW = re.compile(r"^\| (?P<number>\d+) \| `(?P<hop>clientgo_apiserver[\w.]*:[\w.]+)` \|", re.MULTILINE)


def documented_hops() -> list[list[str]]:
    """Return the hops, `module:function`, of each table."""
    tables: list[list[str]] = []
    for row in ROW.finditer(ARCHITECTURE.read_text(encoding="utf-8")):
        if row["number"] == "1":
            tables.append([])
        tables[-1].append(row["hop"])
    return tables


class Trace:
    """Recorder of the documented functions that the server's thread enters, each time it enters them."""

    def __init__(self, hops: set[str]) -> None:
        self._hops = hops
        self.entered: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and threading.current_thread().name == "apiserver":
            hop = f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"
            if hop in self._hops:
                self.entered.append(hop)

    def first_entries(self, hops: list[str]) -> list[str]:
        """Return these hops in the order in which each was first entered."""
        return list(dict.fromkeys(hop for hop in self.entered if hop in hops))


@pytest.fixture
def trace() -> Iterator[Trace]:
    recorder = Trace({hop for table in documented_hops() for hop in table})
    threading.setprofile(recorder)
    yield recorder
    threading.setprofile(None)


def test_requests_take_the_hops_of_the_architecture(trace: Trace) -> None:
    posting, watching = documented_hops()
    assert (len(posting), len(watching)) == (10, 9)
    with ApiServer(simulate=False) as server, urllib3.PoolManager(retries=False, timeout=10, maxsize=2) as http:
        http.request("POST", server.url + DEFINITIONS, json=definition())
        eventually(lambda: http.request("GET", server.url + FOOS).status == 200)
        trace.entered.clear()
        assert http.request("POST", server.url + FOOS, json=foo("posted")).status == 201
        assert trace.first_entries(posting) == posting
        # A handler runs once, however often its coroutine waits.
        assert all(trace.entered.count(hop) == 1 for hop in posting[2:])
        trace.entered.clear()
        stream = http.request("GET", f"{server.url}{FOOS}?watch=1", preload_content=False)
        frames = stream.stream(decode_content=True)
        assert json.loads(next(frames))["object"]["metadata"]["name"] == "posted"
        # Sending the head and the first events uses the transport as well, which later events reach on a shorter way.
        opened = [hop for hop in watching if hop != watching[-1]]
        http.request("POST", server.url + FOOS, json=foo("watched"))
        assert json.loads(next(frames))["object"]["metadata"]["name"] == "watched"
        assert trace.first_entries(opened) == opened
        delivered = trace.entered[trace.entered.index(watching[6]) :]
        assert watching[-1] in delivered
        stream.close()
