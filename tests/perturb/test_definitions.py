"""Definitions that a scenario derives from classes."""

import pytest

from clientgo.perturb.scenario import definitions_of
from tests.codegen.kinds.shelf_v1 import Shelf
from tests.codegen.kinds.shelf_v1beta1 import Shelf as OlderShelf


@pytest.mark.parametrize(
    ("classes", "stored"), [([Shelf], "v1"), ([OlderShelf], "v1beta1"), ([Shelf, OlderShelf], "v1")]
)
def test_one_of_the_versions_in_use_is_stored(classes: list[type], stored: str) -> None:
    [crd] = definitions_of(None, classes)
    versions = {version["name"]: version["storage"] for version in crd["spec"]["versions"]}
    assert len(versions) == len(classes)
    assert [name for name, storage in versions.items() if storage] == [stored]
