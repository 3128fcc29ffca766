"""Cluster for `main.py --embedded`: the bundled API server with Foo's CRD and an example Foo."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import yaml

from clientgo.envtest import Environment
from clientgo.meta import from_dict
from clientgo.rest import Config
from controller.api.v1alpha1 import Foo
from generated.clientset import Clientset

ARTIFACTS = Path(__file__).resolve().parent.parent / "artifacts"

_GUIDE = """\
An API server runs at {url} (in memory; it ends with this program).
In a second terminal:

  export KUBECONFIG={kubeconfig}
  kubectl get foos,deployments
  kubectl patch foo example-foo --type merge -p '{{"spec":{{"replicas":3}}}}'
  kubectl get deployment example-foo -w
  kubectl delete deployment example-foo      # is created again
  kubectl describe foo example-foo           # shows status and events
  kubectl delete foo example-foo             # deletes the Deployment as well

Ctrl-C stops both.
"""


@contextmanager
def embedded_cluster(*, port: int = 0) -> Iterator[Config]:
    """Run the server until the block ends, and print what to try."""
    path = _kubeconfig_path()
    environment = Environment(crd_paths=[ARTIFACTS / "crd"], port=port, kubeconfig=path, bundled=True, secure=True)
    with environment as config:
        with closing(Clientset(config)) as clientset:
            example = yaml.safe_load((ARTIFACTS / "examples" / "example-foo.yaml").read_text(encoding="utf-8"))
            foos = clientset.samplecontroller_v1alpha1.foos("default")
            foos.create(from_dict(Foo, example), field_manager="kubectl-create")
        print(_GUIDE.format(url=config.host, kubeconfig=path), flush=True)  # noqa: T201  # for people, beside the log
        yield config


def _kubeconfig_path() -> Path:
    """Return a path below the working directory, or below a temporary one if that is read-only."""
    folder = Path.cwd() / ".embedded"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "probe").touch()
        (folder / "probe").unlink()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="sample-controller-"))
    return folder / "kubeconfig"
