"""`clientgo run FILE`: what is run, and what mistakes print."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clientgo.cli.arguments import parse
from clientgo.cli.names import CommandError
from clientgo.cli.onefile import FileProgram, load_file, program_of, reconcilers
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Reconciler
from clientgo.program.commandline import FlagParser
from tests.cli.projects import clientgo

PROGRAM = """\
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Reconciler


class Base(Reconciler[ConfigMap]):
    pass


class Syncer(Base):
    {reconcile}: pass
"""


@contextmanager
def imported_afresh(path: Path) -> Iterator[None]:
    """Forget the module and its folder afterwards, as other tests import files of that name."""
    before = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = before
        sys.modules.pop(path.stem, None)


def test_reconcilers_are_the_most_derived_classes_of_the_module() -> None:
    class Base(Reconciler[ConfigMap]):
        pass

    class Syncer(Base):
        pass

    class Imported(Base):
        pass

    Base.__module__ = Syncer.__module__ = "syncer"
    module: Any = ModuleType("syncer")
    vars(module).update(Base=Base, Syncer=Syncer, Imported=Imported, Reconciler=Reconciler, number=1)
    assert list(reconcilers(module)) == [Syncer]


MAIN = """

@dataclass(frozen=True)
class Flags(ManagerFlags):
    text: str = flag("a", "text", group="syncer")


def add(manager, flags):
    manager.add(print)


def main():
    run(Syncer, add, name="sync", flags=Flags(workers=3))


if __name__ == "__main__":
    title = "main"
    main()
"""

IMPORTS = """\
from dataclasses import dataclass
from clientgo.manager import ManagerFlags, run
from clientgo.program import flag
"""


def program_of_text(tmp_path: Path, text: str) -> FileProgram:
    path = tmp_path / "one_file_operator.py"
    path.write_text(text)
    with imported_afresh(path):
        return program_of(load_file(path), path)


def test_program_is_the_call_of_run_in_the_main_block(tmp_path: Path) -> None:
    text = IMPORTS + PROGRAM.format(reconcile="def reconcile(self, config)") + MAIN
    program = program_of_text(tmp_path, text)
    assert [setup.__name__ for setup in program.setups] == ["Syncer", "add"]
    assert [cls.__name__ for cls in program.classes] == ["Syncer"]
    parsed: Any = FlagParser(program.flags, prog="it", description="").parse(["--embedded", "--text=b"])
    assert (program.options.name, parsed.text, parsed.workers, parsed.embedded) == ("sync", "b", 3, True)


def test_program_without_a_call_of_run_is_its_reconcilers(tmp_path: Path) -> None:
    program = program_of_text(tmp_path, PROGRAM.format(reconcile="def reconcile(self, config)"))
    assert [setup.__name__ for setup in program.setups] == ["Syncer"]
    assert program.options.name == "one_file_operator"


def test_error_of_the_main_block_is_reported(tmp_path: Path) -> None:
    text = IMPORTS + PROGRAM.format(reconcile="def reconcile(self, config)") + MAIN.replace('"main"', "1 / 0")
    with pytest.raises(CommandError, match="its main block failed: ZeroDivisionError"):
        program_of_text(tmp_path, text)


@pytest.mark.parametrize(
    ("arguments", "file", "remainder"),
    [
        ([], None, []),
        (["--", "--leader-elect"], None, ["--leader-elect"]),
        (["syncer.py"], "syncer.py", []),
        (["syncer.py", "-n", "demo", "--reload"], "syncer.py", ["-n", "demo", "--reload"]),
        (["--embedded", "syncer.py"], "syncer.py", ["--embedded"]),
        (["-n", "demo", "--embedded", "syncer.py", "-v", "4"], "syncer.py", ["-n", "demo", "--embedded", "-v", "4"]),
        (["syncer", "-n", "demo"], "syncer", ["-n", "demo"]),
    ],
)
def test_flags_around_the_file_are_those_of_the_manager(
    arguments: list[str], file: str | None, remainder: list[str]
) -> None:
    options = parse(["run", "--reload", *arguments])
    assert (options.reload, options.file and str(options.file), options.arguments) == (True, file, remainder)


def test_help_of_run_shows_the_flags_of_a_manager(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        clientgo(tmp_path, "run", "--help")
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert [
        flag for flag in ("--reload", "--embedded", "--crds", "--leader-elect", "--namespace") if flag not in text
    ] == []


@pytest.mark.parametrize("command", ["run --embedded", "init --nowhere", "create api --nowhere"])
def test_unknown_flag_is_reported_with_the_help_of_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        clientgo(tmp_path, *command.split())
    name, _, flag = command.rpartition(" ")
    assert capsys.readouterr().err == f"clientgo {name}: unrecognized arguments: {flag} (see clientgo {name} --help)\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "clientgo run: syncer.py: no such file"),
        ("class Syncer(", "clientgo run: syncer.py:1: importing syncer failed: '(' was never closed"),
        ("import nowhere", "clientgo run: syncer.py:1: importing syncer failed: No module named 'nowhere'"),
        ("x = 1", "clientgo run: syncer.py: no reconciler found: define class MyReconciler(Reconciler[Kind])"),
    ],
)
def test_file_without_reconcilers_is_reported_in_one_line(
    tmp_path: Path, text: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "syncer.py").write_text(text)
    assert clientgo(tmp_path, "run", "syncer.py") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(message)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("reconcile", "flags", "message"),
    [
        (
            "def reconcile(self, a, b)",
            "--embedded",
            "Syncer.reconcile must have the arguments (self, configmap): missing",
        ),
        ("def sync(self, config)", "--embedded", "Syncer has no method reconcile(self, configmap)"),
        ("def reconcile(self, config)", "--kubeconfig=/nowhere", "the kubeconfig /nowhere does not exist"),
    ],
)
def test_mistake_ends_the_program_with_one_line(
    tmp_path: Path, variables: Mapping[str, str], reconcile: str, flags: str, message: str
) -> None:
    (tmp_path / "syncer.py").write_text(PROGRAM.format(reconcile=reconcile))
    command = [sys.executable, "-m", "clientgo.cli", "run", "syncer.py", flags]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=60)
    [line] = done.stderr.splitlines()
    assert (done.returncode, message in line) == (1, True), line
