"""Imports between the server's modules."""

from graphlib import TopologicalSorter

import grimp


def test_no_modules_import_each_other_in_a_circle() -> None:
    # Annotations and lazy imports count, too: a circle is found here before it depends on the order of imports.
    graph = grimp.build_graph("clientgo_apiserver")
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    TopologicalSorter(imports).prepare()
