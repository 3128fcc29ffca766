import pytest

from apiserver.tests.cluster.podcluster import PodCluster
from apiserver.tests.guarded import Guarded
from apiserver.tests.inprocess import Kube
from clientgo.version import KUBERNETES
from clientgo_apiserver.releases.release import release_of


@pytest.fixture
def kube() -> Kube:
    return Kube()


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


@pytest.fixture(autouse=True)
def _newest_release() -> None:
    """Begin each test in the newest release: servers of other tests have left theirs in this thread."""
    release_of(KUBERNETES).activate()
