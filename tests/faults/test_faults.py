"""Every fault in docs/reports/reliability.md heals by itself, in time, and shows; nothing is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clientgo.rest.connections.dial import Dialer
from tests.faults.case import Case, Row, run
from tests.faults.cases import answers, identity, network, objects, packets, server
from tests.faults.cases.network import resolver
from tests.faults.leader import FROZEN, frozen_leader
from tests.faults.pages import EXPIRED_PAGE, expired_page

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

CASES = [*network.CASES, *answers.CASES, *server.CASES, *identity.CASES, *objects.CASES]
SMOKE = {
    "connection-refused",
    "every-connection-reset",
    "watch-cut-off-in-the-middle-of-a-frame-after-1-bytes",
    "410-in-the-middle-of-a-watch",
    "503-to-every-write",
    "connections-closed-after-the-request-took-effect",
    "server-killed-sigkill-and-started-again-with-its-data",
    "token-rotated-in-time-as-the-kubelet-does-it",
    "quota-refuses-the-deployment",
    "a-webhook-that-must-be-asked-cannot-be-reached",
}
"""Cases that `make test` runs too, of each kind at least one."""

PAGE = Path(__file__).parent.parent.parent / "docs" / "reports" / "reliability.md"


@pytest.mark.e2e
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=() if str(case) in SMOKE else pytest.mark.slow) for case in CASES]
)
def test_fault_heals_and_nothing_is_lost(
    case: Case,
    record: Callable[[Row], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,  # noqa: TID251
) -> None:
    # Nothing of ours stands between a program and DNS: it is the machine's resolver that is replaced.
    defaults = Dialer.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "resolve", resolver())
    record(run(case, tmp_path))


@pytest.mark.e2e
def test_leader_that_was_frozen_past_its_lease_writes_nothing(record: Callable[[Row], None], tmp_path: Path) -> None:
    record(frozen_leader(tmp_path))


def test_list_whose_next_page_has_expired_is_complete(record: Callable[[Row], None]) -> None:
    record(expired_page())


def test_the_smoke_has_cases_of_the_table() -> None:
    assert {str(case) for case in CASES} >= SMOKE


def test_the_page_has_a_row_for_every_fault() -> None:
    page = PAGE.read_text(encoding="utf-8")
    cases = [*CASES, *packets.CASES, *packets.SLOW, packets.NEAR]
    faults = [*(case.name for case in cases), FROZEN, EXPIRED_PAGE]
    assert [fault for fault in faults if f"| {fault} |" not in page] == []
