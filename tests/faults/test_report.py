"""Tests of the reliability page."""

from hack.reliability import page
from tests.faults.case import Row

ROW = Row(
    fault="Disk full", does="tries again", healed=1.26, bound=4.0, since="its end", real="≤ 60 s", log='"a|b" err="c"',
    metric="workqueue_retries_total", burst=2, requests=3.0, megabytes=1.0, differs="waits for ever",
)  # fmt: skip


def told(**changes: object) -> list[str]:
    fields = {name: getattr(ROW, name) for name in ROW.__slots__}
    return page([{**fields, **changes}]).splitlines()


def test_each_fault_is_a_row_with_its_figures() -> None:
    rendered = '`"a\\|b" err="c"`<br>`workqueue_retries_total`'
    assert f"| Disk full | tries again | 1.3 s (4.0 s)<br>≤ 60 s | 2 | {rendered} |" in told()
    assert "| Disk full | tries again | 1.3* s (4.0 s) | 2 | nothing |" in told(
        since="its beginning", real="", log="", metric=""
    )


def test_what_client_go_does_otherwise_is_a_table_of_its_own() -> None:
    assert "| Disk full | waits for ever |" in told()
    assert not [line for line in told(differs="") if "waits for ever" in line]
