"""Imports between the modules of each distribution and of the sample."""

from graphlib import TopologicalSorter

import grimp
import pytest


@pytest.mark.parametrize("package", ["clientgo", "clientgo_olm", "controller", "generated"])
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    # Annotations and lazy imports count, too: a circle is found here before it depends on the order of imports.
    graph = grimp.build_graph(package, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    TopologicalSorter(imports).prepare()
