"""Discovery over real HTTP, including a kind whose CRD is installed later."""

from contextlib import closing
from pathlib import Path

import pytest

from clientgo.dynamic import DynamicClientset
from clientgo.dynamic.mapper import NoMatch, RestMapper
from clientgo.envtest import Environment
from clientgo.envtest.crds import install, read_crds
from clientgo.rest import RESTClient

CRDS = Path(__file__).resolve().parents[2] / "artifacts" / "crd"

pytestmark = pytest.mark.integration


@pytest.mark.feature("A-07", "A-17")
@pytest.mark.requires("a cluster of its own")
def test_kind_is_found_from_the_moment_its_definition_is_there() -> None:
    with Environment() as config, closing(RESTClient(config)) as client:
        clientset = DynamicClientset(client)
        assert clientset.discovery.version().major == "1"
        assert {"", "apps", "coordination.k8s.io"} <= {group.name for group in clientset.discovery.groups()}
        mapper = RestMapper(clientset.discovery)
        assert mapper.mapping("Deployment", "apps").resource.api_version == "apps/v1"
        with pytest.raises(NoMatch):
            mapper.mapping("Foo", "samplecontroller.k8s.io")
        install(client, read_crds([CRDS]))
        result = mapper.mapping("Foo", "samplecontroller.k8s.io")
        assert (result.resource.resource, result.namespaced) == ("foos", True)
        assert clientset.resource(result.resource, "default", kind="Foo").list().items == []
