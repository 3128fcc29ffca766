"""`clientgo run`: what happens after which save."""

import os
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from clientgo.cli.running import Process, Program, Reloader, broken, changed, look
from tests.cli.processes import wait_for
from tests.cli.projects import clientgo, new_project

_SECONDS = count(1)


@dataclass
class Manager:
    """A program that does what the test says."""

    code: int | None = None
    ended: bool = False

    def exit_code(self) -> int | None:
        return self.code

    def end(self) -> int:
        self.ended = True
        return 0

    def terminate(self) -> None:
        """It has ended already."""


@dataclass
class Scene:
    """A folder, the programs that were started in it, and what was told."""

    folder: Path
    started: list[Manager] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def start(self) -> Program:
        # The next one begins when the last has ended: two would hold one lease.
        assert all(one.ended or one.code is not None for one in self.started)
        self.started.append(Manager())
        return self.started[-1]

    def save(self, name: str, text: str) -> None:
        """Write a file, later than all that was written before, whatever the disk's clock can tell apart."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        later = next(_SECONDS)
        os.utime(path, (later, later))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.save("main.py", "import controllers\n")
    made.save("controllers/foo.py", "A = 1\n")
    return made


@pytest.fixture
def reloader(scene: Scene) -> Reloader:
    return Reloader(scene.folder, scene.start, tell=scene.told.append)


def looks(reloader: Reloader) -> list[int | None]:
    """What two looks at the source say: the first may wait for more saves."""
    return [reloader.check(), reloader.check()]


def test_a_save_ends_the_manager_and_starts_it_again(scene: Scene, reloader: Reloader) -> None:
    scene.save("controllers/foo.py", "A = 2\n")

    assert looks(reloader) == [None, None]
    assert [one.ended for one in scene.started] == [True, False]
    assert scene.told == ["controllers/foo.py changed; restarting the manager"]


def test_nothing_is_done_while_nothing_changes(scene: Scene, reloader: Reloader) -> None:
    scene.save("tests/test_foo.py", "A = 2\n")
    scene.save(".venv/site.py", "A = 2\n")
    scene.save("config.yaml", "a: 2\n")

    assert looks(reloader) == [None, None]
    assert len(scene.started) == 1


def test_files_that_are_saved_one_after_another_are_one_change(scene: Scene, reloader: Reloader) -> None:
    scene.save("controllers/foo.py", "A = 2\n")
    reloader.check()
    scene.save("controllers/bar.py", "B = 2\n")
    reloader.check()
    assert len(scene.started) == 1

    reloader.check()
    assert len(scene.started) == 2
    assert scene.told == ["controllers/bar.py, controllers/foo.py changed; restarting the manager"]


def test_what_is_no_python_is_told_and_the_manager_goes_on_until_it_is_mended(scene: Scene, reloader: Reloader) -> None:
    scene.save("controllers/foo.py", "A = 1\ndef f(:\n")
    looks(reloader), looks(reloader)
    assert len(scene.started) == 1
    assert [text.partition(": ")[0] for text in scene.told] == ["controllers/foo.py changed; not restarting"]
    assert f"{scene.folder}/controllers/foo.py:2: " in scene.told[0]

    scene.save("main.py", "import controllers.foo\n")
    looks(reloader)
    assert len(scene.started) == 1

    scene.save("controllers/foo.py", "A = 3\n")
    looks(reloader)
    assert len(scene.started) == 2


def test_a_manager_that_ends_by_itself_is_started_again_by_the_next_save(scene: Scene, reloader: Reloader) -> None:
    scene.save("main.py", "import nothing_like_it\n")
    looks(reloader)
    scene.started[-1].code = 1
    assert looks(reloader) == [None, None]
    assert scene.told[-1] == "the manager exited with code 1; it restarts when its source changes"

    scene.save("main.py", "import controllers\n")
    looks(reloader)
    assert len(scene.started) == 3


def test_as_long_as_nothing_was_saved_its_end_is_the_end(scene: Scene, reloader: Reloader) -> None:
    scene.started[0].code = 3

    assert reloader.check() == 3


def test_a_file_that_is_removed_is_a_change_and_one_that_is_broken_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "b.py").write_bytes(b"\xff\x00")
    before = look(tmp_path)
    (tmp_path / "a.py").unlink()

    assert changed(before, look(tmp_path)) == [tmp_path / "a.py"]
    assert broken([tmp_path / "a.py"]) == ""
    assert broken([tmp_path / "a.py", tmp_path / "b.py"]).startswith(f"{tmp_path}/b.py:1: ")


@pytest.mark.e2e
@pytest.mark.parametrize(("hurried", "code"), [(False, 7), (True, 1)])
def test_a_process_ends_in_good_order_unless_it_is_told_twice(tmp_path: Path, hurried: bool, code: int) -> None:
    script = """
import os, signal, sys, threading
told, done = threading.Event(), threading.Event()
def handle(*_):
    os._exit(1) if told.is_set() else told.set()
signal.signal(signal.SIGTERM, handle)
print("ready", file=open("said", "w"), flush=True)
while not told.wait(0.05): pass
print("told", file=open("said", "w"), flush=True)
while "wait" in sys.argv: done.wait(0.05)
sys.exit(7)
"""
    process = Process([sys.executable, "-c", script, *(["wait"] if hurried else [])], tmp_path)
    (tmp_path / "said").touch()
    wait_for(tmp_path / "said", "ready")
    if hurried:
        process.terminate()
        wait_for(tmp_path / "said", "told")

    assert process.exit_code() is None
    assert process.end() == code
    assert process.exit_code() == code


def test_a_folder_with_nothing_to_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(tmp_path, "run") == 1
    assert "no project in this folder" in capsys.readouterr().err
    project = new_project(tmp_path / "p")
    (project / "main.py").unlink()

    assert clientgo(project, "run", "--reload") == 1
    assert "main.py not found in the project" in capsys.readouterr().err
