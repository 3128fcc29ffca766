"""Reloading by `clientgo run` after source changes."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from clientgo.cli.running import Process, Program, Reloader, broken, changed, look
from tests.cli.processes import free_port, in_background, wait_for
from tests.cli.projects import clientgo, foo_project, new_project, rejected, run

_SECONDS = count(1)


@dataclass
class FakeManager:
    """Manager process whose exit the test controls."""

    code: int | None = None
    ended: bool = False

    def exit_code(self) -> int | None:
        return self.code

    def end(self) -> int:
        self.ended = True
        return 0


@dataclass
class ReloadHarness:
    """Project folder, the managers started in it, and the messages printed."""

    folder: Path
    started: list[FakeManager] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def start(self) -> Program:
        # A manager starts only after the previous one has exited: two would compete for one lease.
        assert all(item.ended or item.code is not None for item in self.started)
        self.started.append(FakeManager())
        return self.started[-1]

    def save(self, name: str, text: str) -> None:
        """Write a file with a later modification time than every earlier one."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        later = next(_SECONDS)
        os.utime(path, (later, later))


@pytest.fixture
def harness(tmp_path: Path) -> ReloadHarness:
    reload_harness = ReloadHarness(tmp_path)
    reload_harness.save("main.py", "import controllers\n")
    reload_harness.save("controllers/foo.py", "A = 1\n")
    return reload_harness


@pytest.fixture
def reloader(harness: ReloadHarness) -> Reloader:
    return Reloader(harness.folder, harness.start, tell=harness.messages.append)


def check_twice(reloader: Reloader) -> list[int | None]:
    """Check the source twice, because the first check may wait for more saves."""
    return [reloader.check(), reloader.check()]


def test_save_restarts_the_manager(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.save("controllers/foo.py", "A = 2\n")

    assert check_twice(reloader) == [None, None]
    assert [item.ended for item in harness.started] == [True, False]
    assert harness.messages == ["controllers/foo.py changed; restarting the manager"]


def test_unrelated_files_do_not_restart_the_manager(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.save("tests/test_foo.py", "A = 2\n")
    harness.save(".venv/site.py", "A = 2\n")
    harness.save("config.yaml", "a: 2\n")

    assert check_twice(reloader) == [None, None]
    assert len(harness.started) == 1


def test_consecutive_saves_restart_once(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.save("controllers/foo.py", "A = 2\n")
    reloader.check()
    harness.save("controllers/bar.py", "B = 2\n")
    reloader.check()
    assert len(harness.started) == 1

    reloader.check()
    assert len(harness.started) == 2
    assert harness.messages == ["controllers/bar.py, controllers/foo.py changed; restarting the manager"]


def test_syntax_error_is_reported_and_does_not_restart_the_manager(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.save("controllers/foo.py", "A = 1\ndef f(:\n")
    check_twice(reloader), check_twice(reloader)
    assert len(harness.started) == 1
    assert [text.partition(": ")[0] for text in harness.messages] == ["controllers/foo.py changed; not restarting"]
    assert f"{harness.folder}/controllers/foo.py:2: " in harness.messages[0]

    harness.save("main.py", "import controllers.foo\n")
    check_twice(reloader)
    assert len(harness.started) == 1

    harness.save("controllers/foo.py", "A = 3\n")
    check_twice(reloader)
    assert len(harness.started) == 2


def test_exited_manager_restarts_at_the_next_save(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.save("main.py", "import nothing_like_it\n")
    check_twice(reloader)
    harness.started[-1].code = 1
    assert check_twice(reloader) == [None, None]
    assert harness.messages[-1] == "the manager exited with code 1; it restarts when its source changes"

    harness.save("main.py", "import controllers\n")
    check_twice(reloader)
    assert len(harness.started) == 3


def test_exit_before_any_save_is_final(harness: ReloadHarness, reloader: Reloader) -> None:
    harness.started[0].code = 3

    assert reloader.check() == 3


def test_removed_file_is_a_change_and_invalid_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A = 1\n")
    (tmp_path / "b.py").write_bytes(b"\xff\x00")
    before = look(tmp_path)
    (tmp_path / "a.py").unlink()

    assert changed(before, look(tmp_path)) == [tmp_path / "a.py"]
    assert broken([tmp_path / "a.py"]) == ""
    assert broken([tmp_path / "a.py", tmp_path / "b.py"]).startswith(f"{tmp_path}/b.py:1: ")


@pytest.mark.e2e
@pytest.mark.parametrize(("signalled_twice", "code"), [(False, 7), (True, 1)])
def test_process_terminates_gracefully_unless_signalled_twice(tmp_path: Path, signalled_twice: bool, code: int) -> None:
    script = """
import os, signal, sys, threading
signalled, done = threading.Event(), threading.Event()
def handle(*_):
    os._exit(1) if signalled.is_set() else signalled.set()
signal.signal(signal.SIGTERM, handle)
print("ready", file=open("state", "w"), flush=True)
while not signalled.wait(0.05): pass
print("signalled", file=open("state", "w"), flush=True)
while "wait" in sys.argv: done.wait(0.05)
sys.exit(7)
"""
    process = Process([sys.executable, "-c", script, *(["wait"] if signalled_twice else [])], tmp_path, os.environ)
    (tmp_path / "state").touch()
    wait_for(tmp_path / "state", "ready")
    if signalled_twice:
        process.terminate()
        wait_for(tmp_path / "state", "signalled")

    assert process.exit_code() is None
    assert process.end() == code
    assert process.exit_code() == code


def test_run_without_project_or_main_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clientgo(tmp_path, "run") == 1
    assert "no project in this folder" in capsys.readouterr().err
    project = new_project(tmp_path / "p")
    (project / "main.py").unlink()

    assert "main.py not found in the project" in rejected(project, capsys, "run", "--reload")


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.feature("A-67")
def test_reload_restarts_on_valid_changes_and_releases_its_lease(tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = foo_project(tmp_path / "foo")
    controller = project / "controllers" / "foo_controller.py"
    first = controller.read_text()
    kubectl = ("kubectl", "--kubeconfig", ".kubeconfig")
    flags = f"--leader-elect --log-level=debug --health-probe-bind-address=127.0.0.1:{free_port()}"
    with in_background(project, variables, "make", "cluster", sign="kubeconfig"):
        run(project, variables, "make", "install")
        run(project, variables, *kubectl, "apply", "-k", "config/samples")
        with in_background(project, variables, "make", "run", f"ARGS={flags}", sign='foo="foo-sample"') as output:
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled"('))
            wait_for(output, "foo_controller.py changed; not restarting")
            controller.write_text(first.replace('log.info("reconciled"', 'log.info("reconciled again"'))
            wait_for(output, "reconciled again")
            lease = run(project, variables, *kubectl, "get", "lease", "-A", "-o", "jsonpath={.items[*].spec}")
    log = output.read_text()

    assert log.count("became leader") == 2
    assert log.count("stopped leading") == 2
    # The previous manager released the lease, so the next one did not wait for it to expire.
    assert "lease is held" not in log
    assert '"leaseTransitions"' in lease
    assert "Traceback" not in log
