import pytest

from apiserver.tests.guarded import Guarded
from apiserver.tests.inprocess import Kube


@pytest.fixture
def kube() -> Kube:
    return Kube()


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()
