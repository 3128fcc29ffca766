"""Names that tell the informers of one process apart in its metrics.

Two informers under one label would write over each other's figures, so a name is given once, and within it a resource
once. A released name may be given again, to an informer that takes the place of one that has ended.
"""

import threading

from clientgo.meta.objects import GroupVersionResource


class InformerName:
    """A name no other set of informers of this process has, until it is released.

    Raises:
        ValueError: the name is empty, or taken.
    """

    _lock = threading.Lock()
    _taken: set[str] = set()

    def __init__(self, name: str) -> None:
        if not name:
            raise ValueError("an informer's name must not be empty")
        with self._lock:
            if name in self._taken:
                raise ValueError(f"the informer name {name!r} is in use already")
            self._taken.add(name)
        self.name = name
        self._released = False
        self._resources: dict[GroupVersionResource, InformerIdentity] = {}

    def __repr__(self) -> str:
        return f"<InformerName {self.name}>"

    def with_resource(self, resource: GroupVersionResource) -> "InformerIdentity":
        """The identity of one resource's informer; only the first asked for is `reserved` and so is measured."""
        identity = InformerIdentity(self.name, resource)
        with self._lock:
            if resource not in self._resources and not self._released:
                self._resources[resource] = identity
                identity.reserved = True
        return identity

    def release(self) -> None:
        """Give the name back; identities made from it are measured no more."""
        with self._lock:
            if self._released:
                return  # another may have the name by now
            self._released = True
            self._taken.discard(self.name)
            for identity in self._resources.values():
                identity.reserved = False
            self._resources.clear()


class InformerIdentity:
    """One informer's labels; `reserved` while it alone has them."""

    def __init__(self, name: str, resource: GroupVersionResource) -> None:
        self.name = name
        self.resource = resource
        self.reserved = False

    def __repr__(self) -> str:
        return f"<InformerIdentity {self.name} {self.resource}{'' if self.reserved else ', not reserved'}>"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its metrics, as Kubernetes' dashboards know them."""
        gvr = self.resource
        return {"name": self.name, "group": gvr.group, "version": gvr.version, "resource": gvr.resource}


NOBODY = InformerIdentity("", GroupVersionResource("", "", ""))
"""The identity of an informer that was given none: it is not measured."""
