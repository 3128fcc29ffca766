"""Sharding: replicas share the objects of one controller, and no two of them work on an object at once.

    shards = Shards(clientset, namespace="default", lease_prefix="sample-controller", count=3, on_change=enqueue_all)
    group.start(shards.run, stop, name="shards")
    ...
    with shards.owning(foo.metadata.uid) as mine:
        if mine:
            sync(foo)

Members announce themselves by leases, as leaders do; rendezvous hashing of its uid assigns an object to a member. If a
member dies, the others take over within one lease duration, and only its objects move.
"""

from clientgo.sharding.shards import NotRenewed, Shards

__all__ = ["Shards", "NotRenewed"]
