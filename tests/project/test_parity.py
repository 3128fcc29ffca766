"""Tables of docs/reports/parity/, and their script."""

from pathlib import Path

import pytest

from hack.parity import main, updated

PAGE = "| id | behaviour | test, or reason |\n| --- | --- | --- |\n| AB-01 | a key | {} |\n"


def write(root: Path, page: str, test: str) -> None:
    (root / "docs" / "reports" / "parity").mkdir(parents=True)
    (root / "docs" / "reports" / "parity" / "behaviours.md").write_text(page)
    (root / "docs" / "reports" / "parity" / "features.md").write_text("")
    (root / "tests").mkdir()
    (root / "tests" / "test_it.py").write_text(test)


@pytest.mark.parametrize(
    ("source", "evidence"),
    [
        ('@pytest.mark.behaviour("AB-01")\ndef test_a(): ...', "`tests/test_it.py::test_a`"),
        ('class TestA:\n    @pytest.mark.behaviour("AB-01")\n    def test_a(self): ...', "`tests/test_it.py::TestA`"),
        ('pytestmark = pytest.mark.behaviour("AB-01")', "`tests/test_it.py`"),
        ('@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.behaviour("AB-01"))])\n'
         'def test_a(x): ...\n@pytest.mark.behaviour("AB-01")\ndef test_b(): ...', "`tests/test_it.py::test_a` (+1)"),
    ],
    ids=["function", "class", "module", "param"],
)  # fmt: skip
def test_tests_are_written_into_the_table(tmp_path: Path, source: str, evidence: str) -> None:
    write(tmp_path, PAGE.format(""), source)
    assert main(["--check"], tmp_path) == 1
    assert main([], tmp_path) == 0
    assert (tmp_path / "docs" / "reports" / "parity" / "behaviours.md").read_text() == PAGE.format(evidence)
    assert main(["--check"], tmp_path) == 0


def test_reasons_stay() -> None:
    assert updated(PAGE.format("not built: x; y"), {})[0] == PAGE.format("not built: x; y")
    tested = PAGE.format("`tests/a.py::test`; in part: x")
    assert updated(tested, {"AB-01": ["tests/b.py::test"]}) == (tested.replace("a.py", "b.py"), [])


def test_row_without_evidence_and_unknown_id_are_errors() -> None:
    _, problems = updated(PAGE.format(""), {"AB-02": ["tests/b.py::test"]})
    assert problems == ["AB-01: expected a test or a reason", "AB-02: row not found, used in tests/b.py::test"]
