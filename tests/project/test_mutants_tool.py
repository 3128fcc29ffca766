"""hack/mutants.py: it breaks what matters, one thing at a time, and tells the noticed from the unnoticed."""

import ast
import textwrap
from pathlib import Path

import pytest

from hack import mutants as tool
from hack.mutations import mutants


def broken(source: str) -> list[tuple[str, str]]:
    """(kind, the broken text in one line) of every mutant."""
    return [(m.kind, m.text.replace("\n", " ")) for m in mutants(textwrap.dedent(source).strip())]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", [("statement dropped", "pass"), ("comparison", "a <= b")]),
        ("a is None", [("statement dropped", "pass"), ("comparison", "a is not None")]),
        ("a + b", [("statement dropped", "pass"), ("arithmetic", "a - b")]),
        ("a and b", [("statement dropped", "pass"), ("and/or", "a or b")]),
        ("not a", [("statement dropped", "pass"), ("operator dropped", "a")]),
        ("a(5)", [("statement dropped", "pass"), ("constant", "a(6)")]),
        ("a(True)", [("statement dropped", "pass"), ("constant", "a(False)")]),
        ("a('b')", [("statement dropped", "pass"), ("constant", "a('b!')")]),
        ("a if b else c", [("statement dropped", "pass"), ("branches swapped", "a if not b else c")]),
        ("a += b", [("arithmetic", "a -= b"), ("statement dropped", "pass")]),
        ("while a: b", [("condition negated", "while not a:     b"), ("statement dropped", "while a:     pass")]),
        ("[a for a in b if c]", [("statement dropped", "pass"), ("filter negated", "[a for a in b if not c]")]),
        ("def f(): return a", [("nothing returned", "def f():     return None")]),
        ("def f(): return False", [("constant", "def f():     return True")]),
        ("for a in b: continue", [("continue to break", "for a in b:     break")]),
        ("for a in b: break", [("break to continue", "for a in b:     continue")]),
        ("raise A('words')", [("statement dropped", "pass")]),
    ],
)
def test_each_kind_of_mutant(source: str, expected: list[tuple[str, str]]) -> None:
    assert broken(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "__slots__ = ('a', 'b')",
        "def f(a: 'int | None' = None) -> 'str | bool': ...",
        "a: dict[str, 'int | float']",
    ],
)
def test_what_only_people_and_type_checkers_read_is_not_broken(source: str) -> None:
    assert broken(source) == []


def test_a_log_line_is_dropped_but_its_words_are_not_changed() -> None:
    assert broken("log.info('a %d', 5 + 1)") == [("statement dropped", "pass")]


def test_mutants_are_valid_name_their_line_and_leave_the_rest_alone() -> None:
    source = "def f(a):\n    if a > 1:\n        return 2\n    return 3\n"
    found = list(mutants(source))
    assert [(m.line, m.original) for m in found] == [
        (2, "if a > 1:"), (4, "return 3"), (2, "if a > 1:"), (3, "return 2"), (4, "return 3"), (2, "if a > 1:"),
        (3, "return 2"),
    ]  # fmt: skip
    assert len({m.text for m in found}) == len(found)
    for mutant in found:
        ast.parse(mutant.text)


def test_a_sample_is_the_same_for_one_seed_and_keeps_the_order() -> None:
    found = list(mutants("\n".join(f"a({n})" for n in range(20))))
    some = tool.sampled(found, 7, seed=3)
    assert len(some) == 7
    assert some == tool.sampled(found, 7, seed=3) != tool.sampled(found, 7, seed=4)
    assert some == [m for m in found if m in some]
    assert tool.sampled(found, 0, seed=3) == tool.sampled(found, 99, seed=3) == found


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A tree with one module whose first branch is tested and whose second is not."""
    package, tests = tmp_path / "clientgo" / "workqueue", tmp_path / "tests" / "workqueue"
    package.mkdir(parents=True)
    tests.mkdir(parents=True)
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\npythonpath = .\n")
    (package / "ages.py").write_text("def adult(age):\n    return age >= 18\n\n\ndef old(age):\n    return age\n")
    (tests / "test_other.py").write_text("def test_nothing(): ...\n")
    (tests / "test_ages.py").write_text(
        "from clientgo.workqueue.ages import adult\n\n"
        "def test_adult():\n    assert [adult(17), adult(18), adult(19)] == [False, True, True]\n"
    )
    return tmp_path


@pytest.mark.e2e
def test_what_the_tests_do_not_notice_survives_and_fails_the_run(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tool.main(["workqueue", "--processes", "1"], root=checkout) == 1
    out = capsys.readouterr().out
    assert "## workqueue: 3 of 4 killed (75.0%)" in out
    assert "| clientgo/workqueue/ages.py | 4 | 4 | 3 | 1 |" in out
    assert [line for line in out.splitlines() if line.startswith("- ")] == [
        "- ages.py:6 nothing returned: `return age`",
    ]
    assert (checkout / "clientgo" / "workqueue" / "ages.py").read_text().endswith("return age\n")


@pytest.mark.e2e
def test_tests_that_fail_anyway_judge_nothing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "tests" / "workqueue" / "test_other.py").write_text("def test_nothing(): assert False\n")
    assert tool.main(["workqueue", "--processes", "1"], root=checkout) == 2
    assert capsys.readouterr().err == "error: clientgo/workqueue/ages.py: its tests fail on the code as it is\n"


def test_the_tests_named_after_a_module_run_first(checkout: Path) -> None:
    (checkout / "tests" / "workqueue" / "test_zebra.py").write_text("")
    assert tool.tests_for(checkout, "clientgo/workqueue/other.py", "tests/workqueue") == [
        "tests/workqueue/test_other.py", "tests/workqueue/test_ages.py", "tests/workqueue/test_zebra.py",
    ]  # fmt: skip


def test_an_unknown_group_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool.main(["cashe"])
    assert "error: no such group: cashe; there are workqueue, " in capsys.readouterr().err


def test_every_group_has_modules_and_tests() -> None:
    for group in tool.GROUPS.values():
        assert all(list(tool.ROOT.glob(module)) for module in group.modules)
        assert list((tool.ROOT / group.tests).glob("test_*.py"))
