"""Cluster of a program under development: the bundled API server, and what to try with kubectl."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK
from clientgo.errors import ConfigError
from clientgo.meta.manifests import read_crds
from clientgo.rest import Config
from clientgo.rest.kubeconfigwriter import remove_kubeconfig, write_kubeconfig
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.options import BundledOptions

_GUIDE = """\
An API server runs at {url} (in memory; it ends with this program).
In a second terminal:

  export KUBECONFIG={kubeconfig}
{commands}
Ctrl-C stops both.
"""


@contextmanager
def local_cluster(crd_paths: Sequence[Path], *, port: int = 0) -> Iterator[tuple[Config, Path]]:
    """Run the bundled API server with these CRDs until the block ends; return its configuration and kubeconfig.

    Workloads run as simulated pods. The kubeconfig is `.embedded/kubeconfig` in the working directory, or in a
    temporary one if that is read-only.

    Raises:
        ConfigError: a CRD is invalid, or its names are in use.
        OSError: the port is in use.
    """
    definitions = read_crds(crd_paths)
    server = EmbeddedServer.on_port(BundledOptions(port=port, secure=True), SYSTEM_CLOCK)
    with ExitStack() as stack:
        stack.callback(server.stop)
        server.start()
        try:
            server.install(definitions)
        except ApiFailure as failure:
            raise ConfigError(str(failure)) from failure
        path = write_kubeconfig(_kubeconfig_path(), server.url, token=server.token, ca=server.ca)
        stack.callback(remove_kubeconfig, path, server.url)
        yield Config(host=server.url, token=server.token, ca_data=(server.ca or b"").decode()), path


def print_guide(config: Config, kubeconfig: Path, commands: Sequence[str]) -> None:
    """Print for the user how to reach the server, and commands to try."""
    lines = "".join(f"  {command}\n" for command in commands)
    print(_GUIDE.format(url=config.host, kubeconfig=kubeconfig, commands=lines), flush=True)  # noqa: T201  # for people


def _kubeconfig_path() -> Path:
    folder = Path.cwd() / ".embedded"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "probe").touch()
        (folder / "probe").unlink()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="clientgo-"))
    return folder / "kubeconfig"
