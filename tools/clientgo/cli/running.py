"""`clientgo run`: runs the manager of the project, or the reconcilers of a file; restarts it when its source changes.

    clientgo run --reload -- --leader-elect
    clientgo run --reload greeter.py --embedded
    clientgo run --reload --webhook-host 192.168.1.5

One manager process runs at a time. The next one starts after a graceful shutdown of the last, which releases its lease.
If a saved file has a syntax error, the error is logged and the running manager stays. Until the first change this is
like running `main.py` itself: if that exits, so does this command, with its exit code.

Files are polled rather than watched by the operating system: a project has some hundred files, and one scan takes a few
milliseconds on every system, without a further dependency.

A cluster calls webhooks by their Service, which leads to pods. With `--webhook-host` it calls this machine: CRDs and
webhook configurations are installed with that address and a certificate of its own, and restored at the end.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Protocol

from clientgo.cli.names import CommandError
from clientgo.cli.project import Project
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.stop.signals import on_signals

MAIN = "main.py"

POLL_SECONDS = 0.3
"""Seconds between scans of the source."""

GRACE_SECONDS = 40.0
"""Time limit of a graceful shutdown: the manager's own 30 s and a margin, as in config/manager."""

Look = Mapping[Path, tuple[int, int]]
"""Modification time in nanoseconds and size of each file."""

_SKIPPED_FOLDERS = frozenset({"__pycache__", "dist", "node_modules", "tests"})


class Program(Protocol):
    """A running manager."""

    def exit_code(self) -> int | None:
        """Return the exit code, or None while it runs."""

    def end(self) -> int:
        """Stop it gracefully, or kill it after a timeout; return the exit code."""


