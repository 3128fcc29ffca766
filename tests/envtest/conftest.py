import pytest

from tests.envtest.guarded import Guarded
from tests.envtest.inprocess import Kube


@pytest.fixture
def kube() -> Kube:
    return Kube()


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()
