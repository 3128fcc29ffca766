"""Cluster of a program under development: the bundled API server, and what to try with kubectl."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clientgo.envtest import BundledServer, Environment
from clientgo.rest import Config

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
    """
    path = _kubeconfig_path()
    server = BundledServer(port=port, kubeconfig=path, secure=True)
    environment = Environment(crd_paths=crd_paths, server=server)
    with environment as config:
        yield config, path


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
