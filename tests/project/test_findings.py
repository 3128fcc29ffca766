"""Scripts about other packages: each is executable, complete, pinned and listed."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "findings"
SCRIPTS = sorted(path for path in FOLDER.glob("*.sh") if path.name != "lib.sh")
PARTS = ("Behaviour", "Expected", "Matters")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_states_what_it_shows_and_pins_its_packages(script: Path) -> None:
    text = script.read_text()
    assert script.stat().st_mode & 0o111
    assert re.findall(r"^# (\w+): ", text, re.MULTILINE) == list(PARTS)
    installed = re.findall(r"^(?:pypi|npm_packages) (.+)$", text, re.MULTILINE)
    packages = re.findall(r"(\S+)(?:==|@)(\d\S*)", " ".join(installed))
    assert packages
    assert len(packages) == len(" ".join(installed).split())
    comment = text.partition("\n. ")[0]
    assert [name for name, version in packages if f"{name} {version}" not in comment] == []
    assert re.search(r'^expect ["\']', text, re.MULTILINE)


def test_table_lists_every_script_once() -> None:
    table = (FOLDER / "README.md").read_text().partition("\n## Expectations\n")[0]
    names = re.findall(r"^\| ([a-z][a-z0-9-]+) \|", table, re.MULTILINE)
    assert sorted(names) == [script.stem for script in SCRIPTS]
