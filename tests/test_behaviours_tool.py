"""hack/behaviours.py: an id without test or reason is found, and so is every way to cheat it by mistake."""

import textwrap
from pathlib import Path

import pytest

from hack.behaviours import main, read_census
from hack.census import expand, marks

CENSUS = """
# Behaviours
Rows that test Go's FIFO *types* (TY, TX) do not apply.
## 1. queues
- **AB-01** `TestOne`. Something. **AB-02** `TestTwo`. **Not an id** nor (AB-09).
- **AB-04..06** a table:
  | id | row |
  | AB-04 | x |
## 2. types
- **TY-01** a type
- **AB-01** named again
"""


class Checkout:
    """A census, reasons and tests in a folder."""

    def __init__(self, root: Path) -> None:
        self.census, self.reasons, self.tests = root / "census.md", root / "behaviours.md", root / "tests"
        self.census.write_text(CENSUS)
        self.excuse("TY-01 | only a type")
        self.tests.mkdir()
        self.test("AB-01", "AB-02", "AB-04", "AB-05", "AB-06")

    def test(self, *ids: str) -> None:
        named = ", ".join(f'"{id_}"' for id_ in ids)
        (self.tests / "test_all.py").write_text(f"@pytest.mark.behaviour({named})\ndef test_all(): ...\n")

    def excuse(self, *rows: str) -> None:
        lines = ["# Reasons", "| id | reason |", "| --- | --- |", *(f"| {row} |" for row in rows)]
        self.reasons.write_text("\n".join(lines))

    def run(self, *flags: str) -> int:
        return main(["--census", f"{self.census}", "--reasons", f"{self.reasons}", "--tests", f"{self.tests}", *flags])


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


Out = pytest.CaptureFixture[str]


def test_every_id_with_a_test_or_a_reason_passes_and_is_listed(checkout: Checkout, capsys: Out) -> None:
    assert checkout.run() == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "AB-01   tests/test_all.py::test_all" in out.splitlines()
    assert "TY-01   only a type" in out.splitlines()


def test_counts_are_by_section(checkout: Checkout, capsys: Out) -> None:
    assert checkout.run("--quiet") == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["section", "ids", "tests", "reasons"],
        ["1.", "queues", "5", "5", "0"],
        ["2.", "types", "1", "0", "1"],
        ["in", "all", "6", "5", "1"],
        ["reasons", "outside", "Go's", "own", "types", "(TX,", "TY):", "0.0%"],
    ]


def test_an_id_with_neither_fails(checkout: Checkout, capsys: Out) -> None:
    checkout.test("AB-01", "AB-02", "AB-04", "AB-05")
    assert checkout.run() == 1
    assert capsys.readouterr().err == "error: AB-06: neither a test nor a reason\n"


def test_an_id_with_both_fails(checkout: Checkout, capsys: Out) -> None:
    checkout.excuse("TY-01 | only a type", "AB-04 | why not")
    assert checkout.run() == 1
    assert "AB-04: a reason why it does not apply, and a test: tests/test_all.py::test_all" in capsys.readouterr().err


def test_a_mark_with_an_unknown_id_fails(checkout: Checkout, capsys: Out) -> None:
    checkout.test("AB-01", "AB-02", "AB-03", "AB-04", "AB-05", "AB-06")
    assert checkout.run() == 1
    assert capsys.readouterr().err == "error: tests/test_all.py:1: AB-03: no such id\n"


@pytest.mark.parametrize("unknown", ["AB-03", "AB-07..09", "TY-01..02"])
def test_a_reason_with_an_unknown_id_fails(checkout: Checkout, capsys: Out, unknown: str) -> None:
    checkout.excuse("TY-01 | only a type" if "TY" not in unknown else "", f"{unknown} | why")
    assert checkout.run() == 1
    assert f"{unknown}: no such id" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "problem"),
    [("TY-01 | again", "TY-01: has a reason already"), ("TY-01 | ", "TY-01: the reason is empty")],
)
def test_a_reason_given_twice_or_not_given_fails(checkout: Checkout, capsys: Out, row: str, problem: str) -> None:
    checkout.excuse("TY-01 | only a type", row)
    assert checkout.run() == 1
    assert problem in capsys.readouterr().err


def test_more_reasons_than_one_in_five_outside_the_types_fail(checkout: Checkout, capsys: Out) -> None:
    checkout.excuse("TY-01 | only a type", "AB-01 | why not")
    checkout.test("AB-02", "AB-04", "AB-05", "AB-06")
    assert checkout.run() == 0
    checkout.excuse("`TY-01`, AB-01..02 | why not")
    checkout.test("AB-04", "AB-05", "AB-06")
    assert checkout.run() == 1
    assert "40.0% of the ids outside Go's own types have a reason" in capsys.readouterr().err


def test_without_a_census_there_is_nothing_to_check(checkout: Checkout, capsys: Out) -> None:
    checkout.census.unlink()
    assert checkout.run() == 0
    assert "census.md to hold the tests to; nothing to check" in capsys.readouterr().out


def test_ids_are_read_from_bold_text_once_and_ranges_are_expanded() -> None:
    census = read_census(CENSUS)
    assert list(census.sections) == ["AB-01", "AB-02", "AB-04", "AB-05", "AB-06", "TY-01"]
    assert census.sections["AB-01"] == "1. queues"
    assert census.types == {"TY", "TX"}


def test_a_range_may_repeat_its_group() -> None:
    assert expand("LE-08..LE-10") == expand("LE-08..10") == ["LE-08", "LE-09", "LE-10"]
    assert expand("LE-08..RW-10") == expand("le-08") == []


def test_marks_are_found_on_functions_classes_cases_and_variables() -> None:
    source = """
        CASES = [pytest.param(1, marks=pytest.mark.behaviour("AB-05"))]
        LEFT = [pytest.param(1, marks=pytest.mark.behaviour("AB-06"))]
        @pytest.mark.behaviour("AB-01", "AB-02")
        @pytest.mark.parametrize("a", [pytest.param(1, marks=[mark.behaviour("AB-03")])])
        def test_one(): pytest.mark.behaviour("AB-99")
        @pytest.mark.behaviour("AB-04")
        class TestTwo:
            @pytest.mark.parametrize("a", CASES)
            def test_three(): ...
        @pytest.mark.behaviour("AB-98")
        def helper(): ...
        @pytest.mark.behaviour(f"AB-{97}")
        def test_four(): ...
    """
    assert [(test, id_) for test, _, id_ in marks(textwrap.dedent(source), "behaviour")] == [
        ("test_one", "AB-01"), ("test_one", "AB-02"), ("test_one", "AB-03"), ("TestTwo", "AB-04"),
        ("TestTwo::test_three", "AB-05"), ("test_four", ""), ("LEFT", "AB-06"),
    ]  # fmt: skip
