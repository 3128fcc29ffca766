"""Command `python -m hack.screenshots`: make the pictures of the dashboard in docs/assets.

It runs the sample controller with its own API server, creates Foos of which one fails, and takes the pictures with
headless Chromium.
"""

import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.clientset import Clientset as Kubernetes
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec
from clientgo.kubernetes.types.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.meta import ObjectMeta
from clientgo.rest import load_config
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from generated.clientset import Clientset
from hack.browser import browser

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
TEAMS = ("billing", "checkout", "search", "shipping")
NAMES = [f"{team}-{number:02}" for number in range(15) for team in TEAMS]
FLAGS = ("--metrics-bind-address=127.0.0.1:0", "--qps=40", "--burst=10")
"""Flags of the controller, with few requests per second, so that keys wait in the queue."""

WAVES, PAUSE = 9, 14.0
"""Number of times that all Foos change, and seconds between them."""


def main() -> int:
    """Make the pictures; return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as out:
            command = [sys.executable, str(ROOT / "main.py"), "--embedded", *FLAGS]
            program = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        try:
            serving = re.compile(r'"serving the dashboard" url="(.+?)"')
            [url] = eventually(lambda: serving.findall(log.read_text()), seconds=30)
            eventually(lambda: "starting workers" in log.read_text(), seconds=30)
            config = load_config(kubeconfig=str(Path(folder) / ".embedded" / "kubeconfig"))
            with closing(Clientset(config)) as clientset:
                work(clientset)
                take_pictures(url, clientset)
        finally:
            program.terminate()
            program.wait(30)
    return 0


def work(clientset: Clientset) -> None:
    """Create Foos, one of which cannot get its Deployment, and change the others several times."""
    foos = clientset.samplecontroller_v1alpha1.foos("default")
    Kubernetes(clientset.requester).apps_v1.deployments("default").create(foreign("legacy-search"))
    foos.create(foo("search-legacy", "legacy-search"))
    for name in NAMES:
        foos.create(foo(name, name))
    for wave in range(WAVES):
        SYSTEM_CLOCK.sleep(threading.Event(), PAUSE)
        scale(clientset, NAMES[wave * 4 :], 2 + wave)


def scale(clientset: Clientset, names: Sequence[str], replicas: int) -> None:
    """Scale Foos."""
    for name in names:
        clientset.samplecontroller_v1alpha1.foos("default").patch(name, {"spec": {"replicas": replicas}})


def foo(name: str, deployment: str) -> Foo:
    """Return a Foo with one replica."""
    return Foo(metadata=ObjectMeta(name=name), spec=FooSpec(deployment_name=deployment, replicas=1))


def foreign(name: str) -> Deployment:
    """Return a Deployment that no Foo controls."""
    labels = {"app": name}
    pod = PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=(Container(name="a", image="a"),))
    )
    return Deployment(
        metadata=ObjectMeta(name=name), spec=DeploymentSpec(selector=LabelSelector(match_labels=labels), template=pod)
    )


def take_pictures(url: str, clientset: Clientset) -> None:
    """Take the pictures of a running controller, with keys in its queue."""
    with browser() as page:
        page.resize(1280, 1100)
        page.open(url)
        page.wait_for("document.querySelectorAll('#history td').length > 100")
        scale(clientset, NAMES, 1)
        page.wait_for("Number(document.querySelector('.tiles dd').textContent) > 5")
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            page.screenshot(ASSETS / f"dashboard-{scheme}.png")
        page.prefer("light")
        page.resize(1280, 760)
        page.evaluate("[...document.querySelectorAll('#failing .key')][0].click()")
        page.wait_for("document.querySelectorAll('#events td').length > 0")
        page.screenshot(ASSETS / "dashboard-object.png")


if __name__ == "__main__":
    sys.exit(main())
