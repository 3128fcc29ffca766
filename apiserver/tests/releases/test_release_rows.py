"""Rows of another version, printed from its documents: between two versions of the table they are the table's."""

import re

import pytest

from clientgo_apiserver.gotypes.table import FILE
from hack.release_rows import lines_of, rows

NAMED = re.compile(r"^ +\S+ (\w+)!? .*since=(1\.\d+)", re.MULTILINE)


@pytest.mark.parametrize(("old", "new"), [("1.35", "1.36"), ("1.36", "1.37")])
def test_every_field_that_differs_has_a_row_in_the_table(old: str, new: str) -> None:
    listed = "\n".join(rows(lines_of(old), lines_of(new), (old, new)))
    fields = {name for name, version in NAMED.findall(listed) if version == new}
    table = {name for name, version in NAMED.findall(FILE.read_text(encoding="utf-8")) if version == new}
    assert len(fields) > 10
    assert fields <= table


def test_older_version_gives_the_same_rows_in_reverse() -> None:
    before, after = lines_of("1.35"), lines_of("1.36")
    forward = list(rows(before, after, ("1.35", "1.36")))
    assert "  - workloadRef *WorkloadReference until=1.35" in forward
    assert "MutatingAdmissionPolicy kind since=1.36" in forward
    assert list(rows(after, after, ("1.36", "1.36"))) == []


def test_changed_field_has_a_row_for_each_form() -> None:
    listed = list(rows(lines_of("1.36"), lines_of("1.37"), ("1.36", "1.37")))
    start = listed.index("[apps/v1] Deployment")
    assert listed[start + 1 : start + 3] == [
        "  - spec DeploymentSpec until=1.36",
        "  - spec! DeploymentSpec since=1.37",
    ]
