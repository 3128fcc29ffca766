import pytest

from tests.envtest.inprocess import Kube


@pytest.fixture
def kube() -> Kube:
    return Kube()
