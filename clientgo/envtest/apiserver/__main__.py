"""`python -m clientgo.envtest.apiserver`: the bundled API server on its own, until SIGINT or SIGTERM.

For trying kubectl or a program in another process against it. Everything stays in memory and on loopback; what is
printed is one line with the address, the kubeconfig and a command to begin with.
"""

import argparse
import errno
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from clientgo.envtest.apiserver.kubeconfig import NotOurKubeconfig
from clientgo.envtest.environment import Environment
from clientgo.errors import ApiError, ConfigError, ConnectionFailed


def main(arguments: Sequence[str] | None = None, *, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """Serve until a signal comes; give the exit status: 0 after a signal, 1 where the server could not start."""
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    _stop_on_signals(stop)
    path = Path(options.kubeconfig_out) if options.kubeconfig_out else _default_path()
    environment = Environment(
        crd_paths=[Path(item) for item in options.crd],
        port=options.port,
        kubeconfig=path,
        bundled=True,
        simulate=not options.no_simulate,
    )
    try:
        environment.start()
    except (ApiError, ConfigError, ConnectionFailed, NotOurKubeconfig, OSError) as error:
        why = f"port {options.port} of 127.0.0.1 is taken" if _is_taken(error) else str(error)
        err.write(f"the API server can't start: {why}\n")
        environment.stop()
        return 1
    try:
        server = environment.server
        assert server is not None, "bundled=True starts one"
        place = shlex.quote(str(path.expanduser().absolute()))
        out.write(f"API server at {server.url}, kubeconfig {place}; try: kubectl --kubeconfig {place} api-resources\n")
        out.flush()
        stop.wait()
    finally:
        environment.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.envtest.apiserver", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; a free one where none is named")
    parser.add_argument("--kubeconfig-out", metavar="PATH", help="where to write the kubeconfig (mode 0600)")
    parser.add_argument(
        "--crd", action="append", default=[], metavar="PATH", help="YAML file or folder of CRDs to install"
    )
    parser.add_argument("--no-simulate", action="store_true", help="leave Deployments' status to others")
    return parser


def _is_taken(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EADDRINUSE


def _default_path() -> Path:
    # A folder of its own, which only this user may enter: the name can be guessed, the file not read or replaced.
    return Path(tempfile.mkdtemp(prefix="clientgo-")) / "kubeconfig"


def _stop_on_signals(stop: threading.Event) -> None:
    def handle(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            # Asked twice: whoever asks no longer wants to wait.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


if __name__ == "__main__":
    sys.exit(main())
