"""Lost packets: dead peers are detected in time, and no change is lost."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.faults.case import Case, Row, run
from tests.faults.cases.packets import CASES, NEAR, SLOW, FarRig
from tests.faults.network import Network, network, why_not

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(90)]


@pytest.fixture
def emulated_network() -> Iterator[Network]:
    if reason := why_not():
        pytest.skip(reason)
    with network() as item:
        yield item


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=str(case), marks=pytest.mark.slow if number else ()) for number, case in enumerate(CASES)],
)
def test_nothing_is_lost_with_the_packets(
    case: Case, emulated_network: Network, record: Callable[[Row], None], tmp_path: Path
) -> None:
    record(emulated_network.run("server", lambda: run(case, tmp_path, partial(FarRig, network=emulated_network))))


@pytest.mark.slow
@pytest.mark.timeout(420)
@pytest.mark.parametrize("case", SLOW, ids=str)
def test_dead_peer_is_missed_in_time_with_the_defaults(
    case: Case, emulated_network: Network, record: Callable[[Row], None], tmp_path: Path
) -> None:
    record(emulated_network.run("server", lambda: run(case, tmp_path, partial(FarRig, network=emulated_network))))


@pytest.mark.slow
@pytest.mark.timeout(420)
def test_silent_watch_is_missed_in_time_with_the_defaults(record: Callable[[Row], None], tmp_path: Path) -> None:
    record(run(NEAR, tmp_path))
