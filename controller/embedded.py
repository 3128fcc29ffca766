"""Cluster for `main.py --embedded`: the bundled API server with Foo's CRD and an example Foo."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import yaml

from clientgo.meta import from_dict
from clientgo.rest import Config
from clientgo_apiserver.local import local_cluster, print_guide
from controller.api.v1alpha1 import Foo
from generated.clientset import Clientset

ARTIFACTS = Path(__file__).resolve().parent.parent / "artifacts"

COMMANDS = (
    "kubectl get foos,deployments,pods",
    """kubectl patch foo example-foo --type merge -p '{"spec":{"replicas":3}}'""",
    "kubectl get deployment example-foo -w",
    "kubectl delete deployment example-foo      # is created again",
    "kubectl describe foo example-foo           # shows status and events",
    "kubectl delete foo example-foo             # deletes the Deployment as well",
)


@contextmanager
def embedded_cluster(*, port: int = 0) -> Iterator[Config]:
    """Run the server until the block ends, and print what to try."""
    with local_cluster([ARTIFACTS / "crd"], port=port) as (config, kubeconfig):
        with closing(Clientset(config)) as clientset:
            example = yaml.safe_load((ARTIFACTS / "examples" / "example-foo.yaml").read_text(encoding="utf-8"))
            foos = clientset.samplecontroller_v1alpha1.foos("default")
            foos.create(from_dict(Foo, example), field_manager="kubectl-create")
        print_guide(config, kubeconfig, COMMANDS)
        yield config
