"""hack/features.py: a row without an answer is found, and so are answers that contradict each other."""

from pathlib import Path

import pytest

from hack.features import main, read_census

CENSUS = """
Section (a) mentions B-AB-09 and A-99.
| id | row |
| A-01 | one, see B-AB-02 |
1. B-AB-01 First.
12. B-AB-02 Second. → A-98
### (e.1) After `init` (E-01)
### (e.5) The rest (E-02 … E-03)
E-02 flags, unlike E-97
"""

ANSWERS = """
## Does not apply
| id | why |
| --- | --- |
| E-02 | only for Go |
## Applies in part
| B-AB-01 | not its nil |
## Not built
| E-01 | the Makefile |
"""


class Checkout:
    """A census, answers and tests in a folder."""

    def __init__(self, root: Path) -> None:
        self.census, self.answers, self.tests = root / "census.md", root / "features.md", root / "tests"
        self.census.write_text(CENSUS)
        self.answers.write_text(ANSWERS)
        self.tests.mkdir()
        self.test("A-01", "B-AB-01", "B-AB-02")

    def test(self, *ids: str) -> None:
        named = ", ".join(f'"{id_}"' for id_ in ids)
        (self.tests / "test_all.py").write_text(f"@pytest.mark.feature({named})\ndef test_all(): ...\n")

    def run(self, *flags: str) -> int:
        return main(["--census", f"{self.census}", "--reasons", f"{self.answers}", "--tests", f"{self.tests}", *flags])


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


Out = pytest.CaptureFixture[str]


def test_rows_are_read_where_they_begin_and_nowhere_else() -> None:
    assert read_census(CENSUS) == {"A-01": "A", "B-AB-01": "B-AB", "B-AB-02": "B-AB", "E-01": "E", "E-02": "E"}


def test_every_row_is_listed_with_its_answer(checkout: Checkout, capsys: Out) -> None:
    assert checkout.run() == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[:6] == [
        "A-01      tests/test_all.py::test_all",
        "B-AB-01   tests/test_all.py::test_all; applies in part: not its nil",
        "B-AB-02   tests/test_all.py::test_all",
        "E-01      not built: the Makefile",
        "E-02      does not apply: only for Go",
        "",
    ]


def test_a_mark_of_a_whole_file_is_listed_by_the_file(checkout: Checkout, capsys: Out) -> None:
    checkout.test("A-01", "B-AB-01")
    (checkout.tests / "test_more.py").write_text(
        'pytestmark = [pytest.mark.feature("B-AB-02")]\ndef test_more(): ...\n'
    )
    assert checkout.run() == 0
    assert "B-AB-02   tests/test_more.py" in capsys.readouterr().out.splitlines()


def test_counts_are_by_section_and_what_is_not_built_is_named(checkout: Checkout, capsys: Out) -> None:
    checkout.answers.write_text(ANSWERS + "| B-AB-02 | its end |\n")
    assert checkout.run("--quiet") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:5]] == [
        ["A", "1", "1", "0", "0", "0"],
        ["B-AB", "2", "2", "1", "0", "1"],
        ["E", "2", "0", "0", "1", "1"],
        ["in", "all", "5", "3", "1", "1", "2"],
    ]
    assert lines[5:] == ["not built at all: E-01", "not built in part: B-AB-02"]


def test_a_row_without_an_answer_fails(checkout: Checkout, capsys: Out) -> None:
    checkout.test("A-01", "B-AB-01")
    assert checkout.run() == 1
    out, err = capsys.readouterr()
    assert err == "error: B-AB-02: neither a test nor a reason\n"
    assert "B-AB-02   -" in out.splitlines()


@pytest.mark.parametrize(
    ("marked", "problem"),
    [
        pytest.param(["E-02"], "E-02: a reason why it does not apply, and a test", id="tested and not applying"),
        pytest.param(["B-AB-03"], "tests/test_all.py:1: B-AB-03: no such id", id="unknown"),
        pytest.param(["E-03"], "tests/test_all.py:1: E-03: no such id", id="only the end of a heading's range"),
    ],
)
def test_a_mark_that_cannot_be_right_fails(checkout: Checkout, capsys: Out, marked: list[str], problem: str) -> None:
    checkout.test("A-01", "B-AB-01", "B-AB-02", *marked)
    assert checkout.run() == 1
    assert problem in capsys.readouterr().err


def test_a_row_that_applies_in_part_needs_a_test_of_that_part(checkout: Checkout, capsys: Out) -> None:
    checkout.test("A-01", "B-AB-02")
    assert checkout.run() == 1
    assert "B-AB-01: applies in part, and that part has no test" in capsys.readouterr().err


def test_what_does_not_apply_cannot_be_missing(checkout: Checkout, capsys: Out) -> None:
    checkout.answers.write_text(ANSWERS + "| E-02 | all of it |\n")
    assert checkout.run() == 1
    assert "E-02: does not apply, and applies or is to be built" in capsys.readouterr().err


def test_rows_under_another_heading_fail(checkout: Checkout, capsys: Out) -> None:
    checkout.answers.write_text(ANSWERS.replace("## Not built", "## Later"))
    assert checkout.run() == 1
    assert "docs/features.md: rows under 'Later', which means nothing here" in capsys.readouterr().err


def test_without_a_census_there_is_nothing_to_check(checkout: Checkout, capsys: Out) -> None:
    checkout.census.unlink()
    assert checkout.run() == 0
    assert "census.md to hold the tests to; nothing to check" in capsys.readouterr().out
