"""`python -m clientgo.envtest.apiserver`: the bundled API server on its own, until SIGINT or SIGTERM.

For trying kubectl or a program in another process against it. It serves over TLS, and to those alone who have the token
in its kubeconfig, which nobody else can read; with `--anonymous` over plain HTTP, to everybody on this machine.
Everything stays on loopback unless an address is named, and in memory unless a data directory is; what is printed is
one line with the address, the kubeconfig and a command to begin with.
"""

import argparse
import errno
import gc
import ipaddress
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import TextIO

from clientgo.clock import attentive
from clientgo.envtest.apiserver.journal import DataUnusable
from clientgo.envtest.apiserver.kubeconfig import NotOurKubeconfig, write_kubeconfig
from clientgo.envtest.apiserver.state import Options
from clientgo.envtest.environment import Environment
from clientgo.errors import ApiError, ConfigError, ConnectionFailed
from clientgo.flags import port, seconds


def main(arguments: Sequence[str] | None = None, *, out: TextIO = sys.stdout, err: TextIO = sys.stderr) -> int:
    """Serve until a signal comes; give the exit status: 0 after a signal, 1 where the server could not start."""
    options = _parser().parse_args(arguments)
    stop = threading.Event()
    _stop_on_signals(stop)
    try:
        with _serving(options) as (url, path):
            place = shlex.quote(str(path))
            out.write(f"API server at {url}, kubeconfig {place}; try: kubectl --kubeconfig {place} api-resources\n")
            out.flush()
            attentive(stop.wait, None)
    except (ApiError, ConfigError, ConnectionFailed, DataUnusable, NotOurKubeconfig, OSError) as error:
        why = f"port {options.port} of {options.host} is taken" if _is_taken(error) else str(error)
        err.write(f"the API server can't start: {why}\n")
        return 1
    return 0


@contextmanager
def _serving(options: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """Run the server and give its URL and kubeconfig; both are gone afterwards."""
    environment = Environment(
        crd_paths=[Path(item) for item in options.crd],
        port=options.port,
        host=options.host,
        secure=not options.anonymous,
        bundled=True,
        simulate=not options.no_simulate,
        ready_seconds=options.ready_seconds,
        replica_sets=options.replica_sets,
        data_dir=Path(options.data_dir) if options.data_dir else None,
        enable_faults=options.enable_faults,
        audit_log=Path(options.audit_log) if options.audit_log else None,
        audit_reads=options.audit_reads,
    )
    with ExitStack() as stack:
        stack.callback(environment.stop)
        config = environment.start()
        path = Path(options.kubeconfig_out) if options.kubeconfig_out else _own_folder(stack) / "kubeconfig"
        # What is removed in the end is what was written here: another's file is refused before.
        path = write_kubeconfig(path, config.host, token=config.token, ca=config.ca_data.encode() or None)
        stack.callback(path.unlink, missing_ok=True)
        yield config.host, path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.envtest.apiserver", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--port", type=port, default=0, help="port to listen on; a free one where none is named")
    parser.add_argument("--host", type=_host, default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="plain HTTP without tokens and roles: everybody on this machine may do everything",
    )
    parser.add_argument("--kubeconfig-out", metavar="PATH", help="where to write the kubeconfig (mode 0600)")
    parser.add_argument(
        "--crd", action="append", default=[], metavar="PATH", help="YAML file or folder of CRDs to install"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", help="keep everything in this folder; in memory where none is named"
    )
    parser.add_argument("--enable-faults", action="store_true", help="let clients ask for faults, below /faults")
    parser.add_argument(
        "--audit-log", metavar="FILE", help="append an audit.k8s.io/v1 event for each write to this file, one a line"
    )
    parser.add_argument("--audit-reads", action="store_true", help="let the audit tell of requests that only read, too")
    parser.add_argument("--no-simulate", action="store_true", help="leave Deployments' status to others")
    parser.add_argument("--replica-sets", action="store_true", help="let Deployments have ReplicaSets, and a history")
    parser.add_argument(
        "--ready-seconds",
        type=seconds,
        default=Options().ready_seconds,
        metavar="SECONDS",
        help="how long replicas take to become available; 0: before the write is answered (default: %(default)s)",
    )
    return parser


def _is_taken(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EADDRINUSE


def _own_folder(stack: ExitStack) -> Path:
    # Only this user may enter it: the file in it can be neither read nor replaced by others.
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clientgo-")))


def _host(text: str) -> str:
    try:
        return str(ipaddress.ip_address("127.0.0.1" if text == "localhost" else text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no address: an IP address of this machine is wanted") from None


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
    # Stored objects hold no cycles, and neither does what was loaded: walking it all again and again is a tenth of the
    # time of a write. Only here: what else runs in a program that imports the server is not the server's affair.
    gc.freeze()
    gc.set_threshold(10_000, 50, 100)
    sys.exit(main())
