"""The cluster in a box: the bundled API server, Foo's CRD and an example Foo, for `main.py --embedded`."""

import tempfile
from pathlib import Path

import yaml

from clientgo.envtest import Environment
from clientgo.errors import AlreadyExists
from clientgo.meta import from_dict
from clientgo.rest import Config
from controller.api.v1alpha1 import Foo
from generated.clientset import Clientset

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "artifacts" / "examples" / "example-foo.yaml"

_GUIDE = """\
An API server runs at {url} (in memory; it ends with this program).
In a second terminal:

  export KUBECONFIG={kubeconfig}
  kubectl get foos,deployments
  kubectl patch foo example-foo --type merge -p '{{"spec":{{"replicas":3}}}}'
  kubectl get deployment example-foo -w
  kubectl delete deployment example-foo      # it comes back
  kubectl describe foo example-foo           # with its events
  kubectl delete foo example-foo             # its Deployment goes too

Ctrl-C stops both.
"""


class Embedded:
    """An API server with Foos, running in this process until stopped."""

    def __init__(self, *, port: int = 0) -> None:
        self.kubeconfig = _kubeconfig_path()
        self._environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"], port=port, kubeconfig=self.kubeconfig, bundled=True, secure=True
        )

    def start(self) -> Config:
        """Start the server, install the CRD, create the example Foo; returns how to reach it."""
        config = self._environment.start()
        example = from_dict(Foo, yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))
        clientset = Clientset(config)
        try:
            clientset.samplecontroller_v1alpha1.foos("default").create(example, field_manager="kubectl-create")
        except AlreadyExists:
            pass  # a server with a data directory remembers it
        finally:
            clientset.close()
        return config

    def guide(self, config: Config) -> str:
        """What to try, to be printed."""
        return _GUIDE.format(url=config.host, kubeconfig=self.kubeconfig)

    def stop(self) -> None:
        """Stop the server and remove its kubeconfig."""
        self._environment.stop()


def _kubeconfig_path() -> Path:
    """Below the working directory, where a second terminal finds it; elsewhere if that can't be written."""
    folder = Path.cwd() / ".embedded"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "probe").touch()
        (folder / "probe").unlink()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="sample-controller-"))
    return folder / "kubeconfig"
