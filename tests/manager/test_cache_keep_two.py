"""Controller that keeps two of its objects, by cached lists: if it reads a deleted one, it deletes too many.

`KEEP_TWO_RUNS` sets the number of times that objects are reduced to two.
"""

import functools
import os
from contextlib import closing
from random import Random

import pytest

from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Manager, Options, Result
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.rest import Config
from clientgo.testing.eventually import eventually
from clientgo_apiserver.server import ApiServer
from tests.manager.managed import running

RUNS = int(os.environ.get("KEEP_TWO_RUNS", "20"))
AT_ONCE = 20
CHILDREN = 5


def keep_two(manager: Manager) -> None:
    """Add a controller that deletes one of the objects with the same label value while there are more than two."""
    chance = Random(1)

    def reconcile(request: ObjectName) -> Result | None:
        selector = f"parent={request.name}"
        children = manager.client.list(ConfigMap, namespace=request.namespace, label_selector=selector)
        if len(children) <= 2:
            return None
        # Not the same one each time: a second deletion of it would be NotFound.
        manager.client.delete(chance.choice(children))
        return Result(requeue_after=1e-6)

    def parent(child: ConfigMap) -> list[ObjectName]:
        return [ObjectName("default", name)] if (name := child.metadata.labels.get("parent")) else []

    ControllerBuilder(manager).watches(ConfigMap, parent).named("keep-two").with_workers(4).complete(reconcile)


@pytest.mark.integration
def test_two_objects_remain() -> None:
    with ApiServer() as server, closing(Clientset(Config(server.url))) as clientset:
        configs = clientset.core_v1.config_maps("default")

        def counts(parents: list[str]) -> dict[str, int]:
            matches = [config.metadata.labels.get("parent") for config in configs.list().items]
            return {parent: matches.count(parent) for parent in parents}

        manager = Manager(Config(server.url), options=Options(name="keep-two"))
        keep_two(manager)
        with running(manager):
            for first in range(0, RUNS, AT_ONCE):
                parents = [f"p{number}" for number in range(first, min(first + AT_ONCE, RUNS))]
                for number in range(CHILDREN):
                    for parent in parents:
                        meta = ObjectMeta(name=f"{parent}-{number}", labels={"parent": parent})
                        configs.create(ConfigMap(metadata=meta))
                eventually(
                    functools.partial(counts, parents), lambda remaining: max(remaining.values()) <= 2, seconds=60.0
                )
        assert set(counts([f"p{number}" for number in range(RUNS)]).values()) == {2}
