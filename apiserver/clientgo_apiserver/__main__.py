"""The bundled API server as a process: `clientgo apiserver` and `python -m clientgo_apiserver`.

It serves TLS and accepts only the token in its kubeconfig, which only its user can read; with `--anonymous` it serves
plain HTTP to every user of the machine. It listens on loopback unless an address is given, and keeps objects in memory
unless a data directory is given. It prints one line with the address, the kubeconfig and an example command.
"""

import errno
import gc
import shlex
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError
from clientgo.internal.files import PRIVATE, write_files
from clientgo.meta.manifests import read_crds
from clientgo.program.commandline import FlagParser, flag
from clientgo.rest.kubeconfigwriter import remove_kubeconfig, write_kubeconfig
from clientgo.stop.signals import stop_on_signals
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.options import BundledOptions
from clientgo_apiserver.server import ApiServer
from clientgo_apiserver.state import ANY_SERVICE, WebhookEndpoint
from clientgo_apiserver.storage.sqlite import DataUnusable

_LOOPBACK = "127.0.0.1"
_PROGRAM = "program"
_MANY = 100  # CRDs; they take some seconds


@dataclass(frozen=True, kw_only=True)
class ProgramFlags(BundledOptions):
    """Flags of the program: the options of the server, and what it installs and calls."""

    anonymous: bool = flag(False, "serve plain HTTP without authentication and authorization", group=_PROGRAM)
    kubeconfig_out: str = flag(
        "", "file to write the kubeconfig to, with mode 0600 (default: a temporary one)", group=_PROGRAM, metavar="PATH"
    )
    crd: tuple[str, ...] = flag(
        (), "YAML file or directory of CRDs to install; may be repeated", group=_PROGRAM, metavar="PATH"
    )
    webhook_dir: str = flag(
        "",
        "call the webhooks of Services on this machine; write their server's files port, tls.crt and tls.key here",
        group=_PROGRAM,
        metavar="DIR",
    )


def run(arguments: Sequence[str] | None = None, *, prog: str = "python -m clientgo_apiserver") -> int:
    """Run the server as the main program of this process until SIGINT or SIGTERM; return the exit code."""
    # Stored objects and loaded modules have no cycles; scanning them is a tenth of the time of a write. Only here: a
    # program that imports the server decides about its own garbage collection. The second generation is small, because
    # clients wait while it is scanned: 10 ms.
    gc.freeze()
    gc.set_threshold(5_000, 10, 1_000)
    return main(arguments, prog=prog)


def main(
    arguments: Sequence[str] | None = None,
    *,
    prog: str = "python -m clientgo_apiserver",
    out: TextIO = sys.stdout,
    err: TextIO = sys.stderr,
) -> int:
    """Serve until SIGINT or SIGTERM; return the exit code: 1 if the server could not start."""
    options = _parser(prog).parse(sys.argv[1:] if arguments is None else arguments)
    stop = stop_on_signals()
    try:
        with _serving(options, err) as (url, path):
            quoted = shlex.quote(str(path))
            out.write(f"API server at {url}, kubeconfig {quoted}; try: kubectl --kubeconfig {quoted} api-resources\n")
            out.flush()
            stop.wait()
    except (ApiFailure, ConfigError, DataUnusable, OSError) as error:
        err.write(f"cannot start the API server: {_reason(error, options)}\n")
        return 1
    return 0


def _reason(error: Exception, options: ProgramFlags) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {options.port} of {options.host} is in use"
    if isinstance(error, OSError) and error.filename:
        return f"cannot open {error.filename}: {error.strerror}"
    return str(error)


@contextmanager
def _serving(options: ProgramFlags, err: TextIO) -> Iterator[tuple[str, Path]]:
    """Run the server and yield its URL and kubeconfig, both of which are removed afterwards."""
    definitions = read_crds(map(Path, options.crd))
    server = EmbeddedServer.on_port(replace(options, secure=not options.anonymous), SYSTEM_CLOCK)
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        server.install(with_progress(definitions, err))
        if options.webhook_dir:
            _call_webhooks_here(server, Path(options.webhook_dir), stack)
        # Mode 0700: other users can neither read nor replace the file in it.
        folder = "" if options.kubeconfig_out else stack.enter_context(tempfile.TemporaryDirectory(prefix="clientgo-"))
        path = Path(options.kubeconfig_out or f"{folder}/kubeconfig")
        path = write_kubeconfig(path, server.url, token=server.token, ca=server.ca)
        stack.callback(remove_kubeconfig, path, server.url)
        yield server.url, path


def with_progress(definitions: Sequence[dict[str, Any]], err: TextIO) -> Iterator[dict[str, Any]]:
    """Yield the definitions; if they are many, write how many there are, and how many are installed."""
    for number, definition in enumerate(definitions):
        if number % _MANY == 0 and len(definitions) >= _MANY:
            err.write(
                f"installed {number} of {len(definitions)} CRDs\n"
                if number
                else f"installing {len(definitions)} CRDs\n"
            )
            err.flush()
        yield definition


def _call_webhooks_here(server: ApiServer, folder: Path, stack: ExitStack) -> None:
    """Call the webhooks of all Services at a free port of this machine; write it and a certificate to the folder."""
    # Imported here, 80 ms: most servers call no webhooks on this machine.
    from clientgo.pki import CertificateAuthority  # noqa: PLC0415

    authority = CertificateAuthority.create("clientgo-webhook-ca")
    certificate, key = authority.server((_LOOPBACK, "localhost"))
    with socket.create_server((_LOOPBACK, 0)) as probe:
        free = probe.getsockname()[1]
    endpoint = WebhookEndpoint(f"https://{_LOOPBACK}:{free}", authority.certificate.decode())
    server.run(lambda api: api.state.options.webhook_services.update({ANY_SERVICE: endpoint}))
    files = {folder / "tls.crt": certificate, folder / "tls.key": key, folder / "port": str(free).encode()}
    stack.callback(_remove_unchanged, files)
    write_files(files, mode=PRIVATE)


def _remove_unchanged(files: Mapping[Path, bytes]) -> None:
    """Remove the files, but for those that another server has written since."""
    for path, content in files.items():
        if path.exists() and path.read_bytes() == content:
            path.unlink()


def _parser(prog: str = "python -m clientgo_apiserver") -> FlagParser[ProgramFlags]:
    # Unlike a test, a person sees replicas become available, as on a real cluster.
    defaults = ProgramFlags(ready_seconds=0.1)
    return FlagParser(defaults, prog=prog, description=__doc__.partition("\n")[0])


if __name__ == "__main__":
    sys.exit(run())
