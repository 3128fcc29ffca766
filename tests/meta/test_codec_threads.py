"""Concurrent first decoding of kinds, as when informers start."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.e2e

_RACE = """
import sys, threading
from clientgo.kubernetes.types.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from clientgo.meta.codec import codec_for

sys.setswitchinterval(1e-6)
together = threading.Barrier(4)
decoded = []

def first(kind):
    together.wait()
    decoded.append(codec_for(kind).decode(b'{"metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[]}}}}'))

threads = [threading.Thread(target=first, args=(kind,)) for kind in (%s)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(decoded) == 4
"""


@pytest.mark.parametrize(
    "kinds", ["Deployment, Deployment, Deployment, Deployment", "DaemonSet, Deployment, ReplicaSet, StatefulSet"]
)
def test_the_first_objects_of_a_kind_may_be_decoded_by_many_threads_at_once(kinds: str) -> None:
    # A process of its own: what is shown not to happen is that it ends by a signal.
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", _RACE % kinds], capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
