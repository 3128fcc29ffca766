from pathlib import Path

import pytest

from apiserver.tests.cluster.lifecycles import LifeCycle, Player, life_cycles, page
from apiserver.tests.cluster.podcluster import PodCluster


@pytest.mark.parametrize("cycle", [pytest.param(each, id=each.name) for _, each in life_cycles()])
def test_life_cycle_ends_as_on_a_cluster(cycle: LifeCycle) -> None:
    player = Player(PodCluster("1.36"))  # the version of the cluster
    for step in cycle.steps:
        player.play(step)
    assert player.observed(cycle.end) == cycle.end


def test_page_of_life_cycles_is_up_to_date() -> None:
    assert (Path(__file__).parents[2] / "docs" / "life-cycles.md").read_text() == page()
