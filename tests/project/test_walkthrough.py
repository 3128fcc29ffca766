"""One Foo's way from the watch stream to its status, as in ARCHITECTURE.md."""

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from clientgo.kubernetes.informers.factory import SharedInformerFactory as KubernetesInformerFactory
from clientgo.meta import ObjectMeta
from clientgo.record import FakeRecorder
from clientgo.stop.lifecycle import Group
from clientgo.testing.kubernetes import FakeClientset as FakeKubernetes
from controller.api.v1alpha1 import Foo, FooSpec
from controller.controller import Controller
from generated.clientset.fake import FakeClientset
from generated.informers import SharedInformerFactory

ARCHITECTURE = Path(__file__).parents[2] / "ARCHITECTURE.md"
ROW = re.compile(r"^\| \d \| (?:`(?P<thread>[\w-]+)`)? ?\| `(?P<hop>[\w.]+:[\w.]+)` \|", re.MULTILINE)


def documented_hops() -> list[tuple[str, str]]:
    """Return (thread, module:function) of each row; a row without a thread belongs to the one above."""
    hops: list[tuple[str, str]] = []
    for row in ROW.finditer(ARCHITECTURE.read_text(encoding="utf-8")):
        hops.append((row["thread"] or hops[-1][0], row["hop"]))
    return hops


class Trace:
    """Recorder of the documented functions that were entered, by thread."""

    def __init__(self, hops: list[str]) -> None:
        self._wanted = set(hops)
        self.entered: list[tuple[str, str]] = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            hop = f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"
            if hop in self._wanted:
                self.entered.append((threading.current_thread().name, hop))


@pytest.fixture
def trace() -> Iterator[Trace]:
    built = Trace([hop for _, hop in documented_hops()])
    threading.setprofile(built)
    yield built
    threading.setprofile(None)


@pytest.mark.feature("A-10")
def test_foo_takes_the_eight_hops_of_the_architecture(trace: Trace) -> None:
    hops = documented_hops()
    assert len(hops) == 8
    foos, kube, done = FakeClientset(), FakeKubernetes(), threading.Event()
    foo_informers, kube_informers = SharedInformerFactory(foos), KubernetesInformerFactory(kube)
    controller = Controller(
        kube.apps_v1, foos.samplecontroller_v1alpha1, kube_informers.apps.v1.deployments,
        foo_informers.samplecontroller.v1alpha1.foos, FakeRecorder(),
    )  # fmt: skip

    def notice(_: object) -> tuple[bool, object]:
        done.set()
        return False, None

    foos.prepend_reactor("update", "foos/status", notice)
    group = Group()
    foo_informers.start(group.stop_event)
    kube_informers.start(group.stop_event)
    group.start(controller.run, 1, group.stop_event, name="controller")
    assert foo_informers.wait_for_cache_sync(group.stop_event, timeout=10)
    foo = Foo(metadata=ObjectMeta(name="foo", namespace="default"), spec=FooSpec(deployment_name="foo", replicas=1))
    foos.samplecontroller_v1alpha1.foos("default").create(foo)
    assert done.wait(10)
    group.stop()
    group.join(10)
    foo_informers.shutdown(10)
    kube_informers.shutdown(10)
    seen = [hop for hop in trace.entered if hop in hops]
    assert set(seen) == set(hops)
    # Four of them are loops that wait for the Foo all the time; the others are entered for it, one after the other.
    loops = ("Reflector.run", "watch_from", "Listener.run", "process_next")
    first = [seen.index(hop) for hop in hops if not hop[1].endswith(loops)]
    assert len(first) == 4
    assert first == sorted(first)
    assert sys.getprofile() is None