class Process:
    """A manager in its own process group.

    The terminal sends Ctrl-C only to this command, which passes it on once: a second signal would stop the manager
    before it has released its lease.
    """

    def __init__(self, command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(command, cwd=folder, env=environ, process_group=0)  # nosec B603  # its own main

    def exit_code(self) -> int | None:
        """Return the exit code, or None while it runs."""
        code = self._process.poll()
        return code if code is None else _as_shells_say(code)

    def end(self) -> int:
        """Stop it gracefully, or kill it after `GRACE_SECONDS`; return the exit code."""
        self.terminate()
        try:
            return _as_shells_say(self._process.wait(GRACE_SECONDS))
        except subprocess.TimeoutExpired:
            self._process.kill()
            return _as_shells_say(self._process.wait())

    def terminate(self) -> None:
        """Send SIGTERM; the second one stops the manager immediately."""
        if self._process.poll() is None:
            self._process.terminate()


class Reloader:
    """Keeps a program running, and restarts it when its source changes."""

    def __init__(self, root: Path, start: Callable[[], Program], *, tell: Callable[[str], object]) -> None:
        self._root, self._start, self._tell = root, start, tell
        self._running = self._seen = look(root)
        self._refused: Look = {}
        self._as_begun, self._end_told = True, False
        self.program = start()

    def check(self) -> int | None:
        """Check the program and its source once, and restart it if needed; return an exit code to end with, or None."""
        code = self.program.exit_code()
        if code is not None and self._as_begun:
            return code
        if code is not None and not self._end_told:
            self._end_told = True
            self._tell(f"the manager exited with code {code}; it restarts when its source changes")
        now = look(self._root)
        # Wait until a scan finds no further change: editors save several files.
        settled, self._seen = now == self._seen, now
        if settled and now not in (self._running, self._refused):
            self._take(now)
        return None

    def _take(self, now: Look) -> None:
        paths = changed(self._running, now)
        names = ", ".join(str(path.relative_to(self._root)) for path in paths[:3]) + (", ..." if paths[3:] else "")
        # All changes since the start, not only the last save: an earlier one may have left a syntax error.
        if wrong := broken(paths):
            self._refused = now
            self._tell(f"{names} changed; not restarting: {wrong}")
            return
        self._tell(f"{names} changed; restarting the manager")
        self._running, self._as_begun, self._end_told = now, False, False
        self.program.end()
        self.program = self._start()


def run(options: argparse.Namespace, root: Path, *, clock: Clock = SYSTEM_CLOCK) -> int:
    """Run the manager, with `--reload` again after each change, and return its exit code.

    Raises:
        CommandError: the folder has no project, or the project has no main.py.
    """
    if options.help or (options.file is not None and not options.reload):
        # Imported here: the manager and the generators take most of the start-up time.
        from clientgo.cli.onefile import print_flags, run_file  # noqa: PLC0415

        if options.help:
            options.print_help()
            return print_flags()
        return run_file(options.file, options.arguments)
    command = [sys.executable, *_program(options.file, root), *options.arguments]
    if not options.reload:
        if options.webhook_host:
            raise CommandError("--webhook-host requires --reload: this command must run as long as the manager")
        os.execv(sys.executable, command)  # nosec B606  # the project's own main, in this one's place
    with ExitStack() as stack:
        variables: Mapping[str, str] = {}
        if options.webhook_host:
            variables = stack.enter_context(called_webhooks(root, options.webhook_host, options.arguments))
        return _reloading(command, root, {**os.environ, **variables}, clock)


@contextmanager
def called_webhooks(root: Path, host: str, arguments: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Have kubectl's cluster call the project's webhooks on this machine; yield the manager's environment variables.

    Raises:
        CommandError: the project has no webhooks, or the manager's arguments name another cluster.
        ConfigError: no cluster is configured.
        ApiError: the cluster rejects the CRDs or the configurations.
    """
    folders = [path for name in ("bases", "patches") if (path := root / "config/crd" / name).is_dir()]
    hooks = root / "config/webhook"
    if not hooks.is_dir():
        raise CommandError("no webhooks in the project: add some with clientgo create webhook")
    for word in arguments:
        if word.partition("=")[0] in ("--kubeconfig", "--context", "--master"):
            raise CommandError(
                f"--webhook-host is for the current cluster of kubectl: set KUBECONFIG instead of {word}"
            )
    # Imported here: other runs need neither a client nor the environments of tests.
    from clientgo.envtest import Environment, Webhooks  # noqa: PLC0415
    from clientgo.envtest.options import ExistingCluster  # noqa: PLC0415
    from clientgo.program.commandline import FlagParser  # noqa: PLC0415
    from clientgo.rest import RESTClient  # noqa: PLC0415
    from clientgo.webhook.server import WebhookFlags  # noqa: PLC0415

    port = FlagParser(WebhookFlags, prog="clientgo run", description="").parse(()).webhook_port
    environment = Environment(
        crd_paths=folders, webhooks=Webhooks([hooks], host=host, port=port), server=ExistingCluster()
    )
    with environment as config:
        assert environment.webhooks is not None, "there is a configuration"
        _tell(f"{config.host} calls the webhooks at {environment.webhooks.url}, until this command ends")
        with closing(RESTClient(config)) as client:
            deployed = environment.webhooks.deployed(client)
        if deployed:
            _tell(
                "it also calls those of the deployed project, without whose pods writes fail: "
                f"run kubectl delete {' '.join(deployed)}, and afterwards make deploy"
            )
        yield {
            "CLIENTGO_WEBHOOK_PORT": str(port),
            "CLIENTGO_WEBHOOK_CERT_PATH": str(environment.webhooks.cert_dir),
        }


def _reloading(command: list[str], root: Path, environ: Mapping[str, str], clock: Clock) -> int:
    """Run the manager until a signal, again after each change, and return its exit code."""
    stop = threading.Event()
    programs: list[Process] = []

    def start() -> Program:
        programs[:] = [Process(command, root, environ)]
        return programs[0]

    def stop_or_terminate(_: int) -> None:
        if stop.is_set():
            for program in programs:
                program.terminate()
        stop.set()

    # SIGHUP too: closing the terminal must not leave a manager behind.
    restore = on_signals((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), stop_or_terminate)
    try:
        reloader = Reloader(root, start, tell=_tell)
        while not clock.sleep(stop, POLL_SECONDS):
            code = reloader.check()
            if code is not None:
                return code
        return reloader.program.end()
    finally:
        restore()


def _program(file: Path | None, root: Path) -> list[str]:
    if file is not None:
        return ["-m", "clientgo.cli", "run", str(file)]
    Project.read(root)
    if not (root / MAIN).is_file():
        raise CommandError(f"{MAIN} not found in the project")
    return [MAIN]


def _as_shells_say(code: int) -> int:
    return code if code >= 0 else 128 - code


def _tell(text: str) -> None:
    print(f"clientgo run: {text}", file=sys.stderr, flush=True)  # noqa: T201  # the command's answer


def look(root: Path) -> Look:
    """Scan the source files of the manager, without tests, hidden files and virtual environments."""
    return dict(_files(root))


def changed(before: Look, after: Look) -> list[Path]:
    """Return the files that were written, created or removed between two scans, sorted."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def broken(paths: Iterable[Path]) -> str:
    """Return the first syntax error in these files as `path:line: message`, or an empty string."""
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
        return  # removed meanwhile, or not readable
    if any(entry.name == "pyvenv.cfg" for entry in entries):
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in _SKIPPED_FOLDERS:
                    yield from _files(Path(entry.path))
            elif entry.name.endswith(".py"):
                seen = entry.stat()
                yield Path(entry.path), (seen.st_mtime_ns, seen.st_size)
        except OSError:
            continue
