import pytest

from tests.apiserver.guarded import Guarded
from tests.apiserver.inprocess import Kube


@pytest.fixture
def kube() -> Kube:
    return Kube()


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()
