"""The commands `clientgo apiserver` and `python -m clientgo.apiserver`: the bundled API server as a process.

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
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from clientgo.apiserver.kubeconfig import NotOurKubeconfig, write_kubeconfig
from clientgo.apiserver.state import Options
from clientgo.apiserver.storage.journal import DataUnusable
from clientgo.envtest.environment import Environment
from clientgo.errors import ApiError, ConfigError, ConnectionFailed
from clientgo.flags import port, seconds
from clientgo.signals import stop_on_signals


def run(arguments: Sequence[str] | None = None, *, prog: str = "python -m clientgo.apiserver") -> int:
    """Run the server as the only purpose of this process, until SIGINT or SIGTERM; return the exit code."""
    # Stored objects hold no cycles, and neither does what was loaded: walking all of it again and again is a tenth of
    # the time of a write. Only here: a program that imports the server decides about its own garbage collection.
    gc.freeze()
    gc.set_threshold(10_000, 50, 100)
    return main(arguments, prog=prog)


def main(
    arguments: Sequence[str] | None = None,
    *,
    prog: str = "python -m clientgo.apiserver",
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code: 1 if the server could not start."""
    options = _parser(prog).parse_args(arguments)
    stop = stop_on_signals()
    try:
        with _serving(options) as (url, path):
            place = shlex.quote(str(path))
            out.write(f"API server at {url}, kubeconfig {place}; try: kubectl --kubeconfig {place} api-resources\n")
            out.flush()
            stop.wait()
    except (ApiError, ConfigError, ConnectionFailed, DataUnusable, NotOurKubeconfig, OSError) as error:
        why = f"port {options.port} of {options.host} is taken" if _is_taken(error) else str(error)
        err.write(f"cannot start the API server: {why}\n")
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
        bookmark_interval=options.bookmark_interval,
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


def _parser(prog: str = "python -m clientgo.apiserver") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=__doc__.partition("\n")[0])
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
    parser.add_argument(
        "--bookmark-interval",
        type=seconds,
        default=Options().bookmark_interval,
        metavar="SECONDS",
        help="interval between the bookmarks of a watch (default: %(default)s)",
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


if __name__ == "__main__":
    sys.exit(run())
