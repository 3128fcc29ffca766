"""`clientgo run`: the manager of this project, started again whenever its source changes.

    clientgo run --reload -- --leader-elect

One manager runs at a time, as a process of its own, always with the same arguments and variables: the next one begins
when the last has ended in good order and given back its lease, which it therefore has at once. What is saved is read
first. If it is no Python, that is told, the manager goes on, and the next save is tried. As long as nothing has been
saved this is like running `main.py` itself: if that ends, so does this, with its exit code.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.signals import on_signals

MAIN = "main.py"

POLL_SECONDS = 0.3
"""Between two looks at the source: short enough for a save to be answered at once, as far as people can tell."""

GRACE_SECONDS = 40.0
"""How long a manager may take to end: its own 30 s, and some. config/manager gives it as much in a cluster."""

Look = Mapping[Path, tuple[int, int]]
"""When each file was written last, in nanoseconds, and how long it is."""

_NOT_THE_MANAGERS = frozenset({"__pycache__", "dist", "node_modules", "tests"})


class Program(Protocol):
    """A manager that runs."""

    def exit_code(self) -> int | None:
        """What it ended with; None as long as it runs."""

    def end(self) -> int:
        """Have it end in good order, and by force if that takes too long; returns what it ended with."""

    def hurry(self) -> None:
        """Have it end at once."""


class Process:
    """A manager in a process, and a process group, of its own.

    The terminal's Ctrl-C is for whoever watches over it, who passes it on once: a second one would end the manager
    before it has given back its lease.
    """

    def __init__(self, command: list[str], folder: Path) -> None:
        self._process = subprocess.Popen(command, cwd=folder, process_group=0)  # nosec B603  # the project's own main

    def exit_code(self) -> int | None:
        """What it ended with; None as long as it runs."""
        code = self._process.poll()
        return code if code is None else _as_shells_say(code)

    def end(self) -> int:
        """Have it end in good order, and by force if that takes more than `GRACE_SECONDS`."""
        self.hurry()
        try:
            return _as_shells_say(self._process.wait(GRACE_SECONDS))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return _as_shells_say(self._process.wait())

    def hurry(self) -> None:
        """Tell it to end; one that was told before ends at once."""
        if self._process.poll() is None:
            self._process.terminate()


class Reloader:
    """Keeps a program running that is what its source says."""

    def __init__(self, root: Path, start: Callable[[], Program], *, tell: Callable[[str], object]) -> None:
        self._root, self._start, self._tell = root, start, tell
        self._running = self._seen = look(root)
        self._refused: Look = {}
        self._as_begun, self._end_told = True, False
        self.program = start()

    def check(self) -> int | None:
        """Look once at the program and at its source, and act; an exit code if there is no more to do."""
        code = self.program.exit_code()
        if code is not None and self._as_begun:
            return code
        if code is not None and not self._end_told:
            self._end_told = True
            self._tell(f"the manager ended with exit code {code}; it is started again when its source changes")
        now = look(self._root)
        # Whoever saves several files is waited for: what changed since the last look may change again.
        settled, self._seen = now == self._seen, now
        if settled and now not in (self._running, self._refused):
            self._take(now)
        return None

    def _take(self, now: Look) -> None:
        paths = changed(self._running, now)
        names = ", ".join(str(path.relative_to(self._root)) for path in paths[:3]) + (", ..." if paths[3:] else "")
        # Everything since the start, not only the last save: an earlier one may have left something broken.
        if wrong := broken(paths):
            self._refused = now
            self._tell(f"{names} changed, which is left for the next save to mend: {wrong}")
            return
        self._tell(f"{names} changed: the manager is started again")
        self._running, self._as_begun, self._end_told = now, False, False
        self.program.end()
        self.program = self._start()


def run(options: argparse.Namespace, root: Path, *, clock: Clock = SYSTEM_CLOCK) -> int:
    """Run the manager, with `--reload` again after each change; returns its exit code.

    Raises:
        CommandError: the folder has no project, or the project no main.py.
    """
    Project.read(root)
    if not (root / MAIN).is_file():
        raise CommandError(f"the project has no {MAIN}, which is what is run")
    command = [sys.executable, MAIN, *options.arguments]
    if not options.reload:
        os.execv(sys.executable, command)  # nosec B606  # the project's own main, in this one's place
    stop = threading.Event()
    programs: list[Program] = []

    def start() -> Program:
        programs[:] = [Process(command, root)]
        return programs[0]

    def stop_or_hurry(_: int) -> None:
        if stop.is_set():
            for program in programs:
                program.hurry()
        stop.set()

    # SIGHUP, too: a terminal that is closed must not leave a manager behind.
    restore = on_signals((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), stop_or_hurry)
    try:
        reloader = Reloader(root, start, tell=_tell)
        while not clock.sleep(stop, POLL_SECONDS):
            code = reloader.check()
            if code is not None:
                return code
        return reloader.program.end()
    finally:
        restore()


def _as_shells_say(code: int) -> int:
    return code if code >= 0 else 128 - code


def _tell(text: str) -> None:
    print(f"clientgo run: {text}", file=sys.stderr, flush=True)  # noqa: T201  # the command's answer


def look(root: Path) -> Look:
    """The files that the manager may be made of: not its tests, nothing hidden, no environment of Python's."""
    return dict(_files(root))


def changed(before: Look, after: Look) -> list[Path]:
    """What was written, made or removed between two looks, in order."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def broken(paths: Iterable[Path]) -> str:
    """The first of these files that is no Python, as `path:line: what is wrong with it`; empty if all are well."""
    for path in paths:
        try:
            compile(path.read_bytes(), str(path), "exec")
        except FileNotFoundError:
            continue
        except SyntaxError as error:
            return f"{path}:{error.lineno or 1}: {error.msg}"
        except ValueError as error:  # Python before 3.11.4 says this of null bytes
            return f"{path}:1: {error}"
        except OSError as error:
            return f"{path}: {error}"
    return ""


def _files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return  # removed meanwhile, or not for us to read
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _NOT_THE_MANAGERS:
                    yield from _files(Path(entry.path))
            elif entry.name.endswith(".py"):
                seen = entry.stat()
                yield Path(entry.path), (seen.st_mtime_ns, seen.st_size)
        except OSError:
            continue
